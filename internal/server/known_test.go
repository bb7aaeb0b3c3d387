package server

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers/registry"
	"reprise/web"
)

// A filter with a typing mistake would otherwise be answered with everything.
func TestUnknownParametersAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
		for path, want := range map[string]string{
			"/listens?artst=Bj%C3%B6rk":     `"artst". Did you mean "artist"?`,
			"/listens?limit=1&Before=x":     `Did you mean "before"?`,
			"/deliveries?status=dead":       `Did you mean "state"?`,
			"/notifications?opened=true":    `Did you mean "open"?`,
			"/playlists?limit=3":            "It takes none at all.",
			"/health/quarters?x=1":          "What it takes: since.",
			"/listens?limit=1;before=x":     "can't be read",
			"/connections?%FF=%zz":          "can't be read",
			"/connections?" + long + "=1":   "It takes none at all.",
			"/events?last=1":                "It takes none at all.",
			"/export/all.zip?format=csv":    "It takes none at all.",
			"/activity?conection=navidrome": `Did you mean "connection"?`,
		} {
			detail := h.call(http.MethodGet, path, "", http.StatusBadRequest)["detail"]
			require.Contains(t, detail, want, path)
			require.Less(t, len(detail.(string)), 300)
		}
	})
}

var long = strings.Repeat("é", 2000)

// Each call refuses what it does not take, and no parameter that the description names.
func TestEveryCallKnowsItsParameters(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		ask := func(method, path, query string) *httptest.ResponseRecorder {
			h.as(h.user)
			h.do(http.MethodGet, "/api/v1/playlists", "", "") // signs in
			return h.do(method, path+query, "", "")
		}
		walked := 0
		h.eachRoute(func(name, path string, _ *httptest.ResponseRecorder) {
			method, _, _ := strings.Cut(name, " ")
			if !strings.HasPrefix(path, "/api/") {
				return
			}
			call, ok := web.Calls()[name]
			require.True(t, ok, name)
			walked++
			w := ask(method, path, "?nonsense=1")
			require.Equal(t, http.StatusBadRequest, w.Code, name)
			require.Contains(t, w.Body.String(), `has no parameter \"nonsense\"`, name)
			for _, known := range call.Query {
				require.NotContains(t, ask(method, path, "?"+url.Values{known: {"1"}}.Encode()).Body.String(),
					"has no parameter", name)
			}
		})
		require.Equal(t, len(web.Calls()), walked)
	})
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		for _, one := range []struct{ method, path, body, want string }{
			{"POST", "/deliveries/redrive", `{"filter":{"stat":"dead"}}`, `Did you mean "state"?`},
			{"POST", "/deliveries/redrive", `{"dryrun":true}`, `Did you mean "dry_run"?`},
			{"PUT", "/digest", `{"on":true}`, "What it takes: enabled."},
			{"PATCH", "/connections/lastfm", `{"title":"My scrobbles"}`, "What it takes: name."},
			{"PUT", "/connections/lastfm/forwarding", `{"earlyer":true}`, `Did you mean "earlier"?`},
			{"PUT", "/connections/navidrome", `{"user":"ann"}`, "has no field"},
			{"PUT", "/connections/navidrome", `{"bucket":"music"}`, "What it takes: name, other_account."},
			{"POST", "/channels", `{"kind":"ntfy","field":{"topic":"x"}}`, `Did you mean "fields"?`},
			{"POST", "/admin/users", `{"name":"Ben","pasword":"long enough, surely"}`, `Did you mean "password"?`},
			{"POST", "/tokens", `{"name":"x","scope":"read","expires":"2030-01-01T00:00:00Z"}`, "expires_at"},
		} {
			problem := h.call(one.method, one.path, one.body, http.StatusBadRequest)
			require.Equal(t, "No such field", problem["title"], one.path)
			require.Contains(t, problem["detail"], one.want, one.path)
		}
		require.Zero(t, h.states()["scheduled"], "nothing was done")
	})
}

