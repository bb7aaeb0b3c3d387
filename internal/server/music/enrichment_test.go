package music_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/alerts"
	"reprise/internal/art"
	"reprise/internal/delivery"
	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/servertest"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// facts is a source of facts that these tests do not call; they store its answers.
type facts struct{}

func (facts) Enrich(context.Context, resilience.Call, library.Entity) (library.Facts, error) {
	return library.Facts{}, library.ErrNotThere
}

// enriched gives a household two sources, the second one not set up, and a cache of pictures.
func enriched(h *servertest.Household) (guard *syncer.Guard, source *providers.Provider) {
	h.T.Helper()
	var err error
	h.Art, err = art.Open(art.Options{Dir: h.T.TempDir(), Most: 1 << 20})
	require.NoError(h.T, err)
	told := alerts.New(alerts.Options{Store: h.DB, Notifier: notify.New(h.DB, h.Bus, nil), Bus: h.Bus, Log: h.Log})
	guard = syncer.NewGuard(syncer.GuardOptions{Backoff: backoff.New(backoff.Options{}), Keys: h.DB,
		Alerts: told, Log: h.Log})
	source = &providers.Provider{Description: providers.Description{Name: "musicbrainz",
		DisplayName: "MusicBrainz", Streams: []string{library.Enrichment},
		Enriches: &providers.Enriches{Kinds: []string{library.KindArtist}}}, Enricher: facts{}}
	h.Guard = guard
	missing := &providers.Provider{Description: providers.Description{Name: "fanarttv", DisplayName: "Fanart.tv",
		Enriches: &providers.Enriches{SettingUp: words.Plain("Get a key first.")}},
		Missing: []string{"providers.fanarttv.keys"}}
	h.Services = providers.NewRegistry(source, missing)
	h.Enrichment = enrich.New(enrich.Config{
		Services: h.Services,
		Store:    h.DB,
		Guard:    guard,
		Bus:      h.Bus,
		Log:      h.Log,
	})
	h.Restart()
	return guard, source
}

// sourceOf returns the first source from the API.
func sourceOf(h *servertest.Household) map[string]any {
	h.T.Helper()
	return h.Call(http.MethodGet, "/enrichment", "", http.StatusOK)["sources"].([]any)[0].(map[string]any)
}

func TestStatesOfASourceOfFacts(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Empty(t, h.Call(http.MethodGet, "/enrichment", "", http.StatusOK)["sources"])
		require.NotContains(t, h.Page("/settings/server"), `id="enrichment"`)
		guard, source := enriched(h)
		fails := func(m resilience.Meaning, notBefore time.Time) {
			t.Helper()
			err := &resilience.AnswerError{Endpoint: "GET /", Status: http.StatusServiceUnavailable,
				NotBefore: notBefore, Meaning: &m}
			require.Error(t, guard.Do(t.Context(), providers.OfInstallation(source, library.Enrichment),
				func(context.Context, resilience.Call, providers.Adapter) error { return err }))
		}
		require.Equal(t, "healthy", sourceOf(h)["state"])
		require.Nil(t, sourceOf(h)["category"])
		require.Contains(t, sourceOf(h), "category", "as connections have it")
		require.Contains(t, h.Page("/settings/server"), "Nothing to look up yet.")
		require.NotContains(t, h.Page("/settings/server"), "/retry")

		h.Heard("Rain")
		for range 2 {
			_, err := h.DB.Enqueue(t.Context(), "musicbrainz", []string{library.KindArtist, library.KindTrack}, "")
			require.NoError(t, err)
		}
		require.Contains(t, h.Page("/settings/server"), "2 are still to be looked up. Reprise continues in a moment.")
		require.EqualValues(t, 2, sourceOf(h)["total"])

		for range 2 {
			task, err := h.DB.NextTask(t.Context(), "musicbrainz")
			require.NoError(t, err)
			require.NoError(t, h.DB.SaveOutcome(t.Context(), enrich.Outcome{Task: task, State: enrich.Waiting,
				Failures: 1, Due: time.Now().Add(50 * time.Minute), Reason: "refused"}))
		}
		require.Contains(t, h.Page("/settings/server"), "2 lookups failed")
		require.Equal(t, library.Stamp(time.Now().Add(50*time.Minute)), sourceOf(h)["next_attempt_at"])
		require.Contains(t, h.Page("/settings/server"), "/retry")
		h.Submit("/settings/server/metadata/musicbrainz/retry", http.StatusSeeOther)
		require.Contains(t, h.Page("/settings/server"), "2 are still to be looked up.")

		until := time.Now().Add(time.Hour)
		fails(resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
			Scope: resilience.ScopeApp}, until)
		require.Equal(t, "held", sourceOf(h)["state"])
		require.Equal(t, "rate_limit", sourceOf(h)["category"])
		require.Equal(t, library.Stamp(until), sourceOf(h)["next_attempt_at"])
		require.NotContains(t, h.Page("/settings/server"), "/retry", "what was dictated is not lifted")
		h.Submit("/settings/server/metadata/musicbrainz/retry", http.StatusSeeOther)
		require.Contains(t, h.Page("/settings/server"), "MusicBrainz is limiting requests.")

		time.Sleep(2 * time.Hour)
		fails(resilience.Meaning{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp,
			Advice: words.Plain("Set contact.")}, time.Time{})
		require.Equal(t, "needs_admin", sourceOf(h)["state"])
		require.Equal(t, "config", sourceOf(h)["category"])
		require.Contains(t, h.Page("/settings/server"), "Set contact.")
		h.Submit("/settings/server/metadata/musicbrainz/retry", http.StatusSeeOther)
		require.Contains(t, h.Page("/settings/server"), "Reprise is asking MusicBrainz again.")
		h.Submit("/settings/server/metadata/fanarttv/retry", http.StatusNotFound)
		html := h.Page("/settings/server")
		require.Contains(t, html, "Get a key first.")
		require.Contains(t, html, "providers.fanarttv.keys")

		h.As(h.Other("Bob"))
		h.Call(http.MethodGet, "/admin/settings", "", http.StatusForbidden)
		h.Submit("/settings/server/metadata/musicbrainz/retry", http.StatusForbidden)
		require.Len(t, h.Call(http.MethodGet, "/enrichment", "", http.StatusOK)["sources"], 2,
			"counts are no secret")
	})
}

