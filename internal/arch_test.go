// Package internal holds no code. Its tests check the rules for the whole repository: which package may import which,
// and the style that every file keeps.
package internal

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows says which of our packages a package may import. A new arrow is a decision: it changes this table in the same
// commit, with the reason.
var arrows = map[string][]string{
	"internal/bounded":    {},
	"internal/library":    {"internal/bounded"}, // how long a stranger's name may be
	"internal/resilience": {"internal/bounded", "internal/resilience/turns"},
	// The parts of the resilience layer: what holds turns knows nothing, what judges knows no part but that, and the
	// transport is above those that it asks.
	"internal/resilience/turns":   {},
	"internal/resilience/backoff": {"internal/resilience"},
	"internal/resilience/hosts":   {"internal/resilience", "internal/resilience/backoff"},
	"internal/resilience/transport": {
		"internal/bounded", "internal/resilience", "internal/resilience/backoff", "internal/resilience/hosts",
		"internal/resilience/turns",
	},
	"internal/resilience/keys":        {"internal/resilience", "internal/resilience/backoff"},
	"internal/resilience/backofftest": {"internal/resilience", "internal/resilience/backoff"},
	"internal/events":                 {"internal/library"},
	"internal/bench":                  {},
	"internal/accounts":               {"internal/library"}, // its error of what is not found
	"internal/search":                 {},
	"internal/throttle":               {},
	"internal/tables":                 {},
	// What a server may call, and what a person reads while that moves.
	"internal/leases":  {"internal/resilience", "internal/words"},
	"internal/cluster": {"internal/leases", "internal/resilience"}, // whether a failure is this machine's
	// It connects the parts of a server with those of the other servers.
	"internal/peers": {
		"internal/cluster", "internal/events", "internal/leases", "internal/library", "internal/players",
		"internal/resilience/transport", "internal/sync", "internal/words",
	},
	"internal/upkeep":   {},
	"internal/activity": {"internal/accounts", "internal/library"},
	// What programs send: a protocol reads requests, and knows no other one.
	"internal/players": {
		"internal/events", "internal/library", "internal/notify", "internal/playrules", "internal/throttle",
	},
	"internal/players/audioscrobbler": {"internal/library", "internal/players"},
	"internal/players/lastfm":         {"internal/library", "internal/players"},
	"internal/players/listenbrainz":   {"internal/bounded", "internal/library", "internal/players"},
	"internal/players/webhooks":       {"internal/bounded", "internal/library", "internal/players"},
	"internal/removal":                {"internal/accounts", "internal/events"}, // it ends the open pages of who leaves
	"internal/export":                 {"internal/library"},
	"docs":                            {},
	"internal/words":                  {},
	"internal/card":                   {},
	"web":                             {"web/static"},
	"web/static":                      {},
	// The components show sentences, and link to the static files.
	"web/ui":        {"internal/words", "web", "web/static"},
	"web/ui/uitest": {"internal/words"},
	// what settings a provider has, and the Secret
	"internal/config": {
		"internal/providers", "internal/resilience", "internal/resilience/backoff",
		"internal/resilience/hosts", "internal/resilience/transport", "internal/words",
	},
	// It keeps what config checks, and notes who changed it.
	"internal/settings": {
		"internal/activity", "internal/config", "internal/providers", "internal/words",
	},
	"internal/cli": {"internal/datadir"}, // what its commands work on
	// It asks as all calls go out, and tells the administrators.
	"internal/updates": {"internal/notify", "internal/resilience"},
	// Where people sign in is a setting, issuers are asked as all calls go out, and a grant belongs to a session.
	"internal/openid": {"internal/accounts", "internal/config", "internal/resilience"},
	// It asks as all calls go out, at addresses that people paste, about artists by the names that all spellings share.
	"internal/comparing": {
		"internal/library", "internal/listening", "internal/music", "internal/providers", "internal/resilience",
		"internal/resilience/hosts",
	},
	// It publishes what people do who share their listening.
	"internal/mqtt": {
		"internal/accounts", "internal/config", "internal/events", "internal/library", "internal/notify",
		"internal/players", "internal/words",
	},
	// It copies the database to where the settings say, and tells the administrators.
	"internal/backups": {
		"internal/config", "internal/datadir", "internal/events", "internal/notify", "internal/words",
	},
	"internal/queue":    {},
	"internal/metrics":  {"internal/resilience", "internal/resilience/keys", "internal/resilience/transport"},
	"internal/match":    {"internal/library"},
	"internal/versions": {"internal/library"},
	// What a person heard, and why a song is there.
	"internal/recipes": {"internal/library", "internal/listening"},
	// It asks which names are of one song.
	"internal/ledger": {"internal/library", "internal/music"},
	"internal/music":  {"internal/library"}, // what spellings mean, and which reports are of one play
	// It counts listens by connections.
	"internal/listening": {"internal/library"},
	// Shared by pages and mails.
	"internal/review": {"internal/library", "internal/listening", "internal/words"},
	// What is wrong with one is read on a page. Files with rules are strangers'.
	"internal/playrules": {"internal/bounded", "internal/library", "internal/words"},
	// What is wrong with a setting is read on a page.
	"internal/providers": {
		"internal/library", "internal/resilience", "internal/resilience/backoff", "internal/resilience/hosts",
		"internal/resilience/keys", "internal/resilience/transport", "internal/words",
	},
	"internal/oauth": {
		"internal/library", "internal/providers", "internal/resilience", "internal/resilience/backoff",
	},
	"internal/notify": {
		"internal/events", "internal/library", "internal/providers", "internal/resilience",
		"internal/resilience/backoff", "internal/resilience/hosts", "internal/words",
	},
	// It names a person to the administrators.
	"internal/alerts": {
		"internal/accounts", "internal/activity", "internal/events", "internal/library", "internal/notify",
		"internal/providers", "internal/resilience", "internal/resilience/backoff",
		"internal/resilience/keys", "internal/resilience/transport",
	},
	// It tells the administrators and the members of what is needed and done.
	"internal/asks": {
		"internal/accounts", "internal/activity", "internal/library", "internal/notify", "internal/providers",
		"internal/resilience", "internal/resilience/backoff",
	},
	"internal/sync": {
		"internal/activity", "internal/alerts", "internal/delivery", "internal/events", "internal/leases",
		"internal/ledger", "internal/library", "internal/metrics", "internal/music", "internal/notify",
		"internal/oauth", "internal/providers", "internal/resilience", "internal/resilience/backoff",
		"internal/resilience/hosts", "internal/resilience/keys", "internal/resilience/turns",
	},
	// It sends what notify has to tell.
	"internal/channels": {
		"internal/library", "internal/notify", "internal/providers", "internal/resilience",
		"internal/resilience/hosts", "internal/resilience/transport",
	},
	// It tells the browsers of what changed, as all that carries or reads does, and merges a playlist with its copy.
	"internal/delivery": {
		"internal/activity", "internal/bounded", "internal/events", "internal/library", "internal/match",
		"internal/metrics", "internal/playrules", "internal/providers", "internal/queue", "internal/resilience",
		"internal/resilience/backoff", "internal/versions",
	},
	// It tells of its progress and of what it sets aside, says what trouble with the disk means, and counts in the
	// words of the pages. It undoes what an export of ours escapes, and reads the rules in one.
	"internal/imports": {
		"internal/bounded", "internal/events", "internal/export", "internal/leases", "internal/library",
		"internal/notify", "internal/playrules", "internal/queue", "internal/resilience",
	},
	// It tells when a digest has come, and leaves it to its caller to say what a failure means.
	"internal/digest": {
		"internal/bounded", "internal/events", "internal/library", "internal/providers",
		"internal/queue", "internal/resilience", "internal/resilience/backoff",
	},
	// It asks sources about music and tells of its progress.
	"internal/enrich": {
		"internal/events", "internal/library", "internal/providers", "internal/queue", "internal/resilience",
		"internal/resilience/backoff",
	},
	// It writes the report that notify sends, with pictures of the music.
	"internal/weekly": {
		"internal/art", "internal/enrich", "internal/library", "internal/listening", "internal/notify",
		"internal/review", "internal/words",
	},
	// It fetches pictures as all calls go out, and says what trouble with the disk means.
	"internal/art": {"internal/resilience"},
	// Each subject of the store uses those below it, and the types of those whose interfaces it satisfies.
	"internal/store/catalogue": {"internal/enrich", "internal/library", "internal/music", "internal/store/db"},
	"internal/store/connections": {
		"internal/delivery", "internal/leases", "internal/library", "internal/oauth", "internal/resilience",
		"internal/resilience/keys", "internal/store/db",
	},
	"internal/store/copies": {
		"internal/delivery", "internal/library", "internal/match", "internal/store/db",
		"internal/store/outbox",
	},
	"internal/store/corrections": {
		"internal/delivery", "internal/library", "internal/listening", "internal/music", "internal/playrules",
		"internal/store/catalogue", "internal/store/connections", "internal/store/db",
		"internal/store/deletions", "internal/store/intake", "internal/store/listens",
		"internal/store/outbox", "internal/store/playrules", "internal/store/sendings", "internal/store/statistics",
	},
	"internal/store/db": {
		"internal/leases", "internal/library", "internal/resilience", "internal/search",
		"internal/store/prepared", "internal/store/rows", "internal/store/traffic", "internal/tables",
	},
	"internal/store/prepared": {"internal/store/rows", "internal/store/traffic"},
	"internal/store/traffic":  {},
	"internal/store/deletions": {
		"internal/delivery", "internal/library", "internal/store/connections", "internal/store/db",
		"internal/store/listens", "internal/store/outbox",
	},
	"internal/store/digests": {
		"internal/digest", "internal/library", "internal/providers", "internal/store/catalogue",
		"internal/store/db", "internal/store/statistics",
	},
	"internal/store/enrichment": {
		"internal/enrich", "internal/library", "internal/music", "internal/store/catalogue",
		"internal/store/db", "internal/store/statistics",
	},
	"internal/store/forwarding": {
		"internal/delivery", "internal/library", "internal/store/connections", "internal/store/db",
		"internal/store/listens", "internal/store/outbox", "internal/store/statistics",
	},
	"internal/store/imports": {
		"internal/delivery", "internal/imports", "internal/library", "internal/music", "internal/playrules",
		"internal/store/catalogue", "internal/store/db", "internal/store/intake", "internal/store/listens",
		"internal/store/outbox", "internal/store/playrules", "internal/store/runs",
	},
	"internal/store/intake": {
		"internal/delivery", "internal/library", "internal/music", "internal/playrules", "internal/store/catalogue",
		"internal/store/connections", "internal/store/db", "internal/store/listens", "internal/store/outbox",
		"internal/store/playrules", "internal/store/runs", "internal/store/statistics",
	},
	"internal/store/listens": {
		"internal/delivery", "internal/library", "internal/listening", "internal/music", "internal/store/catalogue",
		"internal/store/db", "internal/store/playrules", "internal/store/statistics",
	},
	"internal/store/lookup": {
		"internal/library", "internal/listening", "internal/music", "internal/search",
		"internal/store/catalogue", "internal/store/db", "internal/store/listens", "internal/store/statistics",
	},
	"internal/store/notices": {
		"internal/accounts", "internal/asks", "internal/delivery", "internal/library", "internal/notify",
		"internal/resilience", "internal/store/db", "internal/store/outbox",
	},
	"internal/store/outbox": {
		"internal/delivery", "internal/library", "internal/queue", "internal/store/connections",
		"internal/store/db", "internal/store/listens", "internal/store/statistics",
	},
	"internal/store/audits": {
		"internal/ledger", "internal/library", "internal/music", "internal/store/connections", "internal/store/db",
		"internal/store/intake", "internal/store/listens", "internal/store/runs",
	},
	"internal/store/loves": { // what is sent of it is a copy
		"internal/delivery", "internal/library", "internal/music", "internal/store/connections",
		"internal/store/copies", "internal/store/db", "internal/store/listens", // by which ids listens are known
	},
	"internal/store/players": {
		"internal/accounts", "internal/library", "internal/players", "internal/store/connections", "internal/store/db",
		"internal/store/intake", "internal/store/people",
	},
	"internal/store/people": {
		"internal/accounts", "internal/activity", "internal/library", "internal/store/connections",
		"internal/store/db",
	},
	"internal/store/playlists": {
		"internal/delivery", "internal/library", "internal/store/copies", "internal/store/db", "internal/versions",
	},
	"internal/store/playrules": {
		"internal/library", "internal/playrules", "internal/store/db", "internal/words",
	},
	"internal/store/recipes": {
		"internal/library", "internal/recipes", "internal/store/catalogue", "internal/store/db",
		"internal/store/playlists",
	},
	"internal/store/reports": {"internal/notify", "internal/store/db", "internal/store/notices"},
	"internal/store/rows":    {"internal/tables"},
	"internal/store/songs": {
		"internal/library", "internal/music", "internal/store/connections", "internal/store/db",
	},
	"internal/store/rules": {
		"internal/library", "internal/music", "internal/store/catalogue", "internal/store/corrections",
		"internal/store/db", "internal/store/enrichment", "internal/store/statistics",
	},
	"internal/store/runs": {
		"internal/delivery", "internal/library", "internal/metrics", "internal/music", "internal/resilience",
		"internal/resilience/backoff", "internal/store/connections", "internal/store/db",
	},
	"internal/store/sendings": {
		"internal/library", "internal/music", "internal/store/connections", "internal/store/db",
	},
	"internal/store/servers": {
		"internal/cluster", "internal/leases", "internal/queue", "internal/store/db", "internal/throttle",
	},
	"internal/store/settings": {
		"internal/activity", "internal/library", "internal/settings", "internal/store/db",
		"internal/store/people", "internal/store/runs",
	},
	"internal/store/sharing": { // a code is opened as that of any link, and nobody who leaves shows anything
		"internal/accounts", "internal/library", "internal/store/db", "internal/store/people",
	},
	"internal/store/statistics": {
		"internal/library", "internal/listening", "internal/music", "internal/store/catalogue",
		"internal/store/db", "internal/store/people",
	},
	// The whole of it: it opens the subjects, and does what concerns several.
	"internal/store": {
		"internal/accounts", "internal/activity", "internal/delivery", "internal/library", "internal/metrics",
		"internal/notify", "internal/removal", "internal/resilience", "internal/store/audits",
		"internal/store/catalogue", "internal/store/connections", "internal/store/copies",
		"internal/store/corrections", "internal/store/db", "internal/store/deletions", "internal/store/digests",
		"internal/store/enrichment", "internal/store/forwarding", "internal/store/imports", "internal/store/intake",
		"internal/store/listens", "internal/store/lookup", "internal/store/loves", "internal/store/notices",
		"internal/store/outbox", "internal/store/people", "internal/store/players", "internal/store/playlists",
		"internal/store/playrules", "internal/store/recipes", "internal/store/reports", "internal/store/rules",
		"internal/store/runs", "internal/store/sendings", "internal/store/servers", "internal/store/settings",
		"internal/store/sharing",
		"internal/store/songs", "internal/store/statistics", "internal/tables",
	},
	// It says what a change of the settings would do to how it is reached.
	"internal/server": {
		"internal/accounts", "internal/art", "internal/asks", "internal/backups", "internal/config",
		"internal/delivery",
		"internal/digest", "internal/enrich", "internal/events", "internal/imports", "internal/library",
		"internal/metrics", "internal/notify", "internal/oauth", "internal/openid", "internal/players",
		"internal/providers", "internal/removal", "internal/resilience", "internal/settings",
		"internal/accounts", "internal/art", "internal/asks", "internal/backups", "internal/comparing",
		"internal/config", "internal/delivery", "internal/digest", "internal/enrich", "internal/events",
		"internal/imports", "internal/library",
		"internal/metrics", "internal/notify", "internal/oauth", "internal/players", "internal/providers",
		"internal/removal", "internal/resilience", "internal/settings",
		"internal/sync", "internal/throttle", "internal/weekly", "web/static",
		"web/ui",
	},
	"internal/server/activity": {
		"internal/accounts", "internal/activity", "internal/library", "internal/server/core",
	},
	"internal/server/asks": {"internal/accounts", "internal/asks", "internal/providers",
		"internal/server/core", "internal/throttle"},
	"internal/server/admin": {
		"internal/activity", "internal/digest", "internal/enrich", "internal/library", "internal/providers",
		"internal/resilience", "internal/resilience/keys", "internal/resilience/transport",
		"internal/server/core", "internal/sync",
	},
	"internal/server/channels": {
		"internal/activity", "internal/channels", "internal/delivery", "internal/library", "internal/notify",
		"internal/resilience", "internal/server/core", "web",
	},
	// An archive has corrections as the API shows them.
	"internal/server/export": {"internal/accounts", "internal/activity", "internal/export", "internal/library",
		"internal/playrules", "internal/server/core", "internal/server/corrections", "internal/server/loves",
		"internal/server/music"},
	"internal/server/welcome": {"internal/accounts", "internal/asks", "internal/library", "internal/providers",
		"internal/server/connections", "internal/server/core", "internal/settings", "internal/sync"},
	"internal/server/site": {
		"internal/accounts", "internal/server/connections", "internal/server/core", // and what can be set
	},
	"internal/server/connections": {
		"internal/accounts", "internal/asks", "internal/delivery", "internal/library", "internal/metrics",
		"internal/notify", "internal/oauth", "internal/players", // what somebody hears now
		"internal/providers", "internal/resilience",
		"internal/resilience/backoff", "internal/server/activity",
		"internal/server/core", "internal/server/deliveries", "internal/server/imports",
		"internal/server/music", "internal/settings", "internal/sync",
	},
	"internal/server/playrules": {
		"internal/library", "internal/players", "internal/playrules", "internal/server/core",
	},
	"internal/server/recipes": {"internal/library", "internal/recipes", "internal/server/core"},
	"internal/server/loves": {"internal/delivery", "internal/library", "internal/providers",
		"internal/server/connections", "internal/server/core", "internal/server/music"},
	"internal/server/ownlibrary": {
		"internal/export", "internal/library", "internal/listening", "internal/server/core", "internal/server/music",
		"internal/server/reviews",
	},
	"internal/server/complete": {
		"internal/ledger", "internal/library", "internal/resilience/backoff", "internal/server/core", "internal/sync",
	},
	// It has words for the errors of all packages below it, and reads what calls carry.
	"internal/server/core": {
		"internal/accounts", "internal/activity", "internal/bounded", "internal/channels", "internal/delivery",
		"internal/digest", "internal/events", "internal/imports", "internal/leases", "internal/ledger",
		"internal/library", "internal/notify", "internal/oauth", "internal/players", "internal/playrules",
		"internal/providers", "internal/recipes", "internal/resilience", "internal/resilience/backoff",
		"internal/sync", "internal/throttle", "web/static",
	},
	"internal/server/corrections": {
		"internal/art", "internal/enrich", "internal/library", "internal/playrules", "internal/server/core",
		"internal/server/music",
	},
	"internal/server/deliveries": {
		"internal/channels", "internal/delivery", "internal/library", "internal/notify", "internal/providers",
		"internal/resilience", "internal/resilience/backoff", "internal/server/core", "internal/sync",
	},
	"internal/server/digests": {
		"internal/accounts", "internal/digest", "internal/library", "internal/providers",
		"internal/resilience", "internal/resilience/backoff", "internal/server/core", "internal/sync",
		"internal/words", "web/ui",
	},
	"internal/server/edge": {"internal/resilience/hosts"}, // which names are private
	"internal/server/feed": {
		"internal/events", "internal/library", "internal/notify", "internal/server/connections",
		"internal/server/core",
	},
	"internal/server/help": {"docs", "internal/server/core", "internal/words", "web/ui"},
	"internal/server/health": {
		"internal/accounts", "internal/cluster", "internal/leases", "internal/library", "internal/metrics",
		"internal/notify", "internal/providers", "internal/queue", "internal/resilience/backoff",
		"internal/resilience/transport", "internal/server/connections", "internal/server/core",
		"internal/words", "web", "web/ui",
	},
	"internal/server/installation": { // who downloads a backup is noted
		"internal/activity", "internal/backups",
		"internal/config", "internal/server/core", "internal/settings", "internal/words", "web", "web/ui",
	},
	// Links to years are made like others, and noted; the card is a picture.
	"internal/server/years": {
		"internal/accounts", "internal/activity", "internal/library", "internal/listening", "internal/review",
		"internal/server/cards", "internal/server/core", "internal/server/music", "internal/server/reviews",
	},
	"internal/server/reviews": {
		"internal/card", "internal/library", "internal/listening", "internal/review", "internal/server/cards",
		"internal/server/core", "internal/server/music",
	},
	// The mail is sent by a person's channels, and the page begins with what a language model wrote about the week.
	"internal/server/weeks": {
		"internal/activity", "internal/channels", "internal/digest", "internal/library", "internal/listening",
		"internal/notify", "internal/review", "internal/server/cards", "internal/server/core",
		"internal/server/music", "internal/server/reviews", "internal/weekly",
	},
	"internal/server/cards": {"internal/card", "internal/library", "internal/listening", "internal/review",
		"internal/server/core", "internal/server/music"},
	// A profile also shows what is playing and has a feed, both without what rules withhold.
	"internal/server/profile": {
		"internal/accounts", "internal/activity", "internal/card", "internal/enrich", "internal/export",
		"internal/library", "internal/listening", "internal/players", "internal/playrules", "internal/server/cards",
		"internal/server/core", "internal/server/music",
	},
	// It shows what is counted, also as tables to download, and the digest of a week is a card on it.
	"internal/server/listening": { // accounts: somebody else may share theirs, also with other servers
		"internal/accounts", "internal/activity", "internal/comparing", "internal/digest", "internal/export",
		"internal/library", "internal/listening", "internal/resilience", "internal/server/core",
		"internal/server/digests", "internal/server/music",
	},
	"internal/server/imports": {
		"internal/activity", "internal/imports", "internal/library", "internal/providers",
		"internal/server/core",
	},
	"internal/server/music": {
		"internal/art", "internal/enrich", "internal/library", "internal/listening", "internal/resilience",
		"internal/resilience/backoff", "internal/server/core", "internal/sync",
	},
	"internal/server/notifications": {"internal/notify", "internal/server/core", "internal/words", "web/ui"},
	"internal/server/people": {
		"internal/accounts", "internal/activity", "internal/library", "internal/notify",
		"internal/removal", "internal/server/core",
	},
	// It says which songs were heard in the person's own library, and why a recipe chose a song.
	"internal/server/playlists": {
		"internal/delivery", "internal/export", "internal/library", "internal/match",
		"internal/providers", "internal/server/connections", "internal/server/core", "internal/server/deliveries",
		"internal/recipes", "internal/server/music", "internal/versions",
	},
	"internal/server/search": { // it reads links to services, and shows what is known of what they lead to
		"internal/enrich", "internal/library", "internal/providers", "internal/server/core", "internal/server/music",
	},
	"internal/server/songs": {"internal/delivery", "internal/library", "internal/server/core"},
	"internal/server/signin": {
		"internal/accounts", "internal/activity", "internal/config", "internal/library", "internal/openid",
		"internal/server/core", "internal/server/people",
	},
	"internal/server/sessions": {
		"internal/accounts", "internal/activity", "internal/server/core",
	},
	"internal/server/factors": {
		"internal/accounts", "internal/activity", "internal/library", "internal/server/core",
	},
	"internal/server/settings": {
		"internal/accounts", "internal/activity", "internal/providers", "internal/server/connections",
		"internal/server/core", "internal/server/factors", "internal/server/people", "internal/server/sessions",
		"internal/server/tokens",
	},
	"internal/server/players": {
		"internal/accounts", "internal/activity", "internal/events", "internal/library", "internal/players",
		"internal/players/audioscrobbler", "internal/players/lastfm", "internal/players/listenbrainz",
		"internal/players/webhooks", "internal/server/core", "internal/throttle",
	},
	"internal/server/tokens": {
		"internal/accounts", "internal/activity", "internal/events",
		"internal/server/core",
	},
	"internal/demo":          {"internal/words", "web/ui"}, // its page is one of the pages
	"internal/demo/demotest": {"internal/demo"},
	// It moves people in by the program's own calls, and writes their past as rows. Each round has its own directory.
	"internal/demo/household": {
		"internal/accounts", "internal/activity", "internal/channels", "internal/datadir",
		"internal/delivery", "internal/demo", "internal/digest", "internal/library", "internal/metrics",
		"internal/notify", "internal/oauth", "internal/players", "internal/providers", "internal/providers/registry",
		"internal/resilience", "internal/resilience/backoff", "internal/resilience/transport",
		"internal/store", "internal/sync", "internal/weekly",
	},

	// It lists what may be counted everywhere, and collects it.
	"internal/observe": {
		"internal/channels", "internal/cluster", "internal/delivery", "internal/events", "internal/library",
		"internal/metrics", "internal/providers", "internal/providers/registry", "internal/resilience",
		"internal/resilience/hosts", "internal/resilience/transport", "internal/sync",
	},
	// It opens the database with its key, and counts in the words of the pages.
	"internal/datadir": {
		"internal/accounts", "internal/activity", "internal/resilience", "internal/store",
		"internal/store/db", "internal/store/servers", "web",
	},
	// It looks at every setting and tries every provider.
	"internal/doctor": {
		"internal/config", "internal/datadir", "internal/providers", "internal/resilience",
		"internal/resilience/hosts", "internal/resilience/transport", "internal/store/db", "web",
	},

	// It lists every adapter; TestArrows lets it import them. It notes which keys were refused.
	"internal/providers/registry": {
		"internal/activity", "internal/library", "internal/providers", "internal/resilience",
		"internal/resilience/backoff", "internal/resilience/keys", "internal/resilience/transport",
	},
	// It chooses songs of a library.
	"internal/providers/navidrome": {
		"internal/library", "internal/match", "internal/providers", "internal/resilience",
	},
	// They take listens by ListenBrainz' API.
	"internal/providers/koito":  listenBrainzArrows,
	"internal/providers/maloja": listenBrainzArrows,
	// Its servers have Last.fm's API.
	"internal/providers/librefm": {
		"internal/library", "internal/providers", "internal/providers/lastfm", "internal/resilience",
	},
	"internal/providers/providertest": {"internal/demo",
		"internal/library", "internal/match", "internal/providers", "internal/resilience",
		"internal/resilience/backoff", "internal/resilience/transport", "internal/soak",
	},

	// For tests only: nothing that is built into the server may import these.
	"internal/browsertest":       {},
	"internal/openid/openidtest": {},
	"internal/childtest":         {},
	"internal/postgrestest":      {"internal/childtest", "internal/soak"},
	"internal/storetest":         {"internal/postgrestest", "internal/store", "internal/store/db"},
	"internal/promtest":          {},
	"internal/clocktest":         {},
	"internal/s3test":            {"internal/childtest"},
	"internal/soak":              {},
	"internal/supysonictest":     {"internal/childtest"},
	"internal/enginetest": {
		"internal/accounts", "internal/alerts", "internal/delivery", "internal/demo", "internal/events",
		"internal/library", "internal/notify", "internal/oauth", "internal/providers",
		"internal/providers/providertest", "internal/providers/registry", "internal/resilience/backoff",
		"internal/resilience/keys", "internal/resilience/transport", "internal/resilience/turns",
		"internal/store", "internal/storetest", "internal/sync",
	},
	"internal/throttle/throttletest": {"internal/throttle"},

	"internal/server/openapi": {"internal/providers", "internal/providers/registry", "internal/server"},
	"internal/server/servertest": {
		"internal/accounts", "internal/alerts", "internal/asks", "internal/backups", "internal/channels",
		"internal/config", "internal/datadir", "internal/delivery", "internal/digest", "internal/events",
		"internal/imports", "internal/library", "internal/metrics", "internal/notify", "internal/players",
		"internal/postgrestest", "internal/providers", "internal/providers/providertest",
		"internal/providers/registry", "internal/removal", "internal/resilience", "internal/resilience/backoff",
		"internal/resilience/hosts", "internal/resilience/transport", "internal/server", "internal/settings",
		"internal/soak", "internal/store", "internal/store/outbox", "internal/storetest", "internal/sync",
		"internal/weekly", "internal/words", "web",
	},

	// The wiring: with datadir, doctor and the demo's household the only importer of store, demo and the adapters.
	"cmd/server": {
		"internal/accounts", "internal/alerts", "internal/art", "internal/asks", "internal/backups",
		"internal/channels",
		"internal/cli", "internal/cluster", "internal/comparing", "internal/config", "internal/datadir",
		"internal/delivery",
		"internal/demo", "internal/demo/household", "internal/digest", "internal/doctor", "internal/enrich",
		"internal/events", "internal/imports", "internal/leases", "internal/mqtt", "internal/notify", "internal/oauth",
		"internal/observe", "internal/openid", "internal/peers", "internal/players", "internal/providers",
		"internal/providers/registry",
		"internal/recipes", "internal/removal",
		"internal/resilience/backoff",
		"internal/resilience/hosts", "internal/resilience/transport",
		"internal/resilience/turns", "internal/server", "internal/server/edge", "internal/settings",
		"internal/store", "internal/store/db", "internal/store/outbox", "internal/sync", "internal/throttle",
		"internal/updates", "internal/upkeep", "internal/weekly",
	},
	// A module of its own, which packs what make dist has built.
	"configs/packaging/tools": {},
}

