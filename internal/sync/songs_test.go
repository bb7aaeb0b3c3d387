package sync_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// rack is a server with a library that offers nothing else.
type rack struct {
	takesOnly
	songs *[]library.Track
	err   *error
}

func (r rack) Songs(context.Context) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) { yield(*r.songs, *r.err) }
}

// Promise: The songs of a library are read every day; one that has none any more keeps those that it had, since its
// disk is missing more often than its music.
func TestTheSongsOfALibraryAreReadDaily(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, _ *enginetest.Upstreams, user int64) {
		songs, failure := []library.Track{{Title: "Hunter", Artist: "Björk"}, {Title: "Hunter", Artist: "björk"},
			{Title: "Jóga", Artist: "Björk"}, {Artist: "Nobody"}}, error(nil)
		p := providertest.New(registry.Describe("navidrome"))
		p.Open = func(resilience.Call, library.Credentials) providers.Adapter {
			return rack{takesOnly{}, &songs, &failure}
		}
		e.Registry.Replace(p)
		_, err := e.Connections.Connect(t.Context(), p, library.Connection{User: user, ID: "navidrome",
			Credentials: library.Credentials{"url": "https://music.example.org"}})
		require.NoError(t, err)
		enginetest.Settle()
		has := func() int {
			t.Helper()
			n, err := e.Store.LibrarySongs(t.Context(), user)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, 2, has(), "a song that is there twice is one, and one without a name is none")
		songs = append(songs, library.Track{Title: "Bachelorette", Artist: "Björk"})
		time.Sleep(30 * time.Hour)
		require.Equal(t, 3, has())
		songs = nil
		time.Sleep(30 * time.Hour)
		require.Equal(t, 3, has(), "its disk is missing")
		require.Empty(t, e.Open(user))
		failure = providers.ErrNotOffered
		time.Sleep(30 * time.Hour)
		require.Equal(t, 3, has())
		require.NoError(t, e.Connections.Disconnect(t.Context(), user, "navidrome", true))
		require.Zero(t, has())
	})
}
