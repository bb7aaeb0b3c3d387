package demo

import (
	"bytes"
	"image/jpeg"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/fanarttv"
	"reprise/internal/providers/musicbrainz"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

func (b bundle) fanart(path, key string) reply {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.FanartTV.URL+path, nil)
	require.NoError(b.t, err)
	req.Header.Set("Api-Key", key)
	return b.send(req)
}

// transport is the program's own on the bundle's connections.
func (b bundle) transport() *transport.Transport {
	return &transport.Transport{Base: b.client.Transport, UserAgent: "Reprise/test (test@example.org)"}
}

func TestOurAdapterUnderstandsMusicBrainz(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{RetryAfter: 90 * time.Second})
	source := providertest.NewIn(providers.Installation{Client: transport.NewClient(b.transport())},
		musicbrainz.Describe(), "api_url", b.MusicBrainz.URL).Enricher
	cat := theCatalog()
	count := map[string]int{}
	enrich := func(e library.Entity) (facts library.Facts, err error) {
		facts, err = source.Enrich(t.Context(), resilience.Call{}, e)
		if err == nil {
			count[e.Kind]++
			require.NotEmpty(t, facts.Tags)
			require.NotContains(t, facts.Tags, "seen live")
			again, err := source.Enrich(t.Context(), resilience.Call{}, library.Entity{Kind: e.Kind, MBID: facts.MBID})
			require.NoError(t, err)
			require.Equal(t, facts, again, "by its id, and by its name")
		}
		return facts, err
	}
	for _, a := range cat.albums {
		facts, err := enrich(library.Entity{Kind: library.KindArtist, Artist: a.artist})
		require.NoError(t, err, a.artist)
		require.Equal(t, artistMBID(a.artist), facts.MBID)
		facts, err = enrich(library.Entity{Kind: library.KindAlbum, Artist: a.artist, Title: a.title})
		require.NoError(t, err, a.title)
		require.Equal(t, []string{a.groupMBID(), a.title, a.released()},
			[]string{facts.MBID, facts.Name, facts.Released})
		for _, id := range a.tracks {
			tr := cat.tracks[id]
			e := library.Entity{
				Kind:     library.KindTrack,
				Artist:   a.artist,
				Title:    tr.title,
				Album:    a.title,
				Duration: tr.duration,
			}
			if id%2 == 0 {
				e.Duration, e.ISRC = 0, tr.isrc
			}
			facts, err := enrich(e)
			if unmatched(id) {
				require.ErrorIs(t, err, library.ErrNotThere)
				continue
			}
			require.NoError(t, err, tr.title)
			require.Equal(t, []string{tr.mbid, tr.title}, []string{facts.MBID, facts.Name})
		}
	}
	require.Equal(t, map[string]int{
		"artist": len(cat.albums),
		"album":  len(cat.albums),
		"track":  len(cat.tracks) - (len(cat.tracks)+3)/11,
	}, count)

	_, err := enrich(library.Entity{Kind: library.KindAlbum, Artist: "Björk", Title: "Dummy"})
	require.ErrorIs(t, err, library.ErrNotThere)
	_, err = enrich(library.Entity{Kind: library.KindTrack, MBID: uuid("nobody")})
	require.Equal(t, resilience.Item, resilience.VerdictOf(err).Category)
	require.Equal(t, 400, b.get(b.MusicBrainz.URL+"/ws/2/artist?query=", "").status)
	b.switchTo(MusicBrainz, Unavailable)
	_, err = enrich(library.Entity{Kind: library.KindArtist, Artist: "Björk"})
	v := resilience.VerdictOf(err)
	require.Equal(t, resilience.RateLimit, v.Category)
	require.WithinDuration(t, time.Now().Add(90*time.Second), v.NotBefore, 30*time.Second)
}

func TestOurAdapterUnderstandsFanartTV(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	pool := keys.New(FanartTV, []keys.Key{
		{Secret: resilience.Secret(b.FanartTV.Keys[0])},
		{Secret: resilience.Secret(b.FanartTV.Keys[1])},
	}, backoff.Options{})
	client := transport.NewClient(
		&keys.Transport{Base: b.transport(), Pool: pool, Put: fanarttv.Describe().Pool.Put},
	)
	source := providertest.NewIn(providers.Installation{Client: client},
		fanarttv.Describe(), "api_url", b.FanartTV.URL).Enricher
	kinds, without := map[string]int{}, 0
	seen := map[string]bool{}
	for _, a := range theCatalog().albums {
		for _, e := range []library.Entity{
			{Kind: library.KindArtist, MBID: artistMBID(a.artist)},
			{Kind: library.KindAlbum, MBID: a.groupMBID()},
		} {
			facts, err := source.Enrich(t.Context(), resilience.Call{}, e)
			if err != nil {
				require.ErrorIs(t, err, library.ErrNotThere)
				without++
				continue
			}
			for _, p := range facts.Pictures {
				kinds[p.Kind]++
				require.False(t, seen[p.URL])
				seen[p.URL] = true
			}
			best := facts.Pictures[0]
			require.Contains(t, best.URL, "/2.jpg", "the one that is liked best")
			if len(seen)%10 > 1 { // a few are enough: each takes its time to draw
				continue
			}
			drawn, again := b.get(best.URL, ""), b.get(best.URL, "")
			require.Equal(t, "image/jpeg", drawn.header.Get("Content-Type"))
			require.Equal(t, drawn.body, again.body)
			require.Less(t, len(drawn.body), 40<<10)
			img, err := jpeg.Decode(bytes.NewReader([]byte(drawn.body)))
			require.NoError(t, err)
			require.Equal(t, pictureHeight, img.Bounds().Dy())
		}
	}
	require.Positive(t, without)
	for _, kind := range []string{"cover", "portrait", "background"} {
		require.Greater(t, kinds[kind], 20, kind)
	}

	// A key that is limited, or refused, is followed by the next.
	band := library.Entity{Kind: library.KindArtist, MBID: artistMBID("Björk")}
	b.switchTo(FanartTV, KeySpent)
	for range 2 {
		_, err := source.Enrich(t.Context(), resilience.Call{}, band)
		require.NoError(t, err)
	}
	b.switchTo(FanartTV, KeyInvalid)
	_, err := source.Enrich(t.Context(), resilience.Call{}, band)
	require.Equal(t, resilience.RateLimit, resilience.VerdictOf(err).Category, "%v", err)
	require.Equal(t, 401, b.fanart("/v3/music/"+band.MBID, "somebody-else").status)
	require.Equal(t, 404, b.fanart("/v3/music/"+uuid("nobody"), b.FanartTV.Keys[0]).status)
	require.NotContains(t, b.FanartTV.keyCalls(), 0)
}