func TestListensOfOneArtist(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.heard("One", "Two", "Three")
		other := library.Listen{Track: library.Track{Title: "Army of Me", Artist: "Björk & <Friends>"},
			SourceID: "b", PlayedAt: time.Now().Add(-time.Hour)}
		_, err := h.db.SaveListens(t.Context(),
			library.Intake{User: h.user, Connection: "spotify", Listens: []library.Listen{other}})
		require.NoError(t, err)
		titles := func(query string) (all []any, next string) {
			answer := h.call(http.MethodGet, "/listens?"+query, "", http.StatusOK)
			for _, l := range answer["listens"].([]any) {
				all = append(all, l.(map[string]any)["track"])
			}
			next, _ = answer["next"].(string)
			return all, next
		}
		found, next := titles("artist=SIGUR+R%C3%93S&limit=2")
		require.Equal(t, []any{"Three", "Two"}, found)
		rest, end := titles("before=" + next)
		require.Equal(t, []any{"One"}, rest, "the cursor has the filter")
		require.Empty(t, end)
		rest, _ = titles("artist=SIGUR+R%C3%93S&limit=2&before=" + next)
		require.Equal(t, []any{"One"}, rest)
		h.call(http.MethodGet, "/listens?artist=Other&before="+next, "", http.StatusBadRequest)
		found, _ = titles("to=" + time.Now().Add(-30*time.Minute).UTC().Format(time.RFC3339))
		require.Equal(t, []any{"Army of Me"}, found)
		require.Contains(t, h.call(http.MethodGet, "/listens?from=yesterday", "", http.StatusBadRequest)["detail"],
			"2026-11-20T21:00:00Z")
		require.Equal(t, []any{}, h.call(http.MethodGet, "/listens?artist=Nobody", "", http.StatusOK)["listens"])

		page := h.page("/listens?artist=sigur+r%C3%B3s&limit=2")
		require.Contains(t, page, "3 listens by sigur rós, newest first.")
		require.NotContains(t, page, "Army of Me")
		earlier := regexp.MustCompile(`href="(/listens\?artist=[^"]+)" rel="next"`).FindStringSubmatch(page)
		require.Len(t, earlier, 2)
		page = h.page(html.UnescapeString(earlier[1]))
		require.Contains(t, page, "One")
		require.Contains(t, page, `<a href="/listens?artist=sigur+r%C3%B3s">Newest</a>`)
		require.Contains(t, h.page("/listens?artist=%3Cb%3E"), "No listens by &lt;b&gt;.")
		require.Contains(t, h.page("/listens"), "4 listens, newest first.")
	})
}

// curl sends as a form what it is not told to be JSON.
func TestCallsTakeJSONOnly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		h.far.refuses = "Poison"
		h.call(http.MethodPut, "/connections/lastfm/forwarding", "", http.StatusOK)
		h.hear("Poison")
		h.carry()
		for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/xml", ""} {
			w := h.do(http.MethodPost, "/api/v1/deliveries/redrive", `{"dry_run":true}`, kind)
			require.Equal(t, http.StatusUnsupportedMediaType, w.Code, kind)
			require.Contains(t, w.Body.String(), "Send JSON, with Content-Type: application/json.")
		}
		require.EqualValues(t, 1, h.states()["dead"], "nothing was sent again")
		w := h.do(http.MethodPost, "/api/v1/deliveries/redrive", `{"dry_run":true}`, "Application/JSON; charset=utf-8")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.EqualValues(t, 1, h.states()["dead"])
	})
}

// The fields of every provider are in the description, or nobody could connect it by a call.
func TestFieldsOfProvidersAreDescribed(t *testing.T) {
	t.Parallel()
	taken := web.Calls()["PUT /api/v1/connections/:id"].Body
	asked := 0
	for _, p := range registry.Descriptions() {
		for _, f := range p.Fields {
			asked++
			require.Contains(t, taken, f.Name, p.Name)
		}
	}
	require.Greater(t, asked, 8)
}