// adapterArrows are those of every folder of internal/providers that the table does not name, so that a new adapter
// touches nothing else.
var adapterArrows = []string{"internal/library", "internal/providers", "internal/resilience",
	"internal/resilience/hosts", "internal/resilience/keys"}

// listenBrainzArrows are those of adapters of servers that have a part of ListenBrainz' API.
var listenBrainzArrows = []string{"internal/library", "internal/providers", "internal/providers/listenbrainz"}

// everywhere is the catalogue, as every package may say something to people, except for those that are wordless: their
// causes are values.
var (
	everywhere = []string{"internal/words"}
	wordless   = []string{"internal/resilience"}
)

func isAdapter(pkg string) bool {
	_, named := arrows[pkg]
	return !named && path.Dir(pkg) == "internal/providers"
}

func TestArrows(t *testing.T) {
	root := ".."
	used := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := file != root && strings.HasPrefix(d.Name(), ".")
			if hidden || d.Name() == "testdata" || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		pkg := filepath.ToSlash(rel)
		used[pkg] = append(used[pkg], []string{}...)
		for _, spec := range parsed.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(name, "reprise/"); ok && !slices.Contains(used[pkg], ours) {
				used[pkg] = append(used[pkg], ours)
			}
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, used)
	for pkg, imports := range used {
		allowed, ok := arrows[pkg]
		if isAdapter(pkg) {
			allowed, ok = adapterArrows, true
		}
		require.True(t, ok, "package %s does not stand in the table of arrows", pkg)
		for _, name := range imports {
			if slices.Contains(everywhere, name) && !slices.Contains(wordless, pkg) {
				continue
			}
			if pkg == "internal/providers/registry" && path.Dir(name) == "internal/providers" {
				continue
			}
			if pkg == "internal/server" && strings.HasPrefix(name, "internal/server/") {
				continue // it makes a server of all resources
			}
			if name == "web/ui" && strings.HasPrefix(pkg, "internal/server/") {
				continue // every page is made of the components
			}
			require.Contains(t, allowed, name, "%s imports %s, which the table of arrows does not allow", pkg, name)
		}
	}
	for pkg, allowed := range arrows {
		_, exists := used[pkg]
		require.True(t, exists, "the table of arrows names %s, which does not exist", pkg)
		if strings.HasSuffix(pkg, "test") {
			continue
		}
		for _, name := range allowed {
			require.Contains(t, append(used[pkg], "internal/providers"), name,
				"%s does not use %s any more: take the arrow out of the table", pkg, name)
		}
	}
}

// Two branches may each add a migration with the same number, and git merges both without a conflict.
func TestEachMigrationHasItsOwnNumber(t *testing.T) {
	names, err := filepath.Glob("store/db/migrations/[0-9]*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	seen := map[string]string{}
	for _, name := range names {
		number, _, _ := strings.Cut(filepath.Base(name), "_")
		require.Empty(t, seen[number], "%s has the same number", name)
		seen[number] = name
	}
}

// mostWiring limits the lines of the program's main package, which only connects the others.
const mostWiring = 900

func TestMainOnlyWires(t *testing.T) {
	files, err := filepath.Glob("../cmd/server/*.go")
	require.NoError(t, err)
	lines := 0
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			lines += bytes.Count(b, []byte("\n"))
		}
	}
	require.Positive(t, lines)
	require.LessOrEqual(t, lines, mostWiring)
}
