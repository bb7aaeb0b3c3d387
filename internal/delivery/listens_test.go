package delivery

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// shelf is a provider that has some plays, or cannot say.
type shelf struct {
	plays []library.Listen
	err   error
	asked *library.Span
}

func (shelf) Prove(context.Context) (providers.Account, error) { return providers.Account{}, nil }

func (s shelf) Listens(_ context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	*s.asked = span
	return func(yield func(providers.ListenPage, error) bool) {
		yield(providers.ListenPage{Listens: s.plays}, s.err)
	}
}

// unsure is a store with sendings that may have arrived.
type unsure struct {
	listenStore
	all []library.Sending
}

func (s unsure) Unsure(context.Context, library.Connection) ([]library.Sending, error) {
	return s.all, nil
}

func (unsure) Sent(context.Context, library.Connection, int64, []int64, []int64) error { return nil }

// TestALastPlayTellsOfThoseSentBefore: two songs were sent in turn, a server tells the last play of each, and one of
// the songs was played there since.
func TestALastPlayTellsOfThoseSentBefore(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	var all []library.Sending
	var plays []library.StoredListen
	for i := range 6 {
		at := start.Add(time.Duration(i) * time.Minute)
		all = append(all, library.Sending{ID: int64(10 + i), Listen: int64(i + 1), PlayedAt: at,
			Track: []string{"a", "b"}[i%2]})
		plays = append(plays, library.StoredListen{ID: int64(i + 1), Listen: library.Listen{PlayedAt: at}})
	}
	last := func(track string, after time.Duration) library.Listen {
		return library.Listen{Track: library.Track{SourceID: track}, PlayedAt: start.Add(after), PlayCount: 9}
	}
	var span library.Span
	d := listenDeliverer{store: unsure{all: all}}
	rest, err := d.missingThere(t.Context(), library.Connection{},
		shelf{plays: []library.Listen{last("a", 2*time.Minute), last("b", 90*time.Second)}, asked: &span}, plays)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4, 5, 6}, idsOf(rest))
}

func TestASecondAttemptSkipsWhatIsThere(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	play := func(id int64, after time.Duration) library.StoredListen {
		return library.StoredListen{ID: id, Listen: library.Listen{PlayedAt: start.Add(after)}}
	}
	plays := []library.StoredListen{play(1, 0), play(2, 300*time.Millisecond), play(3, time.Minute), play(4, time.Hour)}
	var span library.Span
	there := []library.Listen{{PlayedAt: start}, {PlayedAt: start.Add(time.Minute)},
		{PlayedAt: start.Add(time.Hour), Approximate: true}}
	d := listenDeliverer{store: unsure{}}
	rest, err := d.missingThere(t.Context(), library.Connection{}, shelf{plays: there, asked: &span}, plays)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4}, idsOf(rest), "one play for one play, and a guessed time says nothing")
	require.True(t, span.After.Before(start) && span.Before.After(start.Add(time.Hour)),
		"all of their time is asked for")
	require.Len(t, plays, 4)

	rest, err = d.missingThere(t.Context(), library.Connection{},
		shelf{err: providers.ErrNotOffered, asked: &span}, plays)
	require.NoError(t, err)
	require.Equal(t, plays, rest, "who cannot say is sent all")
	outage := errors.New("down")
	_, err = d.missingThere(t.Context(), library.Connection{}, shelf{err: outage, asked: &span}, plays)
	require.ErrorIs(t, err, outage, "nothing is sent before it is known")
}

// till is a shelf that takes plays.
type till struct {
	shelf
	taken *[]library.StoredListen
}

func (s till) Submit(_ context.Context, plays []library.StoredListen) ([]error, error) {
	*s.taken = plays
	return make([]error, len(plays)), nil
}

// opened is a Guard that lets every call through.
type opened struct {
	Guard
	to providers.Adapter
}

func (o opened) Do(
	ctx context.Context, _ providers.Subject, f func(context.Context, resilience.Call, providers.Adapter) error,
) error {
	return f(ctx, resilience.Call{}, o.to)
}

func (opened) ReadSince(library.Connection, time.Time) error { return nil }

// putBack is a listenStore that was restored.
type putBack struct {
	listenStore
	plays []library.StoredListen
	at    time.Time
}

func (p putBack) RestoredAt() time.Time { return p.at }

func (putBack) Unsure(context.Context, library.Connection) ([]library.Sending, error) {
	return nil, nil
}

func (putBack) Sent(context.Context, library.Connection, int64, []int64, []int64) error { return nil }

func (p putBack) ListensOf(context.Context, int64) ([]library.StoredListen, error) {
	return p.plays, nil
}

// What was played before a backup was restored may have been sent before that, whatever the backup knows.
func TestPlaysBeforeARestoreAreAskedFor(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	plays := []library.StoredListen{{ID: 1, Listen: library.Listen{PlayedAt: start}},
		{ID: 2, Listen: library.Listen{PlayedAt: start.Add(time.Minute)}}}
	home := &providers.Provider{Description: providers.Description{Name: "home",
		Takes: providers.Takes{Listens: Scrobble, Doubles: true}}}
	for _, c := range []struct {
		restored time.Time
		want     []int64
	}{{time.Time{}, []int64{1, 2}}, {start.Add(-time.Hour), []int64{1, 2}}, {start.Add(time.Hour), []int64{2}}} {
		var taken []library.StoredListen
		there := till{shelf{plays: []library.Listen{{PlayedAt: start}}, asked: &library.Span{}}, &taken}
		d := &listenDeliverer{guard: opened{to: there}, store: putBack{plays: plays, at: c.restored},
			registry: providers.NewRegistry(home)}
		require.NoError(t, d.deliver(t.Context(), library.Connection{ID: "home"}, &attempt{Taken: Taken{Number: 1}}))
		require.Equal(t, c.want, idsOf(taken), "restored at %s", c.restored)
	}
}
