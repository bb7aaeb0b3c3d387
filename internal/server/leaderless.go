package server

import (
	"net/http"
	"strings"

	"reprise/internal/server/core"
)

// leaderless are the routes that are answered from the database alone, by method, also while another server leads: what
// they read of other servers' memory is in the database as well, and what they change, the others read there, or the
// events tell them. Whatever calls a service, or has to do with work under way, is not among them.
var leaderless = map[string]map[string]bool{
	http.MethodGet: routeSet(`
		/ /activity /compare/:code /complete /complete/:id/:month /complete/:id/:month/gone /confirm
		/connections/:id /connections/:id/runs /corrections /corrections/suspicious /deliveries /export /help
		/help/:page /imports /invitation /invitation/:code /list/:file /listening /listening/common
		/listening/common/links/:id /listening/library /listening/weeks /listening/weeks/:week /listening/years
		/listening/years/:year /listens /listens/:id /listens/delete /listens/new /login /login/code /loved
		/loved/at/:id /manifest.webmanifest /metrics /music/:kind/:id /music/:kind/:id/merge /music/:kind/:id/rename
		/music/:kind/:id/split /notifications /now /offline /players /players/:id /players/:id/remove
		/players/:id/secret /players/:id/setup /players/add /players/allow /playlists /playlists/:id
		/playlists/:id/copies/:connection/conflict /playlists/:id/copies/:connection/into
		/playlists/:id/copies/:connection/into/:into /playlists/:id/history /playlists/:id/history/:number
		/playlists/missing/:id /playlists/recipes /playlists/recipes/:id /playlists/recipes/:id/delete
		/playlists/recipes/new /profile/:code /profile/:code/art/:mark/:hash /profile/:code/badge.svg
		/profile/:code/card.png /profile/:code/card.svg /profile/:code/feed.atom /reset /reset/:code /rules
		/rules/:id /rules/:id/apply /rules/:id/delete /rules/download /rules/gone/undo
		/rules/new /search /settings /settings/account
		/settings/account/export /settings/account/passkeys/:id /settings/account/second-step
		/settings/account/second-step/code.png /settings/account/second-step/off
		/settings/account/second-step/recovery /settings/people /settings/people/:id /settings/people/:id/reset
		/settings/people/:id/second-step /settings/people/invitations /settings/people/invitations/:id
		/settings/profile /settings/profile/preview /settings/programs /settings/programs/:id/revoke
		/settings/programs/made /settings/services /setup /share /sign-in/:slot /sign-in/:slot/callback
		/sign-in/oidc/account /sw.js /year/:code /year/:code/card.png /year/:code/card.svg /api/v1/account
		/api/v1/account/factors /api/v1/activity /api/v1/albums/:id /api/v1/artists/:id /api/v1/comparison-links
		/api/v1/comparisons /api/v1/completeness /api/v1/completeness/:id/:month /api/v1/connections
		/api/v1/connections/:id /api/v1/connections/:id/forwarding /api/v1/connections/:id/loves
		/api/v1/connections/:id/missing /api/v1/connections/:id/missing.csv /api/v1/connections/:id/runs
		/api/v1/connections/:id/skipped /api/v1/corrections /api/v1/deliveries /api/v1/events /api/v1/events/sse
		/api/v1/export/all.zip /api/v1/export/corrections.jsonl /api/v1/export/lastfm.csv
		/api/v1/export/listenbrainz.zip /api/v1/export/listens.csv /api/v1/export/listens.jsonl
		/api/v1/export/maloja.json /api/v1/export/playlists/:file /api/v1/export/stats/:file /api/v1/feed.atom
		/api/v1/feed.json /api/v1/identities /api/v1/imports /api/v1/listens /api/v1/listens/invented
		/api/v1/listens/suspicious /api/v1/loves /api/v1/loves/services /api/v1/music/:kind/:id
		/api/v1/notifications /api/v1/now-playing /api/v1/openapi.yaml /api/v1/players /api/v1/players/:id
		/api/v1/playlists /api/v1/playlists/:id /api/v1/playlists/:id/address
		/api/v1/playlists/:id/copies/:connection/conflict /api/v1/playlists/:id/versions
		/api/v1/playlists/:id/versions/:number /api/v1/profile /api/v1/recipes /api/v1/recipes/:id /api/v1/rules
		/api/v1/rules/:id /api/v1/search /api/v1/sessions /api/v1/stats/common /api/v1/stats/days
		/api/v1/stats/hours /api/v1/stats/library /api/v1/stats/library.csv /api/v1/stats/people
		/api/v1/stats/summary /api/v1/stats/top/:kind /api/v1/stats/weeks/:week /api/v1/stats/years
		/api/v1/stats/years/:year /api/v1/tokens /api/v1/tracks/:id
	`),
	http.MethodPost: routeSet(`
		/confirm /confirm/again /corrections/:id/undo /corrections/invented /corrections/suspicious/:id/keep
		/imports /imports/:id/answers /imports/:id/cancel /imports/:id/start /invitation /language
		/listening/common/apart/:id/delete /listening/common/links /listening/common/links/:id/delete /listens/:id
		/listens/:id/split /listens/delete /listens/new /login /login/code /logout /loved /music/:kind/:id/merge
		/music/:kind/:id/rename /music/:kind/:id/split /music/track/:id/love /notifications/:id/ack /players
		/players/:id /players/:id/pause /players/:id/remove /players/:id/resume /players/:id/secret /players/allow
		/reset /rules /rules/:id /rules/:id/apply /rules/:id/delete /rules/:id/switch
		/rules/gone/undo /rules/upload
		/settings/account/identities /settings/account/identities/:id/remove /settings/account/look
		/settings/account/name /settings/account/passkeys/:id /settings/account/passkeys/:id/remove
		/settings/account/passkeys/later /settings/account/password /settings/account/second-step
		/settings/account/second-step/confirm /settings/account/second-step/off
		/settings/account/second-step/recovery /settings/account/sessions/:id/end /settings/account/sessions/end
		/settings/account/sharing /settings/people /settings/people/:id/name /settings/people/:id/reset
		/settings/people/:id/second-step /settings/people/:id/signout /settings/people/invitations
		/settings/people/invitations/:id/revoke /settings/profile /settings/profile/delete /settings/programs
		/settings/programs/:id/revoke /setup /sign-in/oidc/account /sign-in/oidc/account/link
		/sign-in/:slot/back-channel /api/v1/account/confirm /api/v1/account/passkeys /api/v1/account/passkeys/options
		/api/v1/account/second-step /api/v1/account/second-step/confirm /api/v1/account/second-step/recovery-codes
		/api/v1/admin/invitations /api/v1/admin/users /api/v1/admin/users/:id/reset /api/v1/albums/:id/merge
		/api/v1/albums/:id/split /api/v1/artists/:id/merge /api/v1/artists/:id/split /api/v1/comparison-links
		/api/v1/corrections/:id/undo /api/v1/imports /api/v1/imports/:id/start /api/v1/invitation /api/v1/listens
		/api/v1/listens/:id/split /api/v1/listens/delete /api/v1/listens/invented/delete
		/api/v1/listens/suspicious/:id/keep /api/v1/notifications/:id/ack /api/v1/notifications/:id/seen
		/api/v1/players /api/v1/players/:id/secret /api/v1/recipes /api/v1/recipes/preview /api/v1/reset
		/api/v1/rules /api/v1/rules/:id/apply /api/v1/rules/preview /api/v1/session /api/v1/session/passkey
		/api/v1/session/passkey/options /api/v1/setup /api/v1/tokens /api/v1/tracks/:id/merge
		/api/v1/tracks/:id/split
	`),
	http.MethodPut: routeSet(`
		/api/v1/profile /api/v1/recipes/:id /api/v1/rules/:id /api/v1/tracks/:id/love
	`),
	http.MethodPatch: routeSet(`
		/api/v1/account /api/v1/account/passkeys/:id /api/v1/albums/:id /api/v1/artists/:id /api/v1/imports/:id
		/api/v1/listens/:id /api/v1/players/:id /api/v1/tracks/:id
	`),
	http.MethodDelete: routeSet(`
		/api/v1/account/passkeys/:id /api/v1/account/second-step /api/v1/admin/invitations/:id
		/api/v1/admin/users/:id/second-step /api/v1/admin/users/:id/sessions /api/v1/comparison-links/:id
		/api/v1/comparisons/:id /api/v1/identities/:id /api/v1/imports/:id /api/v1/listens/:id /api/v1/players/:id
		/api/v1/profile /api/v1/recipes/:id /api/v1/rules/:id /api/v1/session /api/v1/sessions /api/v1/sessions/:id
		/api/v1/tokens/:id /api/v1/tracks/:id/love
	`),
}

func routeSet(paths string) map[string]bool {
	all := map[string]bool{}
	for path := range strings.FieldsSeq(paths) {
		all[path] = true
	}
	return all
}

// NeedsNoLeader reports whether a request is answered from the database alone, while another server leads. One that may
// be repeated with its key is the leader's: of two at once, it alone knows the other.
func (s *Server) NeedsNoLeader(r *http.Request) bool {
	if s.resources.door.Takes(r) {
		return true
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if leaderless[method] == nil || core.Keyed(r) {
		return false
	}
	c := s.echo.AcquireContext()
	defer s.echo.ReleaseContext(c)
	c.Reset(r, nil)
	s.echo.Router().Find(method, s.resources.core.Local(r.URL).Path, c)
	return leaderless[method][c.Path()]
}
