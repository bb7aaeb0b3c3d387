// Package demotest starts the simulated services for the tests of adapters.
package demotest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// now is after the plays that the suite of providertest sends.
var now = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// Start starts the demo's services in the bubble of a test. Alice has heard something on each of the last 30 days. With
// an id of a playlist, her playlists at the service fill more than one page, and so do the tracks of the one with that
// id. With a token, each request carries it, as it does after a person's consent.
func Start(
	t *testing.T, service, playlist string, token func(*demo.World) string,
) (*demo.World, http.RoundTripper) {
	t.Helper()
	if time.Now().Before(now) { // in a bubble
		time.Sleep(time.Until(now))
	}
	w, err := demo.Start(demo.Options{InProcess: true, Plays: 250, Days: 30})
	require.NoError(t, err)
	t.Cleanup(w.Close)
	if playlist != "" {
		for i := range 60 {
			w.SetPlaylist(service, demo.Alice, demo.List{ID: fmt.Sprintf("%08x-967a-492c-9d04-c5a819baa2f3", i),
				Name: fmt.Sprint("List ", i), Privacy: "public", Songs: songs(w, service, 1)})
		}
		w.SetPlaylist(service, demo.Alice,
			demo.List{ID: playlist, Name: "Rain", Privacy: "public", Songs: songs(w, service, 130)})
	}
	if token == nil {
		return w, w
	}
	access := token(w)
	return w, roundTripper(func(req *http.Request) (*http.Response, error) {
		out := req.Clone(req.Context())
		out.Header.Set("Authorization", "Bearer "+access)
		return w.RoundTrip(out)
	})
}

// songs returns songs that a service has: what Alice has heard, and at YouTube videos.
func songs(w *demo.World, service string, n int) []demo.Song {
	all := make([]demo.Song, n)
	for i, p := range w.ListenBrainz.Listens(demo.Alice)[:n] {
		all[i] = demo.Song{Artist: p.Artist, Title: p.Title}
		if service == demo.YouTube {
			all[i] = demo.Song{Artist: "Sigur Rós", Title: fmt.Sprint("Untitled ", i+1), Duration: 6 * time.Minute,
				Video: fmt.Sprint("video-", i+1)}
		}
	}
	return all
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
