package health_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/servertest"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// askedFor counts attempts at an endpoint of Spotify, made just now.
func askedFor(h *servertest.Household, endpoint string, n int, outcome transport.Outcome) {
	for range n {
		h.Rollup.Attempt(transport.Attempt{Provider: "spotify", Host: "api.spotify.com", Endpoint: endpoint,
			Start: time.Now(), Took: time.Second, Outcome: outcome})
	}
}

func TestHealthPageShowsTheStateOfServices(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		page := h.Page("/health")
		require.Contains(t, page, "No service has been contacted yet")
		require.Contains(t, page, `href="/settings/services"`)

		for range 24 {
			askedFor(h, "GET /v1/me", 12, transport.Success)
			askedFor(h, "GET /v1/me/playlists", 3, transport.Success)
			time.Sleep(time.Hour)
		}
		require.Contains(t, h.Page("/health"), "No service was contacted in the last hour")
		askedFor(h, "GET /v1/me", 9, transport.Success)
		page = h.Page("/health")
		require.Contains(t, page, "All services are working")
		require.Contains(t, page, "100%")

		h.Rollup.Attempt(transport.Attempt{Provider: "email", Host: "mail.example.org", Endpoint: "SMTP",
			Start: time.Now(), Outcome: transport.WasRetriable})
		page = h.Page("/health")
		require.Contains(t, page, "E-mail</strong>", "channels have the names by which people know them")
		require.Contains(t, page, "No success in the last hour")

		askedFor(h, "GET /v1/me", 6, transport.WasRetriable)
		page = h.Page("/health")
		require.Contains(t, page, "Spotify: 40% of 15 requests failed in the last hour. Usually it&#39;s 0%.")
		require.Contains(t, page, "Spotify is failing more often than usual")
		require.NotContains(t, page, "All services are working")
		require.Less(t, strings.Index(page, ">GET /v1/me<"),
			strings.Index(page, ">GET /v1/me/playlists<"))
	})
}

// Calls of the last hour went well, and then the service refuses the installation, or the person's access, or asks for
// a wait: the page says so, as the card does, and not that all is well.
func TestHealthAgreesWithTheCards(t *testing.T) {
	held := &resilience.AnswerError{Endpoint: "GET /v1/me", Status: http.StatusTooManyRequests,
		Meaning: &resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
			Scope: resilience.ScopeApp}}
	for want, err := range map[string]error{
		"held": held,
		"needs_admin": servertest.Answer(http.StatusForbidden, resilience.Config, resilience.ScopeApp,
			"Its key is suspended."),
		"needs_reconnect": servertest.Answer(http.StatusUnauthorized, resilience.Auth, resilience.ScopeConnection, ""),
	} {
		t.Run(want, func(t *testing.T) {
			servertest.InBubble(t, func(t *testing.T) {
				h := servertest.New(t, delivery.Options{})
				askedFor(h, "GET /v1/me", 9, transport.Success)
				require.Contains(t, h.Page("/health"), "state-healthy")
				c, failed := h.DB.Connection(t.Context(), h.User, "spotify")
				require.NoError(t, failed)
				held.NotBefore = time.Now().Add(time.Hour)
				_ = h.Guard.Do(t.Context(), providers.OfConnection(c, library.Listens),
					func(context.Context, resilience.Call, providers.Adapter) error { return err })
				one := h.Call("GET", "/connections/spotify", "", 200)
				require.Equal(t, want, one["state"])
				page := h.Page("/health")
				require.Contains(t, page, "state-"+want)
				require.NotContains(t, page, "state-healthy", "neither the service nor the whole")
			})
		})
	}
}

func TestHealthPageNamesChannels(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		for range 4 {
			h.Rollup.Attempt(transport.Attempt{Provider: "email", Endpoint: "SMTP", Start: time.Now(),
				Outcome: transport.WasRetriable, Category: resilience.Network})
		}
		require.Contains(t, h.Page("/health"), "E-mail is failing more often than usual")
	})
}

