package store

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/players"
)

// BenchmarkPlayers measures plays that are sent one by one, each committed before its answer, in shares of bare inserts
// into the same tables with the same durability: one sender, and 16 at once. "p99-ms" is of one play while a history is
// imported, and "of-empty" the speed with 500,000 listens stored in a share of that with none.
func BenchmarkPlayers(b *testing.B) {
	const plays, senders = 2_000, 16
	all := history()
	var bare, alone, together, late time.Duration
	var slowest time.Duration
	for b.Loop() {
		s, user := setup(b)
		bare += singly(b, 1, plays, func(i int) error {
			return s.Write(b.Context(), func(tx *sql.Tx) error {
				return bareInserts(b, tx, user, int64(i), all[i:][:1])
			})
		})
		s, user = setup(b)
		send := sender(b, s, user)
		alone += singly(b, 1, plays, func(i int) error { return send(all[i:][:1]) })
		together += singly(b, senders, plays, func(i int) error { return send(all[plays+i:][:1]) })

		s, user = setup(b)
		send = sender(b, s, user)
		var importing sync.WaitGroup
		importing.Go(func() {
			for page := range slices.Chunk(all, benchPage) {
				save(b, s, user, "spotify", page...)
			}
		})
		var took []time.Duration
		for i := range 500 {
			l := all[i]
			l.PlayedAt = l.PlayedAt.Add(24 * time.Hour * time.Duration(i+1))
			began := time.Now()
			require.NoError(b, send([]library.Listen{l}))
			took = append(took, time.Since(began))
			time.Sleep(10 * time.Millisecond) // as players pause
		}
		importing.Wait()
		slices.Sort(took)
		slowest += took[len(took)*99/100]
		for n := range 4 { // more listens than before, long ago
			for page := range slices.Chunk(all, benchPage) {
				older := slices.Clone(page)
				for i := range older {
					older[i].PlayedAt = older[i].PlayedAt.Add(-time.Duration(n+1) * 365 * 24 * time.Hour)
					older[i].SourceID = fmt.Sprint(n, older[i].SourceID)
				}
				save(b, s, user, "spotify", older...)
			}
		}
		late += singly(b, 1, plays, func(i int) error {
			l := all[i]
			l.PlayedAt = l.PlayedAt.Add(2 * 365 * 24 * time.Hour)
			return send([]library.Listen{l})
		})
	}
	share := func(of, d time.Duration) float64 { return of.Seconds() / d.Seconds() }
	b.ReportMetric(plays*float64(b.N)/alone.Seconds(), "plays/s")
	b.ReportMetric(share(bare, alone), "of-bare")
	b.ReportMetric(share(bare, together), "together-of-bare")
	b.ReportMetric(share(alone, late), "of-empty")
	b.ReportMetric(slowest.Seconds()*1000/float64(b.N), "p99-ms")
}

// sender returns what stores plays of a new player.
func sender(b testing.TB, s *Store, user int64) func([]library.Listen) error {
	b.Helper()
	p, err := s.AddPlayer(b.Context(), players.Player{User: user, Name: "Kitchen", Kind: players.ListenBrainz,
		CreatedAt: time.Now()}, players.NewSecret(), players.Most)
	require.NoError(b, err)
	return func(plays []library.Listen) error {
		_, err := s.TakePlays(b.Context(), p, plays)
		return err
	}
}

// singly stores so many plays one by one, and returns how long that takes.
func singly(b *testing.B, senders, plays int, store func(i int) error) time.Duration {
	b.Helper()
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(plays); i = next.Add(1) - 1 {
				if err := store(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
