package sync_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// TestInstallationTroubleIsForAdministrators: what is asked for everybody stops, is announced once to those who can fix
// it, goes on after their "Try again", and a wait that was dictated to it outlives a restart.
func TestInstallationTroubleIsForAdministrators(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		p := &providers.Provider{Description: providers.Description{Name: "musicbrainz", DisplayName: "MusicBrainz",
			Streams: []string{library.Enrichment}}}
		e := start()
		admin, member := e.AddUser("Alice", accounts.Admin), e.AddUser("Bob", accounts.Member)
		do := func(answer error) error {
			return e.Guard.Do(t.Context(), providers.OfInstallation(p, library.Enrichment),
				func(context.Context, resilience.Call, providers.Adapter) error { return answer })
		}
		blocked := &resilience.AnswerError{Endpoint: "GET /ws/2/artist", Status: http.StatusForbidden,
			Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config,
				Scope: resilience.ScopeApp, Advice: words.Plain("Set contact.")}}

		require.NoError(t, do(nil))
		require.ErrorIs(t, do(library.ErrNotThere), library.ErrNotThere)
		require.Error(t, do(&resilience.AnswerError{Status: http.StatusNotFound}))
		require.NoError(t, do(nil), "what is said about one item stops nothing")

		require.ErrorIs(t, do(blocked), blocked)
		refused, ok := errors.AsType[*backoff.NotBeforeError](do(nil))
		require.True(t, ok)
		require.Equal(t, backoff.Stopped, refused.State.Kind)
		_, words := e.Guard.StateForAll(p)
		require.Equal(t, notify.Administrator, words.Owner)
		require.Contains(t, words.Message.String(), "Set contact.")
		require.Empty(t, e.Open(member))
		require.Len(t, e.Open(admin), 1)
		require.Contains(t, e.Open(admin)[0].Message.String(), "Then press Retry.")
		require.Equal(t, "/settings/server#enrichment", e.Open(admin)[0].Action.URL, "where that is")

		e.Stop()
		e = start()
		require.ErrorIs(t, do(blocked), blocked, "a restart may try again")
		require.Len(t, e.Open(admin), 1, "and tells nothing twice")
		_, held := e.Guard.RetryForAll(t.Context(), p)
		require.False(t, held)
		require.NoError(t, do(nil))
		require.Empty(t, e.Open(admin))

		slow := &resilience.AnswerError{Status: http.StatusTooManyRequests, NotBefore: time.Now().Add(time.Hour)}
		require.ErrorIs(t, do(slow), slow)
		e.Stop()
		e = start()
		_, ok = errors.AsType[*backoff.NotBeforeError](do(nil))
		require.True(t, ok, "held across a restart")
		_, held = e.Guard.RetryForAll(t.Context(), p)
		require.True(t, held)
		time.Sleep(time.Hour)
		require.NoError(t, do(nil))
	})
}

func TestAPanicInAnInstallationsCallIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, _ int64) {
		p := &providers.Provider{Description: providers.Description{Name: "musicbrainz", DisplayName: "MusicBrainz",
			Streams: []string{library.Enrichment}}}
		err := e.Guard.Do(t.Context(), providers.OfInstallation(p, library.Enrichment),
			func(context.Context, resilience.Call, providers.Adapter) error { panic("a nil map") })
		require.EqualError(t, err, "MusicBrainz: internal error")
		state, _ := e.Guard.StateForAll(p)
		require.Equal(t, backoff.Waiting, state.Kind)
	})
}
