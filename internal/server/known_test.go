package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/registry"
	"reprise/internal/server/servertest"
)

// A filter with a typing mistake would otherwise be answered with everything.
func TestUnknownParametersAreRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Call(http.MethodGet, "/playlists", "", http.StatusOK) // signs in
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
			detail := h.Call(http.MethodGet, path, "", http.StatusBadRequest)["detail"]
			require.Contains(t, detail, want, path)
			require.Less(t, len(detail.(string)), 300)
		}
	})
}

var long = strings.Repeat("é", 2000)

// Each call refuses what it does not take, and no parameter that the description names.
func TestEveryCallKnowsItsParameters(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		ask := func(method, path, query string) *httptest.ResponseRecorder {
			h.As(h.User)
			h.Do(http.MethodGet, "/api/v1/playlists", "", "") // signs in
			return h.Do(method, path+query, "", "")
		}
		walked := 0
		eachRoute(h, func(name, path string, _ *httptest.ResponseRecorder) {
			method, _, _ := strings.Cut(name, " ")
			if !strings.HasPrefix(path, "/api/") {
				return
			}
			call, ok := servertest.Calls()[name]
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
		require.Equal(t, len(servertest.Calls()), walked)
	})
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
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
			problem := h.Call(one.method, one.path, one.body, http.StatusBadRequest)
			require.Equal(t, "No such field", problem["title"], one.path)
			require.Contains(t, problem["detail"], one.want, one.path)
		}
		require.Zero(t, h.States()["scheduled"], "nothing was done")
	})
}

// curl sends as a form what it is not told to be JSON.
func TestCallsTakeJSONOnly(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		h.Far.Refuses = "Poison"
		h.Call(http.MethodPut, "/connections/lastfm/forwarding", "", http.StatusOK)
		h.Hear("Poison")
		h.Carry()
		for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/xml", ""} {
			w := h.Do(http.MethodPost, "/api/v1/deliveries/redrive", `{"dry_run":true}`, kind)
			require.Equal(t, http.StatusUnsupportedMediaType, w.Code, kind)
			require.Contains(t, w.Body.String(), "Send JSON, with Content-Type: application/json.")
		}
		require.EqualValues(t, 1, h.States()["dead"], "nothing was sent again")
		w := h.Do(http.MethodPost, "/api/v1/deliveries/redrive", `{"dry_run":true}`, "Application/JSON; charset=utf-8")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.EqualValues(t, 1, h.States()["dead"])
	})
}

func TestABodyThatIsMissingIsAskedFor(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		problem := h.Call(http.MethodPatch, "/account", "", http.StatusBadRequest)
		require.Equal(t, "This request needs JSON as its body.", problem["detail"])
		h.Call(http.MethodPost, "/deliveries/redrive", "", http.StatusOK) // may be left out
	})
}

// The fields of every provider are in the description, or nobody could connect it by a call.
func TestFieldsOfProvidersAreDescribed(t *testing.T) {
	t.Parallel()
	taken := servertest.Calls()["PUT /api/v1/connections/:id"].Body
	asked := 0
	for _, p := range registry.Descriptions() {
		for _, f := range p.Fields {
			asked++
			require.Contains(t, taken, f.Name, p.Name)
		}
	}
	require.Greater(t, asked, 8)
}
