package queue_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/queue"
)

// keeping keeps a queue until stop, and counts the errors of looking at it, and what has become due.
type keeping struct {
	mu     sync.Mutex
	failed int
	due    []queue.Due
	stop   func()
}

func (k *keeping) seen() (failed int, due []queue.Due) {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	failed, due = k.failed, k.due
	k.failed, k.due = 0, nil
	return failed, due
}

func keep(t *testing.T, q *queue.Queue) *keeping {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	k := &keeping{stop: func() { cancel(); running.Wait() }}
	running.Go(func() {
		q.Keep(ctx, func(d queue.Due) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.due = append(k.due, d)
		}, func(error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.failed++
		})
	})
	return k
}

func TestAnIdleQueueIsNotLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t)
		k := keep(t, s.Queue())
		defer k.stop()
		time.Sleep(time.Second)
		_, err := db.Exec("ALTER TABLE river_job RENAME TO away") // every look fails
		require.NoError(t, err)
		time.Sleep(24 * time.Hour)
		failed, _ := k.seen()
		require.Zero(t, failed)
		s.Queue().Look()
		time.Sleep(time.Second / 2)
		failed, _ = k.seen()
		require.Equal(t, 1, failed, "a look would have been noticed")
		_, err = db.Exec("ALTER TABLE away RENAME TO river_job")
		require.NoError(t, err)
	})
}

func TestDueJobsAreToldOfWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := open(t)
		k := keep(t, s.Queue())
		defer k.stop()
		began := time.Now()
		for _, after := range []time.Duration{3 * time.Second, 3 * time.Second, time.Hour} {
			insert(t, s, db, after.String(), began.Add(after))
			time.Sleep(time.Millisecond)
		}
		k.seen()
		time.Sleep(time.Until(began.Add(3*time.Second - 50*time.Millisecond)))
		_, due := k.seen()
		require.Empty(t, due)
		time.Sleep(100 * time.Millisecond)
		_, due = k.seen()
		require.Equal(t, []queue.Due{{Queue: "plays", Count: 2}}, due)
		time.Sleep(time.Until(began.Add(time.Hour - 50*time.Millisecond)))
		_, due = k.seen()
		require.Empty(t, due, "what nobody takes is not told of again")
		time.Sleep(100 * time.Millisecond)
		_, due = k.seen()
		require.Equal(t, []queue.Due{{Queue: "plays", Count: 3}}, due)
	})
}

// TestWhatWaitsKeepsItsWait: the clock is set back by an hour. What is parked, and a summary for eight o'clock, stay.
func TestWhatWaitsKeepsItsWait(t *testing.T) {
	t.Parallel()
	s, db := open(t)
	now := time.Now()
	after := map[time.Duration]time.Duration{61 * time.Minute: time.Minute, 2 * time.Hour: time.Hour,
		-time.Minute: -time.Minute}
	ids := map[int64]time.Duration{}
	for wait, want := range after {
		ids[insert(t, s, db, wait.String(), now.Add(wait))] = want
	}
	parked := insert(t, s, db, "parked", now.Add(time.Hour))
	require.NoError(t, s.Queue().Park(t.Context(), queue.One(parked)))
	summary := insert(t, s, db, "summary", now.Add(5*time.Hour))
	_, err := db.Exec("UPDATE river_job SET kind = 'notify' WHERE id = $1", summary)
	require.NoError(t, err)
	ids[summary] = 5 * time.Hour
	require.NoError(t, s.Queue().Earlier(t.Context(), time.Hour))
	for id, want := range ids {
		var due time.Time
		require.NoError(t, db.QueryRow("SELECT scheduled_at FROM river_job WHERE id = $1", id).Scan(&due))
		require.InDelta(t, want, due.Sub(now), float64(time.Second))
	}
	var year int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM river_job WHERE scheduled_at > '2200-01-01'").Scan(&year))
	require.Equal(t, 1, year)
}
