package fanarttv

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

const (
	bandID  = "f6f2326f-6b25-4170-b89d-e235b25508e8"
	albumID = "fbb3da10-0d5c-3f30-8c80-4b1e2e1e1a01"
	assets  = "https://assets.fanart.tv/fanart/music/" + bandID
)

var (
	band  = library.Entity{Kind: library.KindArtist, Artist: "Sigur Rós", MBID: bandID}
	album = library.Entity{Kind: library.KindAlbum, Artist: "Sigur Rós", Title: "Ágætis byrjun", MBID: albumID}
)

// healthy returns a Fanart.tv that serves the files of testdata whose names end in version.
func healthy(t *testing.T, version string) providertest.Respond {
	return providertest.Routes(map[string]providertest.Respond{
		"GET /v3/music/" + bandID:         providertest.Always(200, providertest.Golden(t, "artist"+version+".json")),
		"GET /v3/music/albums/" + albumID: providertest.Always(200, providertest.Golden(t, "album"+version+".json")),
	})
}

// asking returns a source with these settings that calls through client.
func asking(client *http.Client, settings ...string) providers.Enricher {
	return providertest.NewIn(providers.Installation{Client: client}, Describe(), settings...).Enricher
}

func of(far providertest.Respond) providers.Enricher { return asking(providertest.Client(far)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]library.Entity{"artist": band, "album": album} {
		t.Run(name, func(t *testing.T) {
			providertest.RunEnrichment(t, providertest.Enrichment{
				New: func(c *http.Client) providers.Enricher {
					return asking(c, "api_url", "https://fanart.example.org/", "client_key", "personal-key-of-geoff")
				},
				Entity: e, Nothing: []string{`{}`}, Secrets: []string{"personal-key-of-geoff"},
				Capability: providertest.Capability{Healthy: healthy(t, ""), Fine: []int{404},
					Statuses: map[int]resilience.Meaning{401: badKey, 429: tooFast}},
			})
		})
	}
}

// TestTable has one golden body per row of the error table and checks the verdict of each.
func TestTable(t *testing.T) {
	t.Parallel()
	upstream := resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
	rows := map[string]resilience.Verdict{
		"401-invalidKey":  {Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeKey},
		"429-tooMany":     {Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeKey},
		"500-error":       upstream,
		"503-unavailable": upstream,
	}
	files, err := filepath.Glob("testdata/[45]*.json")
	require.NoError(t, err)
	require.Len(t, files, len(rows)+1, "every golden refusal has its row, beside that of no art")
	providertest.Rows(t, tables(), []providers.Row{{Status: 404, Code: noArt}, {Status: 401}, {Status: 429},
		{Status: 500}, {Status: 503}})
	for name, want := range rows {
		body := providertest.Golden(t, name+".json")
		var status int
		_, err := fmt.Sscan(name[:3], &status)
		require.NoError(t, err)
		_, err = of(providertest.Always(status, body)).Enrich(t.Context(), resilience.Call{}, band)
		require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
		var refusal *resilience.AnswerError
		require.ErrorAs(t, err, &refusal)
		require.NotEmpty(t, refusal.Message)
	}
	// A refusal may come with status 200.
	_, err = of(providertest.Always(200, providertest.Golden(t, "500-error.json"))).Enrich(t.Context(),
		resilience.Call{}, band)
	require.Equal(t, upstream, resilience.VerdictOf(err), "%v", err)
}

func TestPictures(t *testing.T) {
	t.Parallel()
	wantBand := library.Facts{MBID: bandID, Name: "Sigur Rós", Pictures: []library.Picture{
		{Kind: "portrait", URL: assets + "/artistthumb/sigur-ros-2.jpg"},
		{Kind: "portrait", URL: assets + "/artistthumb/sigur-ros-1.jpg"},
		{Kind: "background", URL: assets + "/artistbackground/sigur-ros-1.jpg"},
	}}
	wantAlbum := library.Facts{MBID: albumID, Pictures: []library.Picture{
		{Kind: "cover", URL: assets + "/albumcover/agaetis-byrjun-5a1.jpg"},
		{Kind: "cover", URL: assets + "/albumcover/agaetis-byrjun-4e3.jpg"},
	}}
	for _, version := range []string{"", "-v3.2"} {
		got, err := of(healthy(t, version)).Enrich(t.Context(), resilience.Call{}, band)
		require.NoError(t, err)
		require.Equal(t, wantBand, got, version)
		got, err = of(healthy(t, version)).Enrich(t.Context(), resilience.Call{}, album)
		require.NoError(t, err)
		require.Equal(t, wantAlbum, got, version)
	}
	_, err := asking(providertest.Client(healthy(t, "")), "api_url", "https://fan art\x7f").Enrich(t.Context(),
		resilience.Call{}, band)
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}

