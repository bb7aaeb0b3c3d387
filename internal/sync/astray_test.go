package sync_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
)

// stray is a server in whose place something else answers.
type stray struct {
	takesOnly
	answer *atomic.Pointer[resilience.AnswerError]
}

func (s stray) Prove(context.Context) (providers.Account, error) {
	return providers.Account{ID: "ada", Name: "ada"}, nil
}

func (s stray) Listens(context.Context, library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		if e := s.answer.Load(); e != nil {
			answer := *e
			yield(providers.ListenPage{}, &answer)
		}
	}
}

// strayAt connects a person to ListenBrainz' API, at an address of their own or that of the settings. What answers
// there can be changed.
func strayAt(
	t *testing.T, e *enginetest.Engine, user int64, own string, settings ...string,
) *atomic.Pointer[resilience.AnswerError] {
	t.Helper()
	answer := &atomic.Pointer[resilience.AnswerError]{}
	p := providertest.New(registry.Describe("listenbrainz"), settings...)
	p.Open = func(resilience.Call, library.Credentials) providers.Adapter { return stray{answer: answer} }
	e.Registry.Replace(p)
	_, err := e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: "listenbrainz", Name: "Mine",
		Credentials: library.Credentials{"token": "x", "url": own}})
	require.NoError(t, err)
	time.Sleep(time.Minute)
	return answer
}

var (
	redirect = &resilience.AnswerError{Endpoint: "GET /", Status: 301, MovedTo: "https://new.example.org"}
	aPage    = &resilience.AnswerError{Endpoint: "GET /", Status: 200, HTML: true}
)

// Promise: An answer astray needs somebody from the second in a row: one may be a proxy's.
func TestAServerThatMovedIsItsPersonsToMend(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		answer := strayAt(t, e, user, "https://old.example.org")
		for _, far := range []struct {
			e    *resilience.AnswerError
			says string
		}{{redirect, "redirects to https://new.example.org."}, {aPage, "a web page instead of data."}} {
			answer.Store(far.e)
			time.Sleep(5 * time.Minute)
			s := e.Status(user, "listenbrainz")
			require.Equal(t, syncer.NeedsReconnect, s.Condition)
			require.Equal(t, backoff.Waiting, s.State.Kind, "it is tried again all the same")
			require.Equal(t, notify.Person, s.Words.Owner)
			require.Equal(t, "Check the address of Mine", s.Words.Title.String())
			require.Equal(t, "The server answers, but "+map[bool]string{true: "with "}[far.e.HTML]+far.says+
				" Reconnect with the right address. Everything stored is safe.", s.Words.Message.String())
			require.Equal(t, far.e.MovedTo, s.Reading.MovedTo)
			require.Equal(t, 1, surveyed(t, e, "listenbrainz")[syncer.NeedsReconnect])
			open := e.Open(user)
			require.Len(t, open, 1)
			require.Equal(t, "/connect/listenbrainz", open[0].Action.URL)
			require.Equal(t, notify.Error, open[0].Severity)
			time.Sleep(12 * time.Hour)
			require.Len(t, e.Open(user), 1, "it is told once")
			answer.Store(nil)
			time.Sleep(time.Hour)
			require.Empty(t, e.Open(user))
			require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)
		}
	})
}

func TestAnAddressOfTheSettingsIsTheAdministrators(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Zed", accounts.Member)
		strayAt(t, e, member, "", "api_url", "https://lb.example.org").Store(redirect)
		time.Sleep(5 * time.Minute)
		s := e.Status(member, "listenbrainz")
		require.Equal(t, syncer.NeedsAdmin, s.Condition)
		require.Equal(t, notify.Administrator, s.Words.Owner)
		require.Contains(t, s.Words.Message.String(), "Only the administrator can fix this.")
		require.Empty(t, e.Open(member))
		open := e.Open(admin)
		require.Len(t, open, 1)
		require.Contains(t, open[0].Message.String(), "redirects to https://new.example.org. Enter the right "+
			"address as “Address” under Settings, This server.")
		require.Equal(t, "/settings/server#providers-listenbrainz-api_url", open[0].Action.URL)
	})
}

func TestAServicesOwnAddressIsNobodysToMend(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		strayAt(t, e, user, "").Store(aPage)
		time.Sleep(time.Hour)
		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Waiting, s.Condition)
		require.Equal(t, "Mine doesn't answer as it should", s.Words.Title.String())
		require.Equal(t, "The server answers, but with a web page instead of data. Reprise retries automatically; "+
			"nothing to do.", s.Words.Message.String())
		require.Empty(t, e.Open(user))
	})
}
