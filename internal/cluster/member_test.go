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
	mu      sync.Mutex
	down    bool         // does not answer
	takes   atomic.Int64 // nanoseconds from a write to its answer
	lease   int64
	server  Server
	backend uint32
	seen    time.Time
	free    bool // released
	ended   []uint32
	asked   int // to end the leader's connection
	there   map[string]Server
}

var errDown = errors.New("no answer")

func (b *book) leaderLocked() Leader {
	return Leader{b.server.ID, b.server.Address, b.lease, time.Since(b.seen), b.free}
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

func (b *book) Claim(_ context.Context, me Server, backend uint32) (Leader, int64, error) {
	defer func() { time.Sleep(time.Duration(b.takes.Load())) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.leaderLocked()
	b.lease, b.server, b.backend, b.seen, b.free = b.lease+1, me, backend, time.Now(), false
	return before, b.lease, nil
}

func (b *book) Confirm(_ context.Context, lease int64, backend uint32) (bool, error) {
	defer func() { time.Sleep(time.Duration(b.takes.Load())) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return false, errDown
	case b.lease != lease || b.free:
		return false, nil
	}
	b.seen, b.backend = time.Now(), backend
	return true, nil
}

func (b *book) Depose(_ context.Context, lease int64, unconfirmed time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.lease == lease && time.Since(b.seen) > unconfirmed {
		b.ended = append(b.ended, b.backend)
	}
	return nil
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

// joins returns a member that takes part until the test ends.
func (b *book) joins(t *testing.T, id string) *Member {
	t.Helper()
	m := NewMember(Server{ID: id, Address: id + ":8421"}, b, slog.New(slog.DiscardHandler))
	go m.Run(t.Context())
	synctest.Wait()
	return m
}

func newBook() *book { return &book{free: true, there: map[string]Server{}} }

func TestALeaderCallsUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := b.joins(t, "first")
		require.False(t, first.May())
		require.NoError(t, first.Elected(t.Context(), 1))
		require.True(t, first.May(), "nobody was there before")
		lost, err := first.Lead(t.Context())
		require.NoError(t, err)
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
	})
}

func TestASuccessorWaitsForCallsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first, second := b.joins(t, "first"), b.joins(t, "second")
		require.NoError(t, first.Elected(t.Context(), 1))
		time.Sleep(ConfirmEvery / 2)
		b.mu.Lock()
		confirmed := b.seen
		b.mu.Unlock()

		// The first is cut off and has not noticed; the second has the lock.
		b.goes(true)
		time.Sleep(3 * time.Second)
		require.True(t, first.May())
		b.goes(false)
		require.NoError(t, second.Elected(t.Context(), 2))
		require.False(t, first.May())
		require.Equal(t, LeaseFor+margin, time.Since(confirmed))
		require.True(t, second.May())
		leader, _ := first.Leader()
		require.Equal(t, "second", leader.ID)
		require.ErrorIs(t, first.Elected(t.Context(), 3), nil, "as a successor in its turn")
	})
}

func TestASuccessorNeedNotWaitAfterAGoodEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first, second := b.joins(t, "first"), b.joins(t, "second")
		require.NoError(t, first.Elected(t.Context(), 1))
		time.Sleep(time.Minute)
		require.NoError(t, first.Resign(t.Context()))
		require.False(t, first.May())
		began := time.Now()
		require.NoError(t, second.Elected(t.Context(), 2))
		require.Zero(t, time.Since(began))
		require.True(t, second.May())
	})
}

func TestASilentLeaderIsDeposed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := NewMember(Server{ID: "first"}, b, slog.New(slog.DiscardHandler)) // stopped: it confirms nothing
		require.NoError(t, first.Elected(t.Context(), 7))
		b.joins(t, "second")
		time.Sleep(DeposedAfter - time.Millisecond)
		b.mu.Lock()
		require.Zero(t, b.asked)
		b.mu.Unlock()
		time.Sleep(ConfirmEvery)
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Equal(t, []uint32{7}, b.ended, "once")
	})
}

// A connection that has the lock again does not bring back a lease that another server has taken meanwhile.
func TestALostConnectionDoesNotBringALeaseBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := NewMember(Server{ID: "first"}, b, slog.New(slog.DiscardHandler))
		require.NoError(t, first.Elected(t.Context(), 1))
		require.NoError(t, first.Elected(t.Context(), 2), "its own lease goes on")
		second := b.joins(t, "second")
		require.NoError(t, second.Elected(t.Context(), 3))
		require.NoError(t, second.Resign(t.Context()))
		require.ErrorIs(t, first.Elected(t.Context(), 4), ErrDeposed)
	})
}
