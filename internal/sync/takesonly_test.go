package sync_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

// takesOnly is a server that takes listens and offers nothing to read.
type takesOnly struct{ down *atomic.Bool }

func (takesOnly) Prove(context.Context) (providers.Account, error) {
	return providers.Account{ID: "koito.example.org#ada", Name: "ada", Label: "koito.example.org",
		Lacks: []string{library.Listens, library.Playlists}}, nil
}

func (takesOnly) Listens(context.Context, library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		yield(providers.ListenPage{}, providers.ErrNotOffered)
	}
}

func (takesOnly) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) { yield(nil, providers.ErrNotOffered) }
}

func (takesOnly) Tracks(context.Context, library.Playlist, providers.LeaveOut) iter.Seq2[[]library.Track, error] {
	return nil
}

func (takesOnly) Loves(context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		yield(providers.LovePage{}, providers.ErrNotOffered)
	}
}

func (s takesOnly) Submit(_ context.Context, plays []library.StoredListen) ([]error, error) {
	if s.down.Load() {
		return nil, &resilience.NetworkError{Endpoint: "POST /1/submit-listens", Err: errors.New("refused")}
	}
	return make([]error, len(plays)), nil
}

// connectKoito connects a server that only takes listens. It can be switched off.
func connectKoito(t *testing.T, e *enginetest.Engine, user int64) (down *atomic.Bool) {
	t.Helper()
	down = &atomic.Bool{}
	p := providertest.New(registry.Describe("listenbrainz"))
	p.Open = func(resilience.Call, library.Credentials) providers.Adapter { return takesOnly{down} }
	e.Registry.Replace(p)
	_, err := e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: "listenbrainz",
		Credentials: library.Credentials{"token": "x", "url": "https://koito.example.org"}})
	require.NoError(t, err)
	enginetest.Settle()
	return down
}

// surveyed are the states of all connections to a provider, as metrics count them.
func surveyed(t *testing.T, e *enginetest.Engine, provider string) map[syncer.Condition]int {
	t.Helper()
	all, err := e.Connections.Survey(t.Context(), e.Store, nil)
	require.NoError(t, err)
	return all[provider].Conditions
}

// TestWhatOnlyTakesIsJudgedByItsSending: nothing is read there, so that it fails says only what is sent.
func TestWhatOnlyTakesIsJudgedByItsSending(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		e.Carry()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		down := connectKoito(t, e, user)
		_, err := e.Deliveries.Forward(t.Context(), user, "listenbrainz", false)
		require.NoError(t, err)
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition, "nothing waits")
		down.Store(true)
		hear(e, up, user, "Song", 3)
		time.Sleep(20 * time.Minute)

		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Waiting, s.Condition)
		require.Equal(t, 3, s.Waiting.Listens)
		require.Nil(t, s.Reading)
		require.Equal(t, "koito.example.org can't be reached", s.Words.Title.String())
		require.Equal(t, 1, surveyed(t, e, "listenbrainz")[syncer.Waiting])

		down.Store(false)
		time.Sleep(time.Hour)
		s = e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Equal(t, s.Sending.LastSuccessAt, s.LastSuccessAt)
		require.Equal(t, 1, surveyed(t, e, "listenbrainz")[syncer.Healthy])
		runs, _, err := e.Store.Runs(t.Context(), user, "listenbrainz", time.Time{}, "", 1000)
		require.NoError(t, err)
		require.Empty(t, runs, "it has nothing that could be read")
	})
}

func TestAServerThatOnlyTakesListens(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		connectKoito(t, e, user)
		time.Sleep(24 * time.Hour)
		require.Empty(t, e.Open(user))
		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Equal(t, "koito.example.org", s.Connection.Name, "it is called what was given")
		require.True(t, s.LastSuccessAt.IsZero(), "nothing was read or sent")
		require.Equal(t, "This server accepts listens but doesn't offer any to read.", s.Note.String())

		p := e.Registry.Get("listenbrainz")
		again := func(id library.ConnectionID) {
			_, err := e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: id,
				Credentials: library.Credentials{"token": "y", "url": "https://koito.example.org"}})
			require.NoError(t, err)
		}
		again("listenbrainz-2")
		require.Equal(t, "koito.example.org 2", e.Status(user, "listenbrainz-2").Connection.Name)
		again("listenbrainz-2")
		require.Equal(t, "koito.example.org 2", e.Status(user, "listenbrainz-2").Connection.Name)
		require.NoError(t, e.Connections.Rename(t.Context(), user, "listenbrainz", "Mine"))
		again("listenbrainz")
		require.Equal(t, "Mine", e.Status(user, "listenbrainz").Connection.Name, "a name that was chosen stays")
	})
}
