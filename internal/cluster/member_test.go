package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// book is a Book in memory.
type book struct {
	mu     sync.Mutex
	down   bool         // does not answer
	takes  atomic.Int64 // nanoseconds from a write to its answer
	lease  int64
	server Server
	seen   time.Time
	free   bool // released
	there  map[string]Server
}

var errDown = errors.New("no answer")

func (b *book) leaderLocked() Leader {
	return Leader{b.server.ID, b.lease, time.Since(b.seen), b.free}
}

func (b *book) Beat(_ context.Context, me Server) (Leader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return Leader{}, errDown
	}
	b.there[me.ID] = me
	return b.leaderLocked(), nil
}

func (b *book) Claim(_ context.Context, me Server) (int64, error) {
	defer func() { time.Sleep(time.Duration(b.takes.Load())) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return 0, errDown
	case !b.leaderLocked().Vacant():
		return 0, nil
	}
	b.lease, b.server, b.seen, b.free = b.lease+1, me, time.Now(), false
	return b.lease, nil
}

func (b *book) Confirm(_ context.Context, lease int64) (bool, error) {
	defer func() { time.Sleep(time.Duration(b.takes.Load())) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return false, errDown
	case b.lease != lease || b.free:
		return false, nil
	}
	b.seen = time.Now()
	return true, nil
}

func (b *book) Resign(_ context.Context, lease int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = b.free || b.lease == lease
	return nil
}

func (b *book) All(context.Context) ([]Server, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.there)), nil
}

func (b *book) Leave(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.there, id)
	return nil
}

func (b *book) goes(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// grows makes the leader's last confirmation that much older.
func (b *book) grows(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = b.seen.Add(-by)
}

// joins returns a member that takes part until the test ends.
func (b *book) joins(t *testing.T, id string) *Member {
	t.Helper()
	m := NewMember(Server{ID: id}, b, slog.New(slog.DiscardHandler))
	go m.Run(t.Context())
	synctest.Wait()
	return m
}

func newBook() *book { return &book{free: true, there: map[string]Server{}} }

// claims makes a member the leader.
func (m *Member) claims(t *testing.T) (lost <-chan struct{}) {
	t.Helper()
	lease, lost, err := m.Lead(t.Context())
	require.NoError(t, err)
	require.Positive(t, lease)
	return lost
}

func TestALeaderCallsUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := b.joins(t, "first")
		require.False(t, first.May())
		lost := first.claims(t)
		require.True(t, first.May(), "nobody was there before")
		time.Sleep(time.Hour)
		require.True(t, first.May(), "it has confirmed all the time")

		b.goes(true)
		time.Sleep(LeaseFor)
		require.False(t, first.May())
		select {
		case <-lost:
		default:
			time.Sleep(ConfirmEvery)
			<-lost
		}
		b.goes(false)
		time.Sleep(time.Minute)
		require.False(t, first.May(), "a lease that was lost does not come back")
		began := time.Now()
		require.NoError(t, first.Await(t.Context()))
		first.claims(t)
		require.Zero(t, time.Since(began), "its own calls are over")
	})
}

func TestASuccessorWaitsForCallsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := NewMember(Server{ID: "first"}, b, slog.New(slog.DiscardHandler)) // stopped: it confirms nothing
		second := b.joins(t, "second")
		first.claims(t)
		confirmed := time.Now()
		require.NoError(t, second.Await(t.Context()))
		require.Equal(t, VacantAfter, time.Since(confirmed))
		require.False(t, first.May())
		second.claims(t)
		require.True(t, second.May())
		lease, _, err := first.Lead(t.Context())
		require.NoError(t, err)
		require.Zero(t, lease, "somebody leads")
	})
}

func TestASuccessorNeedNotWaitAfterAGoodEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first, second := b.joins(t, "first"), b.joins(t, "second")
		first.claims(t)
		time.Sleep(time.Minute)
		require.NoError(t, first.Resign(t.Context()))
		require.False(t, first.May())
		began := time.Now()
		require.NoError(t, second.Await(t.Context()))
		second.claims(t)
		require.Zero(t, time.Since(began))
		require.True(t, second.May())
	})
}

func TestOneOfManyLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		var lead atomic.Int64
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			m := b.joins(t, id)
			go func() {
				for m.Await(t.Context()) == nil {
					if lease, _, err := m.Lead(t.Context()); err == nil && lease > 0 {
						lead.Add(1)
						return
					}
				}
			}()
		}
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, lead.Load())
	})
}