func TestInvalidPicturesAreLeftOut(t *testing.T) {
	t.Parallel()
	var all []picture
	for i := range 9 {
		all = append(all, picture{URL: fmt.Sprintf("https://assets.example.org/%d.jpg", i), Likes: count(i)})
	}
	all = append(all, picture{Likes: 90}, picture{URL: "file:///etc/passwd", Likes: 91},
		picture{URL: "/relative.jpg", Likes: 92}, picture{URL: "https:///x", Likes: 93})
	got := best("cover", all)
	require.Len(t, got, perKind)
	require.Equal(t, library.Picture{Kind: "cover", URL: "https://assets.example.org/8.jpg"}, got[0])
}

func TestNoArtIsASuccess(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]providertest.Respond{
		"404":               providertest.Always(404, providertest.Golden(t, "404-notFound.json")),
		"the same with 200": providertest.Always(200, providertest.Golden(t, "404-notFound.json")),
		"an empty object":   providertest.Always(200, "{}\n"),
		"an empty array":    providertest.Always(200, "[]"),
		"no pictures":       providertest.Always(200, `{"name":"Sigur Rós","albums":[]}`),
		"pictures of others": providertest.Always(200,
			`{"name":"Sigur Rós","albums":{"x":{"albumcover":[{"url":"https://a/b.jpg"}]}},`+
				`"hdmusiclogo":[{"url":"https://a/b.png"}]}`),
		"a picture without it": providertest.Always(200,
			`{"name":"Sigur Rós","artistthumb":[{"likes":"3"}],"albums":null}`),
	} {
		for _, e := range []library.Entity{band, album} {
			_, err := of(far).Enrich(t.Context(), resilience.Call{}, e)
			require.ErrorIs(t, err, library.ErrNotThere, name)
		}
	}
	// Entities without an id and tracks cause no request.
	for _, e := range []library.Entity{
		{Kind: library.KindArtist, Artist: "Sigur Rós"}, {Kind: library.KindAlbum},
		{Kind: library.KindTrack, MBID: "x"}, {},
	} {
		_, err := of(func(*http.Request) (int, http.Header, string) {
			t.Error("a request")
			return 500, nil, ""
		}).Enrich(t.Context(), resilience.Call{}, e)
		require.ErrorIs(t, err, library.ErrNotThere)
	}
	// A 404 from anything but Fanart.tv does not mean that there are no pictures.
	for body, want := range map[string]resilience.Category{
		"<html></html>":        resilience.Upstream,
		"404 page not found\n": resilience.Item,
	} {
		_, err := of(providertest.Always(404, body)).Enrich(t.Context(), resilience.Call{}, band)
		require.Equal(t, want, resilience.VerdictOf(err).Category)
	}
}

// keyed returns a source with a pool of these keys, wired as in production.
func keyed(far providertest.Respond, own ...keys.Key) (providers.Enricher, *keys.Pool) {
	pool := keys.New("fanarttv", own, backoff.Options{})
	client := transport.NewClient(&keys.Transport{Base: providertest.Client(far).Transport, Pool: pool,
		Put: putKey, Advice: keyAdvice})
	return asking(client, "client_key", "personal-key"), pool
}

func TestKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well, refusals := healthy(t, ""), map[string]int{}
		var used []string
		s, pool := keyed(func(r *http.Request) (int, http.Header, string) {
			key := r.Header.Get("Api-Key")
			used = append(used, key)
			require.Equal(t, "personal-key", r.Header.Get("Client-Key"))
			require.NotContains(t, r.URL.String(), "key")
			if status := refusals[key]; status != 0 {
				return status, http.Header{"Retry-After": {"600"}}, `{"status":"error","error message":"No"}`
			}
			return well(r)
		}, keys.Key{Secret: "fanart-key-one"}, keys.Key{Secret: "fanart-key-two"})
		require.Same(t, pool, providertest.NewIn(providers.Installation{Keys: pool}, Describe()).Keys)

		// The next key is used after one is limited or refused.
		refusals["fanart-key-one"], refusals["fanart-key-two"] = 429, 401
		_, err := s.Enrich(t.Context(), resilience.Call{}, band)
		require.Equal(t, resilience.RateLimit, resilience.VerdictOf(err).Category, "%v", err)
		require.Equal(t, time.Now().Add(10*time.Minute), resilience.VerdictOf(err).NotBefore)
		require.ElementsMatch(t, []string{"fanart-key-one", "fanart-key-two"}, used)
		time.Sleep(10 * time.Minute)
		clear(refusals)
		_, err = s.Enrich(t.Context(), resilience.Call{}, band)
		require.NoError(t, err)
		require.Equal(t, "fanart-key-one", used[len(used)-1])

		// Missing pictures are not a failure.
		refusals["fanart-key-one"] = 404
		for range 3 {
			_, err := s.Enrich(t.Context(), resilience.Call{}, band)
			require.ErrorIs(t, err, library.ErrNotThere)
		}

		refusals["fanart-key-one"] = 401
		_, err = s.Enrich(t.Context(), resilience.Call{}, band)
		var short *keys.Error
		require.ErrorAs(t, err, &short)
		require.Equal(t, keyAdvice, short.Advice)
		require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth,
			Scope: resilience.ScopeApp}, resilience.VerdictOf(err))
		require.NotContains(t, err.Error(), "fanart-key")
	})
}
