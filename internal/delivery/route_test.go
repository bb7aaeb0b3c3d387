package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

func TestWhoGetsWhichPlay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	fresh := func(id int64, age time.Duration) Play { return Play{Listen: id, At: now.Add(-age), Fresh: true} }
	scrobbles := func(conn library.ConnectionID) Rule {
		return Rule{User: 7, Connection: conn, Kind: Scrobble, Batch: 2}
	}
	draft := func(conn library.ConnectionID, history bool, listens ...int64) Draft {
		return Draft{User: 7, Connection: conn, Kind: Scrobble, History: history, Listens: listens}
	}
	since := scrobbles("lastfm")
	since.From = now.Add(-time.Hour)
	recent := scrobbles("lastfm")
	recent.Oldest = 48 * time.Hour
	archive := Rule{User: 7, Connection: "s3", Kind: Archive, Batch: 1}
	month := func(name string) Draft {
		return Draft{User: 7, Connection: "s3", Kind: Archive, Ref: name, Due: now.Add(time.Minute)}
	}
	old := 30 * time.Hour
	for name, c := range map[string]struct {
		from  library.ConnectionID
		rules []Rule
		plays []Play
		want  []Draft
	}{
		"no rule": {"spotify", nil, []Play{fresh(1, 0)}, nil},
		"batches, and new before history": {"spotify", []Rule{scrobbles("lastfm")},
			[]Play{fresh(1, old), fresh(2, 0), fresh(3, 0), fresh(4, 0)},
			[]Draft{draft("lastfm", false, 2, 3), draft("lastfm", false, 4), draft("lastfm", true, 1)}},
		"not back to where it came from":      {"lastfm", []Rule{scrobbles("lastfm")}, []Play{fresh(1, 0)}, nil},
		"nor to its account under another id": {"lastfm-2", []Rule{scrobbles("lastfm")}, []Play{fresh(1, 0)}, nil},
		"not to the account that a player sends from": {"player-7", []Rule{scrobbles("lastfm"), scrobbles("lastfm-3")},
			[]Play{fresh(1, 0)}, []Draft{draft("lastfm", false, 1)}},
		"an account gets a play once": {"spotify", []Rule{scrobbles("lastfm"), scrobbles("lastfm-2"),
			scrobbles("lastfm-3")}, []Play{fresh(1, 0)}, []Draft{draft("lastfm", false, 1),
			draft("lastfm-3", false, 1)}},
		"not if another source is that account": {"spotify", []Rule{scrobbles("lastfm")},
			[]Play{{Listen: 1, At: now, Fresh: true,
				Others: []library.Source{{Connection: "lastfm-2"}}}}, nil},
		"known plays and guesses stay": {"spotify", []Rule{scrobbles("lastfm")},
			[]Play{{Listen: 1, At: now}, {Listen: 2, At: now, Fresh: true, Guess: true}}, nil},
		"from a time on": {"spotify", []Rule{since}, []Play{fresh(1, time.Hour+1), fresh(2, time.Hour)},
			[]Draft{draft("lastfm", false, 2)}},
		"not too old for the service": {"spotify", []Rule{recent}, []Play{fresh(1, 49*time.Hour), fresh(2, old)},
			[]Draft{draft("lastfm", true, 2)}},
		"an archive gets each month, whatever its source": {"s3", []Rule{archive},
			[]Play{{At: now}, {At: now, Guess: true}, {At: now.AddDate(0, -1, 0)}},
			[]Draft{month("2026-11"), month("2026-10")}},
	} {
		routes := Routes{User: 7, Rules: c.rules, Now: now, ArchiveEvery: time.Minute,
			Accounts: Accounts{"lastfm": {ID: "lastfm", AccountID: "alice"},
				"lastfm-2": {ID: "lastfm-2", AccountID: "Alice"}, "lastfm-3": {ID: "lastfm-3", AccountID: "bob"},
				"spotify":  {ID: "spotify", AccountID: "alice"},
				"player-7": {ID: "lastfm-3", AccountID: "bob"}}}
		require.Equal(t, c.want, routes.Drafts(c.from, c.plays), name)
	}
}