// full is a database on a full disk.
type full struct{ enrich.Store }

func (full) NextTask(context.Context, string) (enrich.Task, error) {
	return enrich.Task{}, &resilience.LocalError{Problem: words.Plain("The disk is full. Make room on it."),
		Err: errors.New("full")}
}

func TestLocalTroubleIsShownWithTheSource(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		guard, _ := enriched(h)
		h.Enrichment = enrich.New(enrich.Config{
			Services: h.Services,
			Store:    full{h.DB},
			Guard:    guard,
			Bus:      h.Bus,
			Log:      h.Log,
		})
		h.Restart()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.NoError(t, h.Enrichment.Run(ctx)) })
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "needs_admin", sourceOf(h)["state"])
		require.Equal(t, "unknown", sourceOf(h)["category"])
		page := h.Page("/settings/server")
		require.Contains(t, page, "The disk is full. Make room on it.")
		require.Contains(t, page, "/retry")
		require.NotContains(t, page, "in a moment")
		cancel()
		running.Wait()
	})
}

func TestMusicPageShowsFactsAndTheirSources(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		enriched(h)
		h.Heard("Rain", "Rain")
		for _, source := range []string{"musicbrainz", "fanarttv"} {
			_, err := h.DB.Enqueue(t.Context(), source, []string{library.KindArtist}, "")
			require.NoError(t, err)
		}
		picture, err := h.Art.Keep([]byte("GIF89a and so on"))
		require.NoError(t, err)
		for source, told := range map[string]struct {
			library.Facts
			picture string
		}{
			"musicbrainz": {Facts: library.Facts{MBID: "f6f2326f", Released: "1994-08",
				Tags: []string{"post-rock", "<b>ambient</b>"}, Name: "Sigur Ros"}},
			"fanarttv": {Facts: library.Facts{MBID: "f6f2326f", Name: "Sigur Ros"}, picture: picture},
		} {
			task, err := h.DB.NextTask(t.Context(), source)
			require.NoError(t, err)
			require.NoError(t,
				h.DB.SaveOutcome(t.Context(), enrich.Outcome{Task: task, State: enrich.Done,
					Due: time.Now().Add(time.Hour), Facts: told.Facts, Picture: told.picture}))
		}
		listens := h.Page("/listens")
		require.Contains(t, listens, `<img class="cover portrait" src="/art/`+picture+`" alt="Sigur Rós"`)
		links, err := h.DB.Links(t.Context(), []library.Track{{Artist: "Sigur Rós", Title: "Rain"}})
		require.NoError(t, err)
		path := "/music/artist/" + strconv.FormatInt(links[0].Artist, 10)
		require.Contains(t, listens, `<a href="`+path+`">Sigur Rós</a>`)
		html := h.Page(path)
		for _, part := range []string{">2</a>", "<dt>Last heard</dt>", "August 1994", "from MusicBrainz",
			"Fanart.tv", "&lt;b&gt;ambient", "Sigur Ros",
			`<a href="https://musicbrainz.org/artist/f6f2326f" target="_blank" rel="noreferrer">`,
			`src="/art/` + picture,
			"<h2>Your listens</h2>", `<a href="/listens?artist=` +
				strconv.FormatInt(links[0].Artist, 10) + `">Show all 2 listens</a>`} {
			require.Contains(t, html, part)
		}
		music := h.Call(http.MethodGet, path, "", http.StatusOK)
		told := music["sources"].([]any)
		require.Equal(t, []any{"mbid", "released", "tags", "name"}, told[0].(map[string]any)["tells"])
		require.Equal(t, []any{"picture"}, told[1].(map[string]any)["tells"],
			"the first who tells of a fact is its source")

		track := "/music/track/" + strconv.FormatInt(links[0].Track, 10)
		require.Contains(t, h.Page(track), `Track by <a href="`+path+`">Sigur Rós</a>`)
		require.Equal(t, "/art/"+picture, h.Call(http.MethodGet, track, "", http.StatusOK)["picture"],
			"its artist's, for want of a cover")
		w := h.Do(http.MethodGet, "/art/"+picture, "", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "image/gif", w.Header().Get("Content-Type"))

		// A page does not link to a picture that the cache has dropped.
		h.Art, err = art.Open(art.Options{Dir: t.TempDir()})
		require.NoError(t, err)
		h.Restart()
		require.NotContains(t, h.Page("/listens")+h.Page(path), "<img")
		h.Art = nil
		h.Restart()
		require.NotContains(t, h.Page("/listens")+h.Page(path), "<img")
	})
}

