package connections

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

func TestALineSaysWhatBegan(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		stem   string
		kind   resilience.Kind
		en, de string
	}{
		{stem: "sending", kind: resilience.Waiting, en: "Sending has been waiting since", de: "Das Senden wartet seit"},
		{stem: "reading", kind: resilience.Held, en: "Reading has been on hold since", de: "Das Lesen ruht seit"},
		{stem: "reading", kind: resilience.Stopped, en: "Nothing has been read since", de: "wurde nichts gelesen"},
	} {
		l := &syncer.Line{Condition: syncer.Held, State: resilience.State{Kind: c.kind, Since: at}}
		for language, want := range map[*words.Language]string{words.English: c.en, words.German: c.de} {
			v := viewLine(words.With(t.Context(), language), c.stem, l)
			require.Contains(t, v.Began, want)
			require.Contains(t, v.Began, "2026-11-22T14:05:00Z")
		}
	}
	require.Nil(t, viewLine(t.Context(), "sending", nil))
	calm := viewLine(t.Context(), "reading", &syncer.Line{Condition: syncer.Healthy})
	require.Equal(t, "healthy", calm.State)
	require.Empty(t, calm.Began)
}

// household knows an administrator (1) and a member (2).
type household struct{ StatusStore }

func (household) UserByID(_ context.Context, id int64) (accounts.User, error) {
	return accounts.User{ID: id, Role: map[int64]string{1: accounts.Admin, 2: accounts.Member}[id]}, nil
}

func TestOnlyAdministratorsLiftAHold(t *testing.T) {
	t.Parallel()
	h := &Statuses{store: household{}}
	spent := &syncer.Line{Condition: syncer.Held, Words: notify.Words{Owner: notify.Nobody},
		State: resilience.State{Kind: resilience.Held, Category: resilience.Quota, Scope: resilience.ScopeApp}}
	busy := &syncer.Line{Condition: syncer.Held,
		State: resilience.State{Kind: resilience.Held, Category: resilience.RateLimit, Scope: resilience.ScopeApp}}
	for _, c := range []struct {
		user int64
		line *syncer.Line
		want int
	}{{1, spent, 1}, {2, spent, 0}, {1, busy, 0}, {1, nil, 0}} {
		s := syncer.Status{Connection: library.Connection{User: c.user}, Provider: &providers.Provider{},
			Sending: c.line}
		require.Len(t, h.withLift(t.Context(), s, nil), c.want)
	}
}
