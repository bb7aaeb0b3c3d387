package demo

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPlayersSendUntilTheyAreBroken: each says when a song begins and when it is done, in its own words.
func TestPlayersSendUntilTheyAreBroken(t *testing.T) {
	t.Parallel()
	w, err := Start(Options{Plays: 1, Live: time.Hour})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	var mu sync.Mutex
	got := map[string]string{}
	far := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(body)
	}))
	t.Cleanup(far.Close)
	w.Equip(map[string]string{Jellyfin: "one", Phone: "two", Browser: "three"})
	tell := func(player string) {
		for _, done := range []bool{false, true} {
			w.tell(context.Background(), far.URL, player, Play{Title: "Jóga", Artist: "Björk"}, time.Now(), done)
		}
	}
	for _, name := range playerNames {
		tell(name)
	}
	require.Contains(t, got["/p/one/jellyfin"], `"PlaybackStop"`)
	require.Contains(t, got["/p/two/1/submit-listens"], `"playing_now"`)
	require.Contains(t, got["/p/three/webscrobbler"], `"scrobble"`)

	require.Error(t, w.Break(Jellyfin, Unset), "it tells of now only")
	require.Error(t, w.Break("toaster", Silent))
	for player, mode := range map[string]PlayerMode{Phone: Unset, Browser: Silent, Jellyfin: Garbled} {
		clear(got)
		require.NoError(t, w.Break(player, mode))
		tell(player)
		switch mode {
		case Silent:
			require.Empty(t, got)
		case Unset:
			require.Contains(t, got["/p/two/1/submit-listens"], `"listened_at":3600`)
		case Garbled:
			require.NotContains(t, got["/p/one/jellyfin"], "PlaybackStop\"}")
		}
	}
}