func TestSourceThatWasNotAskedIsShownAsSuch(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		enriched(h)
		h.Heard("Rain")
		for source, needs := range map[string]string{"musicbrainz": "", "fanarttv": "musicbrainz"} {
			_, err := h.DB.Enqueue(t.Context(), source, []string{library.KindArtist}, needs)
			require.NoError(t, err)
		}
		task, err := h.DB.NextTask(t.Context(), "musicbrainz")
		require.NoError(t, err)
		path := "/music/artist/" + strconv.FormatInt(task.ID, 10)
		answers := func(o enrich.Outcome) string {
			t.Helper()
			o.Task, o.Then, o.Due = task, []string{"fanarttv"}, time.Now().Add(time.Hour)
			require.NoError(t, h.DB.SaveOutcome(t.Context(), o))
			return h.Page(path)
		}
		require.NotContains(t, h.Page(path), "Not found")
		html := answers(enrich.Outcome{State: enrich.Waiting, Failures: 1, Reason: "refused"})
		require.Contains(t, html, "No answer")
		require.Contains(t, html, "not asked yet")
		html = answers(enrich.Outcome{State: enrich.NotThere})
		require.Contains(t, html, "Not found")
		require.Contains(t, html, "not asked yet", "without an id there is nothing to ask Fanart.tv for")
	})
}

// A link that somebody kept leads on to what the artist has joined since.
func TestAnOldLinkLeadsToWhatWasJoined(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		enriched(h)
		h.Heard("Rain")
		_, err := h.DB.SaveListens(t.Context(), library.Intake{User: h.User, Connection: "spotify",
			Listens: []library.Listen{{SourceID: "untitled", PlayedAt: time.Now(),
				Track: library.Track{Artist: "Victory Rose"}}}})
		require.NoError(t, err)
		links, err := h.DB.Links(t.Context(), []library.Track{{Artist: "Sigur Rós"}, {Artist: "Victory Rose"}})
		require.NoError(t, err)
		kept, old := "/music/artist/"+strconv.FormatInt(links[0].Artist, 10),
			"/music/artist/"+strconv.FormatInt(links[1].Artist, 10)
		require.Contains(t, h.Page("/listens"), `href="`+old+`"`)
		require.Contains(t, h.Page(old), "Victory Rose", "heard only in a play without a title")
		for _, l := range links {
			require.NoError(t, h.DB.SaveOutcome(t.Context(), enrich.Outcome{Task: enrich.Task{ID: l.Artist,
				Source: "musicbrainz", Entity: library.Entity{Kind: library.KindArtist}}, State: enrich.Done,
				Facts: library.Facts{MBID: "f6f2326f-f405-4038-ad93-0da7d8d5a1b4"}}))
		}
		w := h.Do(http.MethodGet, old, "", "")
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, kept, w.Header().Get("Location"))
		require.Regexp(t, `<dt>Listens</dt><dd><a[^>]*>2</a>`, h.Page(kept))
		require.Equal(t, kept, "/music/artist/"+h.Call(http.MethodGet, old, "", http.StatusOK)["id"].(string))
	})
}
