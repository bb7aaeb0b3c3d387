package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// slow answers an attempt after a time, unless it is cut off.
func slow(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A server that is told to stop while it starts ends without an error.
func TestAStopAtTheStartIsNoFailure(t *testing.T) {
	t.Parallel()
	g := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, g.d.Run(ctx))
}

// A service that has a listen, and could not say so, would be sent it again after the next start.
func TestAStopLetsAnAttemptFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for answer, want := range map[time.Duration]delivery.State{5 * time.Second: delivery.Done,
			7 * time.Second: delivery.Scheduled} {
			g := newStage(t)
			id := g.enqueue(slow(answer), "Song")
			began := time.Now()
			g.run(time.Second)
			require.Equal(t, want, g.get(id).State, answer)
			require.Less(t, time.Since(began), 7*time.Second)
			if want == delivery.Done {
				continue
			}
			require.Zero(t, g.get(id).Attempts, "one that is cut off does not count")
			delete(g.outcomes, "Song")
			g.run(time.Minute)
			g.requireState(delivery.Done, id)
		}
	})
}

// Listens heard first arrive first, also after all of them had to wait.
func TestWhatWaitsIsSentInItsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var sent, want []string
		until := time.Now().Add(time.Hour)
		song := func(n int) {
			title := fmt.Sprint("Song ", n)
			want = append(want, title)
			g.enqueue(func(context.Context) error {
				if now := time.Now(); now.Before(until) {
					return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Held, Until: until}}
				}
				sent = append(sent, title)
				return nil
			}, title)
		}
		song(1)
		song(2)
		song(3)
		g.run(10 * time.Minute)
		song(4) // due at once, while the others wait
		song(5)
		g.run(10 * time.Minute)
		require.Empty(t, sent)
		g.run(time.Hour)
		require.Equal(t, want, sent)
		for _, d := range g.deliveries() {
			require.Equal(t, 1, d.Attempts, "waiting used none up")
		}
	})
}

// A delivery that is made while its connection's share is under way has no job of its own.
func TestWhatIsEnqueuedDuringAShareIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var sent []string
		note := func(title string) func(context.Context) error {
			return func(context.Context) error { sent = append(sent, title); return nil }
		}
		g.enqueue(func(context.Context) error {
			sent = append(sent, "First")
			g.enqueue(note("Second"), "Second")
			time.Sleep(3 * time.Second) // the alarm has looked
			g.enqueue(note("Third"), "Third")
			return nil
		}, "First")
		g.run(10 * time.Second)
		require.Equal(t, []string{"First", "Second", "Third"}, sent)
	})
}

// Of a share that takes long, the ends are stored before all of it was attempted, and the rest follows in its order.
func TestALongShareIsEndedEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var sent []int64
		var ids []int64
		for i := range 5 {
			ids = append(ids, g.enqueue(func(context.Context) error {
				if sent = append(sent, ids[i]); i > 0 {
					g.requireState(delivery.Done, ids[:i]...)
					require.Zero(t, g.get(ids[4]).Attempts/2, "none is used up without an attempt")
				}
				time.Sleep(4 * time.Second)
				return nil
			}, fmt.Sprint("Song ", i)))
		}
		g.run(30 * time.Second)
		require.Equal(t, ids, sent)
		for _, d := range g.deliveries() {
			require.Equal(t, 1, d.Attempts)
		}
	})
}

// What a killed process had taken is attempted again at the next start, though no job is left.
func TestAKilledShareIsDueAtTheStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		ids := []int64{g.enqueue(nil, "One"), g.enqueue(nil, "Two")}
		g.exec("UPDATE deliveries SET state = 'running', attempts = 1")
		g.exec("DELETE FROM river_job")
		g.run(5 * time.Second)
		g.requireState(delivery.Done, ids...)
		require.Equal(t, 2, g.get(ids[1]).Attempts, "the one before counts: its outcome is unknown")
	})
}

// lines is a log that counts its lines with a message.
type lines struct {
	slog.Handler
	message string
	n       int
}

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, l.message) {
		l.n++
	}
	return nil
}
func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

// 1,000 waiting deliveries are worth a line of the log, and one more when there were fewer meanwhile.
func TestALongBacklogIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		log := &lines{message: "many deliveries wait"}
		registry := providers.NewRegistry(&providers.Provider{Description: providers.Description{Name: "lastfm",
			Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 1}}})
		g.d = delivery.New(delivery.Parts{Registry: registry, Guard: g, Store: g.s, Bus: &events.Bus{},
			Log: slog.New(log)}, delivery.Options{KeepDead: 3 * 24 * time.Hour})
		away := time.Now().Add(24 * time.Hour)
		held := func(context.Context) error {
			return &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Held, Until: away}}
		}
		_, err := g.s.StartForwarding(t.Context(), delivery.Rule{User: g.user, Connection: "lastfm",
			Kind: delivery.Scrobble, Batch: 1, From: day, Since: day}, false)
		require.NoError(t, err)
		wait := func(n int) { // more deliveries
			var page []library.Listen
			for range n {
				g.minutes += 10
				title := fmt.Sprint("Song ", g.minutes)
				g.outcomes[title] = held
				page = append(page, library.Listen{SourceID: title, PlayedAt: day.Add(time.Duration(g.minutes) *
					time.Minute), Track: library.Track{Title: title, Artist: "Artist", Duration: 4 * time.Minute}})
			}
			_, err := g.s.SaveListens(t.Context(), library.Intake{User: g.user, Connection: "spotify", Listens: page})
			require.NoError(t, err)
			g.run(3 * time.Minute)
		}
		wait(999)
		require.Zero(t, log.n)
		wait(1)
		require.Equal(t, 1, log.n)
		wait(10)
		require.Equal(t, 1, log.n)
		for _, d := range g.deliveries()[:11] {
			g.discard(d.ID)
		}
		wait(0)
		wait(1)
		require.Equal(t, 2, log.n, "it had been shorter")
	})
}
