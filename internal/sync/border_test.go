package sync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// pager is a service that lists plays in pages of three, and fails after so many. Before is exclusive.
type pager struct {
	plays []library.Listen // the newest first
	pages int
}

var errBrokenOff = errors.New("the connection broke off")

func (p *pager) Listens(_ context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		var left []library.Listen
		for _, l := range p.plays {
			if l.PlayedAt.After(span.After) && (span.Before.IsZero() || l.PlayedAt.Before(span.Before)) {
				left = append(left, l)
			}
		}
		for len(left) > 0 {
			if p.pages--; p.pages < 0 {
				yield(providers.ListenPage{}, errBrokenOff)
				return
			}
			n := min(3, len(left))
			page := providers.ListenPage{Listens: left[:n:n], Oldest: left[n-1].PlayedAt}
			if left = left[n:]; !yield(page, nil) {
				return
			}
		}
	}
}

// kept is a store that keeps plays and a position.
type kept struct {
	Store
	plays    map[string]bool
	position string
}

func (k *kept) Position(context.Context, int64, library.ConnectionID, string) (string, error) {
	return k.position, nil
}

func (k *kept) SaveListens(_ context.Context, in library.Intake) (added int, err error) {
	for _, l := range in.Listens {
		if !k.plays[l.SourceID] {
			added++
		}
		k.plays[l.SourceID] = true
	}
	k.position = in.Position
	return added, nil
}

// Several plays of one instant may be on two pages. A run that breaks off between the two loses none of them.
func TestABreakOffWithinAnInstantLosesNothing(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Millisecond)
	instant := now.Add(-time.Hour)
	service := &pager{pages: 1}
	for n, at := range []time.Time{now.Add(-time.Minute), instant, instant, instant, instant,
		instant.Add(-time.Millisecond), now.Add(-2 * time.Hour)} {
		service.plays = append(service.plays, library.Listen{SourceID: fmt.Sprint(n), PlayedAt: at,
			Track: library.Track{Title: "Song", Artist: "Artist"}})
	}
	k := &kept{plays: map[string]bool{}}
	opt := &options{}
	all := Options{}.withDefaults()
	opt.Store(&all)
	rd := &reader{opt: opt, store: k, bus: &events.Bus{}, log: slog.New(slog.DiscardHandler),
		guard:  NewGuard(GuardOptions{Registry: providers.NewRegistry()}),
		last:   &lastReads{of: map[Key]lastRead{}},
		perils: &perils{store: k, log: slog.New(slog.DiscardHandler)},
		habits: &habits{of: map[Key]*habit{}, seeded: map[string]bool{}}}
	c := library.Connection{User: 1, ID: "spotify"}
	_, err := rd.readListens(t.Context(), nil, c, service)
	require.ErrorIs(t, err, errBrokenOff)
	require.Len(t, k.plays, 3)
	service.pages = 100
	_, err = rd.readListens(t.Context(), nil, c, service)
	require.NoError(t, err)
	require.Len(t, k.plays, len(service.plays))
	p, err := parsePosition(k.position)
	require.NoError(t, err)
	require.Empty(t, p.Unread)
	require.Equal(t, now.Add(-time.Minute), p.High.UTC())
}

// An outage is told when it took more than an hour, and longer than three pauses of the loop; and it is told once.
func TestAnOutageIsLongerThanAnHour(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		silent, every time.Duration
		told          bool
	}{{time.Hour, 5 * time.Minute, false}, {time.Hour + 1, 5 * time.Minute, true},
		{90 * time.Minute, 30 * time.Minute, false}, {90*time.Minute + 1, 30 * time.Minute, true}} {
		p := position{At: now.Add(-c.silent)}
		p.resume(now, c.every)
		require.Equal(t, c.told, p.Gap != nil, c)
		p.Unread = []library.Span{{After: now}}
		require.Nil(t, p.caughtUp(now), "it has not read everything yet")
		p.Unread = []library.Span{{Before: now}}
		gap := p.caughtUp(now)
		require.Equal(t, c.told, gap != nil, c)
		if c.told {
			require.Equal(t, library.Gap{From: now.Add(-c.silent), To: now}, *gap)
		}
		require.Nil(t, p.caughtUp(now))
	}
	p := position{}
	p.resume(now, time.Minute)
	require.Nil(t, p.Gap, "nothing was read before")
}