func TestHealthPageOfAPastDay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		now := time.Now()
		noon := time.Date(now.Year(), now.Month(), now.Day()+1, 12, 0, 0, 0, now.Location())
		time.Sleep(time.Until(noon))
		askedFor(h, "GET /v1/me", 3, transport.Success)
		askedFor(h, "GET /v1/me", 1, transport.WasRetriable)
		time.Sleep(72 * time.Hour)
		day := noon.Format(time.DateOnly)
		page := h.Page("/health?day=" + day)
		require.Contains(t, page, noon.Format("2 January 2006"))
		require.Contains(t, page, "4 requests, 1 failed")
		require.NotContains(t, page, "Working", "how it is now says nothing of that day")
		require.Contains(t, page, `href="/health?day=`+day+`" aria-current="page"`)
		require.Contains(t, h.Page("/health?day="+noon.AddDate(0, 0, 1).Format(time.DateOnly)),
			"No service was contacted on")
		require.Contains(t, h.Page("/health?day="+time.Now().Format(time.DateOnly)), "Requests in the last 24 hours",
			"today is the last 24 hours")
		for _, none := range []string{"yesterday", noon.AddDate(0, 0, 9).Format(time.DateOnly),
			noon.AddDate(0, 0, -30).Format(time.DateOnly)} {
			require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/health?day="+none, "", "").Code, none)
		}
	})
}

func TestAdministratorResetsBreakerOnHealthPage(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		admin, ben := h.User, h.Other("Ben")
		h.OpenBreaker()
		time.Sleep(3 * time.Minute)
		page := h.Page("/health")
		require.Contains(t, page, "Spotify isn&#39;t responding")
		require.Contains(t, page, `action="/settings/server/breakers/reset"`)
		require.Contains(t, page, "3 minutes")

		h.As(ben)
		page = h.Page("/health")
		require.Contains(t, page, "Spotify isn&#39;t responding", "everybody may see it")
		require.NotContains(t, page, "breakers/reset")

		h.As(admin)
		w := submitFrom(h, "/health", "/settings/server/breakers/reset", "endpoint", "GET api.spotify.com/v1/me")
		require.Equal(t, "/health", w.Header().Get("Location"))
		require.NotContains(t, h.Page("/health"), "repeated failures")
		w = submitFrom(h, "/settings", "/settings/server/breakers/reset", "endpoint", "GET api.spotify.com/v1/me")
		require.Equal(t, "/settings/server#endpoints", w.Header().Get("Location"))
	})
}

