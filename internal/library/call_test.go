package library

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACallBelongsToAStream(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"GET 127.0.0.1:44333/1/user/{name}/listens":          Listens,
		"GET api.spotify.com/v1/me/player/recently-played":   Listens,
		"GET ws.audioscrobbler.com user.getRecentTracks":     Listens,
		"GET navidrome/rest/getAlbumList2":                   Listens,
		"GET api.listenbrainz.org/1/user/{name}/playlists":   Playlists,
		"GET api.spotify.com/v1/playlists/{id}/items":        Playlists,
		"GET www.googleapis.com/youtube/v3/playlistItems":    Playlists,
		"POST api.listenbrainz.org/1/submit-listens":         Deliveries,
		"POST ws.audioscrobbler.com track.scrobble":          Deliveries,
		"POST navidrome/rest/updatePlaylist":                 Deliveries,
		"GET api.spotify.com/v1/me":                          "",
		"GET musicbrainz.org/ws/2/recording/{mbid}":          "",
		"POST accounts.spotify.com/api/token":                "",
		"GET api.listenbrainz.org/1/validate-token":          "",
		"POST api.openai.com/v1/chat/completions":            "",
		"GET i.scdn.co/{picture}":                            "",
		"GET api.listenbrainz.org/1/user/{name}/listens?x=y": Listens,
	} {
		require.Equal(t, want, StreamOf(endpoint), endpoint)
	}
}
