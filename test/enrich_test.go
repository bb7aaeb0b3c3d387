package test

import (
	"bytes"
	"image"
	_ "image/jpeg"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// musicEnv returns the settings that point a server at the simulated MusicBrainz and Fanart.tv.
func musicEnv(w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_PROVIDERS_MUSICBRAINZ_API_URL="+w.MusicBrainz.URL,
		"REPRISE_PROVIDERS_MUSICBRAINZ_RATE=0",
		"REPRISE_PROVIDERS_FANARTTV_API_URL="+w.FanartTV.URL,
		"REPRISE_PROVIDERS_FANARTTV_KEYS="+strings.Join(w.FanartTV.Keys, ","), "REPRISE_SYNC_ENRICH_EVERY=1s")
}

// source returns the progress of an enrichment source.
func (v *person) source(provider string) object {
	v.t.Helper()
	for _, s := range v.call("GET", "/enrichment", nil, 200)["sources"].([]any) {
		if s := s.(object); s["provider"] == provider {
			return s
		}
	}
	require.Fail(v.t, "no such source", provider)
	return nil
}

// enriched waits until nothing is left to ask a source, and returns how many of its answers were found.
func (v *person) enriched(provider string) float64 {
	v.t.Helper()
	v.eventually(provider+" has been asked", func() bool {
		s := v.source(provider)
		return s["total"].(float64) > 0 && s["waiting"] == 0.0 && s["state"] != "syncing"
	})
	return v.source(provider)["done"].(float64)
}

var (
	coverOf = regexp.MustCompile(`<img class="cover" src="(/art/[0-9a-f]{64})" alt="Cover of ([^"]+)"`)
	trackOf = regexp.MustCompile(`href="(/music/track/\d+)"`)
)

func TestCoversAndFactsArrive(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 120}), t.TempDir()
	p := start(t, dir, musicEnv(w)...)
	v := p.newcomer()
	require.Contains(t, v.page("/settings/server", 200), "Nothing to look up yet.")
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	tb, _ := v.open()
	tb.next("progress", func(d object) bool { return d["provider"] == "musicbrainz" && d["stream"] == "enrichment" })
	tb.next("enrichment", func(d object) bool { return d["provider"] == "fanarttv" })
	require.Positive(t, v.enriched("musicbrainz"))
	require.Positive(t, v.enriched("fanarttv"))

	html := v.page("/listens", 200)
	cover := coverOf.FindStringSubmatch(html)
	require.NotNil(t, cover, "a listen has a cover")
	resp, err := v.Get(v.base + cover[1])
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	_, _, err = image.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, "image/jpeg", resp.Header.Get("Content-Type"))
	require.Contains(t, resp.Header.Get("Cache-Control"), "immutable")
	require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	require.NotEmpty(t, resp.Header.Get("Content-Security-Policy"))
	v.page("/art/"+strings.Repeat("0", 64), 404)
	require.Contains(t, p.visitor().page(cover[1], 200), "Sign in", "only for those who are signed in")

	path := trackOf.FindStringSubmatch(html)[1]
	page := v.page(path, 200)
	require.Contains(t, page, "https://musicbrainz.org/recording/")
	require.Contains(t, page, `rel="noreferrer"`)
	require.Contains(t, page, "First heard")
	music := v.call("GET", path, nil, 200)
	require.Equal(t, "track", music["kind"])
	require.Positive(t, music["plays"])
	v.page("/music/track/999999", 404)
	v.page("/music/cassette/1", 404)
	v.call("GET", "/music/track/x", nil, 404)

	// Another person of the household, who has not heard the music, sees none of it.
	v.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "bob", "password": password}, 201)
	bob.page(path, 404)
	bob.page("/settings/server", 403)
	require.Equal(t, v.source("musicbrainz")["total"], bob.source("musicbrainz")["total"])
	bob.submit("/settings/server/metadata/musicbrainz/retry", nil, 403)

	// After a restart no known fact is requested again.
	before := len(w.Calls(demo.FanartTV))
	require.NoError(t, p.stop(syscall.SIGTERM))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), musicEnv(w)...)
	v.enriched("fanarttv")
	require.Contains(t, v.page("/listens", 200), cover[1])
	require.Len(t, w.Calls(demo.FanartTV), before)
	for _, key := range w.FanartTV.Keys {
		require.NotContains(t, p.log.String()+v.page("/settings/server", 200), key)
	}
}

func TestAnEnrichmentSourceWithTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	require.NoError(t, w.Switch(demo.MusicBrainz, demo.Portal))
	p := start(t, t.TempDir(), append(musicEnv(w), "REPRISE_BACKOFF_BASE=10m", "REPRISE_BACKOFF_MAX=30m")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.eventually("it waits", func() bool { return v.source("musicbrainz")["state"] == "waiting" })
	require.NotNil(t, v.source("musicbrainz")["next_attempt_at"])
	require.NoError(t, w.Switch(demo.MusicBrainz, demo.Normal))
	require.Contains(t, v.page("/settings/server", 200), `action="/settings/server/metadata/musicbrainz/retry"`)
	require.Contains(t, v.submit("/settings/server/metadata/musicbrainz/retry", url.Values{}, 200),
		"Reprise is asking MusicBrainz again.")
	v.eventually("it goes on", func() bool { return v.source("musicbrainz")["done"].(float64) > 10 })
	v.submit("/settings/server/metadata/nobody/retry", url.Values{}, 404)
}

func TestEnrichmentThatIsNotSetUp(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 60}), t.TempDir()
	p := start(t, dir, append(musicEnv(w), "REPRISE_PROVIDERS_FANARTTV_KEYS=", "REPRISE_CONTACT=")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.eventually("names lead somewhere", func() bool { return trackOf.MatchString(v.page("/listens", 200)) })
	require.Contains(t, v.page(trackOf.FindStringSubmatch(v.page("/listens", 200))[1], 200),
		"No source has been asked about it yet.")
	html := v.page("/listens", 200)
	require.Contains(t, html, `<svg class="cover"`, "a listen without a cover has a placeholder")
	require.NotContains(t, html, `<img class="cover"`)
	settings := v.page("/settings/server", 200)
	require.Contains(t, settings, "Without a contact in the settings")
	require.Contains(t, settings, "Get an API key at")
	require.Equal(t, "off", v.source("musicbrainz")["state"])
	require.Empty(t, w.Calls(demo.MusicBrainz))
	require.Empty(t, w.Calls(demo.FanartTV))
	require.Empty(t, v.openAlerts())
	_, err := os.Stat(dir + "/art")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, http.StatusNotFound, v.status("/art/"+strings.Repeat("0", 64)))
}

// status returns the status code of a page.
func (v *person) status(path string) int {
	v.t.Helper()
	resp, err := v.Get(v.base + path)
	require.NoError(v.t, err)
	require.NoError(v.t, resp.Body.Close())
	return resp.StatusCode
}
