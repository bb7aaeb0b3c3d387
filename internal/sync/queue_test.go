package sync

import (
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

func TestQueueGivesBackInTheOrderOfTime(t *testing.T) {
	q, now := newQueue(), time.Now()
	a, b := Key{1, "spotify", "listens"}, Key{2, "spotify", "listens"}
	q.add(a, now.Add(2*time.Minute))
	q.add(b, now.Add(time.Minute))
	q.add(a, now.Add(3*time.Minute)) // later than wanted already: nothing changes
	require.Equal(t, now.Add(time.Minute), q.wake(now))
	_, ok := q.take(8)
	require.False(t, ok, "nothing is due yet")
	q.add(a, now.Add(-time.Second)) // earlier counts
	q.wake(now)
	k, ok := q.take(8)
	require.True(t, ok)
	require.Equal(t, a, k)
	require.Equal(t, now.Add(time.Minute), q.wake(now))
	require.True(t, q.wake(now.Add(time.Minute)).IsZero())
	k, _ = q.take(8)
	require.Equal(t, b, k)
}

func TestQueueLetsUsersTakeTurns(t *testing.T) {
	q, now := newQueue(), time.Now()
	for _, provider := range []library.ConnectionID{"a", "b", "c", "d"} {
		q.add(Key{1, provider, "listens"}, now)
	}
	q.wake(now)
	for range 3 {
		k, ok := q.take(4)
		require.True(t, ok)
		require.Equal(t, int64(1), k.User)
	}
	_, ok := q.take(4)
	require.False(t, ok, "the last worker is not for somebody who has one")
	q.add(Key{2, "a", "listens"}, now)
	q.wake(now)
	k, ok := q.take(4)
	require.True(t, ok)
	require.Equal(t, int64(2), k.User)
	q.done(Key{1, "a", "listens"})
	_, ok = q.take(4)
	require.False(t, ok)
	q.done(k)
	_, ok = q.take(4)
	require.True(t, ok, "two are free again")
}

func TestQueueWithOneWorkerServesEverybody(t *testing.T) {
	q, now := newQueue(), time.Now()
	for user := range int64(3) {
		q.add(Key{user, "spotify", "listens"}, now)
		q.add(Key{user, "spotify", "playlists"}, now)
	}
	q.wake(now)
	served := 0
	for {
		k, ok := q.take(1)
		if !ok {
			break
		}
		_, second := q.take(1)
		require.False(t, second)
		served++
		q.done(k)
	}
	require.Equal(t, 6, served)
}

func TestQueueForgetsWhatIsDropped(t *testing.T) {
	q, now := newQueue(), time.Now()
	due, ready, running := Key{1, "a", "listens"}, Key{1, "b", "listens"}, Key{1, "c", "listens"}
	q.add(running, now)
	q.wake(now)
	k, ok := q.take(8)
	require.True(t, ok)
	require.Equal(t, running, k)
	q.add(running, now)
	q.add(ready, now)
	q.wake(now)
	q.add(due, now.Add(time.Hour))
	q.drop(due)
	q.drop(ready)
	q.drop(Key{9, "x", "listens"})
	require.True(t, q.wake(now.Add(2*time.Hour)).IsZero())
	_, ok = q.take(8)
	require.False(t, ok, "one run at a time")
	q.done(running)
	k, ok = q.take(8)
	require.True(t, ok)
	require.Equal(t, running, k)
	_, ok = q.take(8)
	require.False(t, ok)
	q.add(running, now)
	q.wake(now)
	q.drop(running)
	q.done(running)
	_, ok = q.take(8)
	require.False(t, ok)
	require.Empty(t, q.at)
	require.Empty(t, q.people)
}
