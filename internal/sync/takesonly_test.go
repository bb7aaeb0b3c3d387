package sync_test

import (
	"context"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	syncer "reprise/internal/sync"
)

// takesOnly is a server that takes listens and offers nothing to read.
type takesOnly struct{}

func (takesOnly) Prove(context.Context) (providers.Account, error) {
	return providers.Account{ID: "koito.example.org#ada", Name: "ada", Label: "koito.example.org"}, nil
}

func (takesOnly) Listens(context.Context, library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		yield(providers.ListenPage{}, providers.ErrNotOffered)
	}
}

func (takesOnly) Playlists(context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) { yield(nil, providers.ErrNotOffered) }
}

func (takesOnly) Tracks(context.Context, library.Playlist) iter.Seq2[[]library.Track, error] {
	return nil
}

func TestAServerThatOnlyTakesListens(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		p := providertest.New(registry.Describe("listenbrainz"))
		p.Open = func(*http.Client, library.Credentials) providers.Adapter { return takesOnly{} }
		e.Registry.Replace(p)
		c, err := e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: "listenbrainz",
			Credentials: library.Credentials{"token": "x", "url": "https://koito.example.org"}})
		require.NoError(t, err)
		require.Equal(t, "koito.example.org", c.Label(p.DisplayName), "it is called what was given")
		time.Sleep(24 * time.Hour)
		require.Empty(t, e.Open(user))
		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Equal(t, "koito.example.org", s.Connection.Name)
		require.Equal(t, "This server accepts listens but doesn't offer any to read.", s.Streams[0].Note.String())
		require.Equal(t, "This server has no playlists to read.", s.Streams[1].Note.String())

		require.NoError(t, e.Connections.Rename(t.Context(), user, "listenbrainz", "Mine"))
		_, err = e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: "listenbrainz",
			Credentials: library.Credentials{"token": "y", "url": "https://koito.example.org"}})
		require.NoError(t, err)
		require.Equal(t, "Mine", e.Status(user, "listenbrainz").Connection.Name, "a name that was chosen stays")
	})
}