// submitFrom sends a form with a field from a page of ours.
func submitFrom(h *servertest.Household, from, path, name, value string) *httptest.ResponseRecorder {
	h.T.Helper()
	r := httptest.NewRequestWithContext(h.T.Context(), http.MethodPost, path,
		strings.NewReader(url.Values{name: {value}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Referer", "http://"+r.Host+from)
	for _, c := range h.Session {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(h.T, http.StatusSeeOther, w.Code)
	return w
}

func TestHealthAPIForMonitors(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Empty(t, h.Call("GET", "/health", "", 200)["endpoints"])
		began := time.Now()
		askedFor(h, "GET /v1/me", 3, transport.Success)
		time.Sleep(25 * time.Hour)
		askedFor(h, "GET /v1/me", 1, transport.Success)
		askedFor(h, "GET /v1/me", 1, transport.WasRetriable)
		me := h.Call("GET", "/health", "", 200)["endpoints"].([]any)[0].(map[string]any)
		require.Equal(t, map[string]any{"attempts": 2.0, "failures": 1.0, "refused": 0.0, "failure_rate": 0.5,
			"attempts_per_success": 2.0, "mean_ms": 1000.0, "open_seconds": 0.0}, me["last_hour"])
		require.Equal(t, "steady", me["trend"])

		first := h.Call("GET",
			"/health/quarters?since="+began.UTC().Truncate(metrics.QuarterLength).Format(time.RFC3339), "", 200)
		require.Len(t, first["quarters"], 1)
		require.InDelta(t, 3, first["quarters"].([]any)[0].(map[string]any)["attempts"], 0)
		second := h.Call("GET", "/health/quarters?since="+first["next"].(string), "", 200)
		require.Len(t, second["quarters"], 1)
		require.Nil(t, second["next"])
		require.Len(t, h.Call("GET", "/health/quarters", "", 200)["quarters"], 1)
		h.Call("GET", "/health/quarters?since=yesterday", "", 400)

		key, err := db.NewKey("b25seS10aGUtdGVzdHMtdXNlLXRoaXMta2V5LTAwMzI=")
		require.NoError(t, err)
		broken, err := store.Open(t.Context(), db.Place{Dir: t.TempDir()}, key, store.Options{})
		require.NoError(t, err)
		require.NoError(t, broken.Close())
		h.Rollup = metrics.NewRollup(servertest.Catalogue, broken, h.Log)
		h.Restart()
		sick := h.Call("GET", "/health", "", 200)
		require.NotEqual(t, "ok", sick["database"])
		require.Empty(t, sick["endpoints"])
	})
}

func TestConnectionPageShowsRunsOfTheLastDay(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/connections/spotify"), "no syncs")
		keep := func(user int64, age time.Duration, r library.Run) {
			r.User, r.Connection, r.Stream, r.Started, r.Took = user, "spotify", library.Listens,
				time.Now().Add(-age), 1500*time.Millisecond
			require.NoError(t, h.DB.SaveRun(t.Context(), r))
		}
		for n := range 40 {
			keep(h.User, time.Duration(n)*time.Minute, library.Run{Result: "ok"})
		}
		keep(h.User, 2*time.Hour, library.Run{Result: "ok", Rows: 1200})
		keep(h.User, 3*time.Hour, library.Run{Result: "retriable", Category: resilience.Upstream.String(),
			Words: words.Plain("Spotify has <trouble>"), Detail: "HTTP 503"})
		keep(h.User, 4*time.Hour, library.Run{Result: "fatal", Category: resilience.Auth.String(),
			Words: words.Plain("Spotify needs to be reconnected")})
		keep(h.User, 30*time.Hour, library.Run{Result: "ok", Rows: 7777})
		keep(h.Other("Ben"), time.Hour, library.Run{Result: "ok", Rows: 5555})

		page := h.Page("/connections/spotify")
		require.Contains(t, page, "43 syncs, 1,200 new listens, 1 failed and was retried, 1 failed and needed "+
			"someone")
		for _, cell := range []string{"full", "empty", "retriable", "fatal"} {
			require.Contains(t, page, `<i class="`+cell+`" title="`)
		}
		require.Contains(t, page, `href="/connections/spotify/runs"`, "more than fit here")
		require.NotContains(t, h.Page("/connections/s3"), `class="bars"`, "nothing is read there")

		all := h.Page("/connections/spotify/runs?limit=43")
		for _, words := range []string{"1,200 new listens", "Spotify has &lt;trouble&gt;", "HTTP 503",
			"Spotify needs to be reconnected", "1.5 s"} {
			require.Contains(t, all, words)
		}
		require.NotContains(t, all, "7,777")
		require.NotContains(t, all, "5,555")
		require.Contains(t, h.Page("/connections/spotify/runs?limit=42"), ">Earlier</a>")
		require.Contains(t, h.Page("/connections/lastfm/runs"), "No syncs in the last 24 hours")

		first := h.Call("GET", "/connections/spotify/runs?limit=42", "", 200)
		second := h.Call("GET", "/connections/spotify/runs?limit=42&before="+first["next"].(string), "", 200)
		require.Nil(t, second["next"])
		last := second["runs"].([]any)[0].(map[string]any)
		require.Equal(t, "fatal", last["result"])
		require.Equal(t, "auth", last["category"])
		require.Equal(t, "Spotify needs to be reconnected", last["words"])
		require.Nil(t, last["detail"])
		require.Empty(t, h.Call("GET", "/connections/s3/runs", "", 200)["runs"])
		h.Call("GET", "/connections/youtube/runs", "", 404)
		h.Call("GET", "/connections/nobody/runs", "", 404)
		h.Call("GET", "/connections/spotify/runs?before=x", "", 400)
	})
}

func TestHoursOfAServiceAddUpItsEndpoints(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		askedFor(h, "GET /v1/me", 3, transport.Success)
		askedFor(h, "GET /v1/me/playlists", 1, transport.WasRetriable)
		require.NoError(t, h.Rollup.Flush(t.Context()))
		askedFor(h, "GET /v1/me", 2, transport.Success)
		time.Sleep(2 * time.Hour)
		askedFor(h, "GET /v1/me", 1, transport.Success)
		all := h.Call("GET", "/health/hours?provider=spotify", "", 200)["hours"].([]any)
		require.Len(t, all, 2, "an hour without calls is left out")
		first := all[0].(map[string]any)
		require.EqualValues(t, 6, first["attempts"], "stored and not stored yet")
		require.EqualValues(t, 1, first["failures"])
		require.Empty(t, h.Call("GET", "/health/hours?provider=lastfm", "", 200)["hours"])
		time.Sleep(15 * 24 * time.Hour)
		require.Empty(t, h.Call("GET", "/health/hours", "", 200)["hours"], "14 days are kept")
	})
}
