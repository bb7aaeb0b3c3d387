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
	rest, err := missingThere(t.Context(), shelf{plays: there, asked: &span}, plays)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4}, idsOf(rest), "one play for one play, and a guessed time says nothing")
	require.True(t, span.After.Before(start) && span.Before.After(start.Add(time.Hour)),
		"all of their time is asked for")
	require.Len(t, plays, 4)

	rest, err = missingThere(t.Context(), shelf{err: providers.ErrNotOffered, asked: &span}, plays)
	require.NoError(t, err)
	require.Equal(t, plays, rest, "who cannot say is sent all")
	outage := errors.New("down")
	_, err = missingThere(t.Context(), shelf{err: outage, asked: &span}, plays)
	require.ErrorIs(t, err, outage, "nothing is sent before it is known")
}
