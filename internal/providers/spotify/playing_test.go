package spotify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
)

// The answers have the fields of Spotify's reference of GET /me/player/currently-playing.
func TestNowPlaying(t *testing.T) {
	t.Parallel()
	const item = `"item":{"type":"track","id":"x","name":"Jóga","duration_ms":305000,"artists":[{"name":"Björk"}]}}`
	for name, c := range map[string]struct {
		status int
		body   string
		title  string
		left   time.Duration
		err    error
	}{
		"a track":              {200, `{"is_playing":true,"progress_ms":5000,` + item, "Jóga", 5 * time.Minute, nil},
		"longer than it lasts": {200, `{"is_playing":true,"progress_ms":400000,` + item, "Jóga", time.Second, nil},
		"paused":               {200, `{"is_playing":false,"progress_ms":5000,` + item, "", 0, nil},
		"an advertisement":     {200, `{"is_playing":true,"item":null}`, "", 0, nil},
		"a podcast":            {200, `{"is_playing":true,"item":{"type":"episode","name":"News"}}`, "", 0, nil},
		"nothing":              {204, ``, "", 0, nil},
		"not permitted": {403, `{"error":{"message":"Insufficient client scope"}}`, "", 0,
			providers.ErrNotOffered},
	} {
		p, err := open(providertest.Always(c.status, c.body)).NowPlaying(t.Context())
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.title, p.Title, name)
		require.Equal(t, c.left, p.Left, name)
	}
	_, err := open(providertest.Always(401, `{"error":{"message":"The access token expired"}}`)).NowPlaying(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, providers.ErrNotOffered)
	_, err = open(providertest.Always(200, `[]`)).NowPlaying(t.Context())
	require.ErrorContains(t, err, "currently-playing")
}
