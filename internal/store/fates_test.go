package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// fateOf returns the counts of a connection, and its newest listens with what became of them.
func fateOf(t testing.TB, s *Store, user int64, conn library.ConnectionID) []any {
	t.Helper()
	counts, err := s.ForwardingCounts(t.Context(), user, conn)
	require.NoError(t, err)
	missing, err := s.CountUnforwarded(t.Context(), user, conn, time.Time{})
	require.NoError(t, err)
	newest, err := s.ForwardedListens(t.Context(), user, conn, 4)
	require.NoError(t, err)
	return []any{counts, missing, newest}
}

// Whatever happens to listens and deliveries, kept counts are those of the listens.
func TestKeptCountsAreThoseOfTheListens(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "spotify", "ada")
	const month = 30 * 24 * 60
	for n := range 3 {
		at := func(minute float64) float64 { return minute - float64(n*month) }
		name := func(title string) string { return fmt.Sprint(title, n) }
		save(t, s, user, "spotify", track(name("A"), at(0)), track(name("B"), at(10)), track(name("C"), at(20)),
			track(name("D"), at(30)), track(name("E"), at(40)), track(name("F"), at(50)))
	}
	rule := delivery.Rule{User: user, Connection: "lastfm", Kind: delivery.Scrobble, Batch: 1, Since: at(0)}
	var split, deleted library.Correction
	id := func(title string) int64 {
		return int64(number(t, s, `SELECT l.id FROM listens l JOIN spellings p ON p.id = l.spelling_id
			WHERE p.title = $1`, title))
	}
	owed := func(state delivery.State, n int) {
		for _, d := range deliveries(t, s, user)[:n] {
			become(t, s, state, d.ID)
		}
	}
	for _, act := range []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"the service tells of one", func() error { save(t, s, user, "lastfm", track("A0", 0.1)); return nil }},
		{"earlier ones are sent", func() error { _, err := s.StartForwarding(t.Context(), rule, true); return err }},
		{"some are sent, some die", func() error { owed(delivery.Dead, 5); owed(delivery.Done, 2); return nil }},
		{"one is discarded", func() error { return s.Discard(t.Context(), user, deliveries(t, s, user)[3].ID) }},
		{"dead letters are discarded", func() error {
			_, err := s.DiscardDead(t.Context(), delivery.Filter{User: user}, false)
			return err
		}},
		{"one more dies, and all are old", func() error {
			owed(delivery.Dead, 4)
			owed(delivery.Done, 2)
			_, err := s.Retire(t.Context(), time.Now().Add(time.Hour), time.Now().Add(time.Hour))
			return err
		}},
		{"the service has one already", func() error {
			save(t, s, user, "lastfm", track("F0", 50.1))
			_, err := s.ListensOf(t.Context(), int64(number(t, s,
				"SELECT delivery_id FROM forwards WHERE listen_id = $1", id("F0"))))
			return err
		}},
		{"one more is heard", func() error { save(t, s, user, "spotify", track("G", 60)); return nil }},
		{"the pair is divided", func() (err error) { split, err = s.SplitListen(t.Context(), user, id("A0")); return }},
		{"and joined", func() error { _, err := s.UndoCorrection(t.Context(), user, split.ID); return err }},
		{"some are deleted", func() (err error) {
			deleted, err = s.DeleteListens(t.Context(), library.Selection{ListenFilter: library.ListenFilter{User: user,
				From: at(15), To: at(55)}, Newest: int64(number(t, s, "SELECT max(id) FROM listens"))})
			return err
		}},
		{"and come back", func() error { _, err := s.UndoCorrection(t.Context(), user, deleted.ID); return err }},
		{"a second connection to the account", func() error {
			connectTo(t, s, user, "lastfm-2", "ada")
			save(t, s, user, "lastfm-2", track("B0", 10.1))
			return nil
		}},
		{"which goes", func() error { return s.DeleteConnection(t.Context(), user, "lastfm-2", false) }},
		{"the other service goes", func() error { return s.DeleteConnection(t.Context(), user, "spotify", true) }},
		{"the service goes", func() error { return s.DeleteConnection(t.Context(), user, "lastfm", true) }},
	} {
		require.NoError(t, act.do(), act.name)
		told := fateOf(t, s, user, "lastfm")
		require.NoError(t, s.Exec(t.Context(), "DELETE FROM forwarding_counts"))
		require.Equal(t, fateOf(t, s, user, "lastfm"), told, act.name)
	}
}

// BenchmarkForwarding measures what the page of a connection to which all listens were sent reads of that, right after
// one more listen.
func BenchmarkForwarding(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, user, _ := manyListens(b, n)
			connectTo(b, s, user, "navidrome", "ada")
			rule := delivery.Rule{User: user, Connection: "navidrome", Kind: delivery.Scrobble, Batch: 50, Since: at(0)}
			sent, err := s.StartForwarding(b.Context(), rule, true)
			require.NoError(b, err)
			require.Equal(b, n, sent)
			require.NoError(b, s.Exec(b.Context(), "UPDATE deliveries SET state = 'done', ended_at = $1",
				db.Millis(at(0))))
			for number(b, s, "SELECT count(*) FROM deliveries") > 0 {
				_, err := s.Retire(b.Context(), time.Now(), time.Now())
				require.NoError(b, err)
			}
			fateOf(b, s, user, "navidrome")
			more := 0
			for b.Loop() {
				b.StopTimer()
				more++
				save(b, s, user, "spotify", track(fmt.Sprint("More ", more), float64(3*more)))
				b.StartTimer()
				fateOf(b, s, user, "navidrome")
			}
		})
	}
}
