package connections

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

func TestALineSaysWhatBegan(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	for _, c := range []struct {
		stem   string
		kind   backoff.Kind
		en, de string
	}{
		{stem: "sending", kind: backoff.Waiting, en: "Sending has been waiting since", de: "mit dem Senden"},
		{stem: "reading", kind: backoff.Held, en: "Reading has been on hold since", de: "Das Lesen ruht seit"},
		{stem: "reading", kind: backoff.Stopped, en: "Nothing has been read since", de: "liest Reprise nichts mehr"},
	} {
		l := &syncer.Line{Condition: syncer.Held, State: backoff.State{Kind: c.kind, Since: at}}
		if c.kind == backoff.Stopped {
			l.State.Since, l.LastSuccessAt = at.Add(time.Hour), at
		}
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

// What has stopped says when it was read last: the time of the failure is said beside it.
func TestWhatStoppedSaysWhenItWasReadLast(t *testing.T) {
	t.Parallel()
	failed := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	read, later := failed.Add(-time.Hour), failed.Add(time.Minute)
	for _, c := range []struct {
		stem string
		line syncer.Line
		want string
	}{
		{"reading", syncer.Line{LastSuccessAt: read}, "Nothing has been read since 2026-11-22T13:05:00Z."},
		{"reading", syncer.Line{}, "Nothing has been read yet."},
		{"sending", syncer.Line{}, "Nothing has been sent yet."},
		{"reading", syncer.Line{Stream: library.Playlists, LastSuccessAt: later, StreamSuccess: read,
			State: backoff.State{Scope: resilience.ScopeStream}},
			"No playlists have been read since 2026-11-22T13:05:00Z."},
		{"reading", syncer.Line{Stream: library.Listens, LastSuccessAt: later,
			State: backoff.State{Scope: resilience.ScopeStream}}, "No listens have been read yet."},
	} {
		c.line.State.Kind, c.line.State.Since = backoff.Stopped, failed
		v := viewLine(words.With(t.Context(), words.English), c.stem, &c.line)
		require.Equal(t, c.want, strings.NewReplacer("\u2068", "", "\u2069", "").Replace(v.Began))
	}
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
		State: backoff.State{Kind: backoff.Held, Category: resilience.Quota, Scope: resilience.ScopeApp}}
	busy := &syncer.Line{Condition: syncer.Held,
		State: backoff.State{Kind: backoff.Held, Category: resilience.RateLimit, Scope: resilience.ScopeApp}}
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

// What an administrator can end has its way: to the keys that are spent, or to the registration that a service refuses.
func TestALiftLeadsToWhatIsMended(t *testing.T) {
	t.Parallel()
	h := &Statuses{store: household{}}
	registered, keys := &providers.Registration{}, &providers.Pool{}
	line := func(c resilience.Category, scope resilience.Scope) *syncer.Line {
		return &syncer.Line{Condition: syncer.NeedsAdmin,
			State: backoff.State{Kind: backoff.Stopped, Category: c, Scope: scope}}
	}
	for name, c := range map[string]struct {
		provider providers.Description
		line     *syncer.Line
		want     [2]string
	}{
		"a client id is refused": {providers.Description{Registration: registered},
			line(resilience.Config, resilience.ScopeApp), [2]string{"/setup/spotify", "Set up Spotify"}},
		"the keys are spent": {providers.Description{Registration: registered, Pool: keys},
			line(resilience.Quota, resilience.ScopeApp), [2]string{"/settings/server#keys", "Check the keys"}},
		"a key is refused": {providers.Description{Pool: keys},
			line(resilience.Auth, resilience.ScopeKey), [2]string{"/settings/server#keys", "Check the keys"}},
	} {
		c.provider.Name, c.provider.DisplayName = "spotify", "Spotify"
		did := h.withLift(t.Context(), syncer.Status{Connection: library.Connection{User: 1}, Sending: c.line,
			Provider: &providers.Provider{Description: c.provider}}, nil)
		require.Len(t, did, 1, name)
		require.Equal(t, c.want, [2]string{did[0].URL, did[0].Label}, name)
	}
}
