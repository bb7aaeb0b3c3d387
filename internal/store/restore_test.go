package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	rules "reprise/internal/playrules"
)

// restore imports listens as Reprise exported them.
func restore(t *testing.T, s *Store, user int64, listens ...library.StoredListen) imports.Import {
	t.Helper()
	v, err := s.AddImport(t.Context(), imports.Import{User: user, Connection: imports.Reprise, Name: "listens.jsonl",
		File: "file", State: imports.Waiting, CreatedAt: time.Now().Add(time.Second)}, 3)
	require.NoError(t, err)
	v.State = imports.Done
	v, err = s.SaveRestored(t.Context(), v, listens, nil)
	require.NoError(t, err)
	return v
}

// A deleted listen stays deleted, and undoing the deletion also restores the sources that an import has added.
func TestADeletedListenIsNotRestored(t *testing.T) {
	s, user := setup(t)
	save(t, s, user, "spotify", library.Listen{Track: library.Track{Title: "Hoppípolla", Artist: "Sigur Rós"},
		SourceID: "a", PlayedAt: at(0)})
	page, _, err := s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	old := page[0]
	old.Sources = append(old.Sources, library.Source{Connection: "lastfm", SourceID: "b", Later: time.Second})
	c := deleteThem(t, s, library.Selection{ListenFilter: library.ListenFilter{User: user}})
	v := restore(t, s, user, old)
	require.Equal(t, []int{0, 1}, []int{v.Added, v.Known})
	require.Zero(t, count(t, s, user))
	undo(t, s, user, c.ID)
	page, _, err = s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, []library.Source{{Connection: "lastfm", SourceID: "b", Later: time.Second},
		{Connection: "spotify", SourceID: "a"}}, page[0].Sources)
}

// A restored listen is forwarded only to services that lack it.
func TestRestoredListensAreForwardedOnce(t *testing.T) {
	s, user := setup(t)
	forward(t, s, user, "lastfm", 10, -60)
	restore(t, s, user,
		library.StoredListen{Listen: library.Listen{Track: library.Track{Title: "One", Artist: "A"}, PlayedAt: at(0)},
			Sources: []library.Source{{Connection: "spotify", SourceID: "a"}, {Connection: "lastfm", SourceID: "b"}}},
		library.StoredListen{Listen: library.Listen{Track: library.Track{Title: "Two", Artist: "A"}, PlayedAt: at(9)},
			Sources: []library.Source{{Connection: "spotify", SourceID: "c"}}})
	require.Equal(t, []string{"lastfm scheduled: Two"}, enqueued(t, s, user))
}

// A listen that is here already, with all its sources, gets what rules withhold in the archive.
func TestAnArchiveWithholdsWhatIsHere(t *testing.T) {
	s, user := setup(t)
	forward(t, s, user, "lastfm", 10, -60)
	save(t, s, user, "spotify", track("Secret", 0), track("Other", 5))
	page, _, err := s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Equal(t, "Secret", page[1].Title)
	secret := page[1]
	secret.Ruled = &library.Ruled{Withheld: []library.Withheld{{To: "lastfm", By: library.RuleName{ID: rules.Gone}},
		{To: "listenbrainz", By: library.RuleName{ID: rules.Gone}}}}
	v := restore(t, s, user, secret)
	require.Equal(t, []int{0, 1}, []int{v.Added, v.Known})
	require.Equal(t, []string{"lastfm scheduled: Other"}, enqueued(t, s, user), "what waits isn't sent")
	n, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "listenbrainz",
		Kind: delivery.Scrobble, Batch: 10, Since: at(-60)}, true)
	require.NoError(t, err)
	require.Equal(t, 1, n, "nor does a service that is connected later get it")
}
