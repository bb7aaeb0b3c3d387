package navidrome_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
)

func TestNowPlayingIsThatOfTheAccount(t *testing.T) {
	t.Parallel()
	f := newFar(t, map[string][]string{"getNowPlaying": {"now_playing.json", "done.json"}})
	a := f.open().(providers.PlayingSource)
	p, err := a.NowPlaying(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Jóga", p.Title)
	require.Equal(t, "Symfonium [Pixel]", p.With)
	require.Equal(t, 245*time.Second, p.Left)
	p, err = a.NowPlaying(t.Context())
	require.NoError(t, err)
	require.Empty(t, p.Title, "nothing plays")
}

func TestWhatIsPlayingIsNoPlay(t *testing.T) {
	t.Parallel()
	f := newFar(t, map[string][]string{"scrobble": {"done.json"}})
	require.NoError(t, f.open().(providers.PlayingTaker).Playing(t.Context(), library.Track{SourceID: "tr-1"}))
	sent := f.of("scrobble")[0]
	require.Equal(t, []string{"false"}, sent["submission"])
	require.Equal(t, url.Values{"id": {"tr-1"}}["id"], sent["id"])
	require.Empty(t, sent["time"])
}
