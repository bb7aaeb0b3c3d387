package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/library"
)

// What Spotify plays is passed on to a Navidrome that has the song and to ListenBrainz, which has everything. It counts
// once: what the Navidrome then reports as playing came from here.
//
// Promise: What connections play now is shown, and passed on to the accounts that plays go to, but never in circles.
func TestWhatSpotifyPlaysIsToldToTheOthers(t *testing.T) {
	settings := map[string]string{"sync.now_playing": "true", "sync.listens_every": "2h"}
	inBubbleWith(t, demo.Options{Plays: 5}, settings, func(t *testing.T, i *installation) {
		ctx := context.Background()
		i.people(1)
		i.deliver()
		for _, id := range []library.ConnectionID{"navidrome", "listenbrainz"} {
			_, err := i.deliveries.Forward(ctx, i.users[0], id, false)
			require.NoError(t, err)
		}
		song := demo.Song{Artist: "Sigur Rós", Title: "Untitled 1", Duration: 5 * time.Minute}
		i.world.SetPlaylist(demo.Navidrome, demo.Alice, demo.List{ID: "has", Name: "Has", Songs: []demo.Song{song}})
		i.world.Hear(demo.Spotify, demo.Alice, song, time.Now())
		told := func(service, path string) (n int) {
			for _, c := range i.world.Calls(service) {
				if c.Path == path {
					n++
				}
			}
			return n
		}
		time.Sleep(3 * time.Minute)
		i.settle()
		now := i.server.Playing.Of(i.users[0])
		require.Len(t, now, 1)
		require.Equal(t, library.ConnectionID("spotify"), now[0].From)
		require.Equal(t, "Untitled 1", now[0].Track.Title)
		require.Equal(t, 1, told(demo.Navidrome, "/rest/scrobble.view"))
		require.Equal(t, 1, told(demo.ListenBrainz, "/1/submit-listens"))
		time.Sleep(5 * time.Minute)
		require.Empty(t, i.server.Playing.Of(i.users[0]))
	})
}
