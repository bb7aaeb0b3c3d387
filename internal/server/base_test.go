package server_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"reprise/internal/delivery"
	"reprise/internal/server"
	"reprise/internal/server/servertest"
)

const below = "/music" // the path of base_url, which sections of ours also begin with

// atPath returns a household whose server is reached at a path of its host.
func atPath(t *testing.T) *servertest.Household {
	h := servertest.New(t, delivery.Options{})
	h.BaseURL = "https://music.example.org" + below
	h.Restart()
	h.Heard("Svefn-g-englar", "Starálfur")
	return h
}

// within reports whether an address that a browser follows stays below the path.
func within(address string) bool {
	return !strings.HasPrefix(address, "/") || strings.HasPrefix(address, below+"/")
}

// links returns the links of a page. Every address in it has to be below the path; only what a form sends isn't one.
func links(t *testing.T, name string, page []byte) (all []string) {
	t.Helper()
	for z := html.NewTokenizer(bytes.NewReader(page)); z.Next() != html.ErrorToken; {
		for _, a := range z.Token().Attr {
			if a.Key != "value" && a.Key != "datetime" {
				require.True(t, within(a.Val), `%s has %s="%s"`, name, a.Key, a.Val)
			}
			if a.Key == "href" && strings.HasPrefix(a.Val, "/") {
				to, _, _ := strings.Cut(a.Val, "#")
				all = append(all, to)
			}
		}
	}
	return all
}

// shown requires that everything in an answer leads below the path, and returns where a page leads.
func shown(t *testing.T, name string, w *httptest.ResponseRecorder) []string {
	t.Helper()
	require.True(t, within(w.Header().Get("Location")), "%s leads to %s", name, w.Header().Get("Location"))
	if _, to, ok := strings.Cut(w.Header().Get("Refresh"), "url="); ok {
		require.True(t, within(to), "%s goes on to %s", name, to)
	}
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		return nil
	}
	return links(t, name, w.Body.Bytes())
}

func TestEveryAddressIsBelowThePath(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := atPath(t)
		walked := 0
		eachRoute(h, func(name, _ string, w *httptest.ResponseRecorder) {
			if len(shown(t, name, w)) > 0 {
				walked++
			}
			if name == "POST /logout" {
				h.As(h.User)
			}
		})
		require.Greater(t, walked, 50)

		// The pages as they are found by following links lead to each other.
		known := []string{below + "/", below + "/settings/server", below + "/listens?q=nothing"}
		for i := 0; i < len(known) && i < 300; i++ {
			w := h.Do(http.MethodGet, known[i], "", "")
			require.NotEqual(t, http.StatusNotFound, w.Code, known[i])
			for _, to := range shown(t, known[i], w) {
				if !slices.Contains(known, to) {
					known = append(known, to)
				}
			}
		}
		require.Greater(t, len(known), 50)

		h.As(0) // the pages before somebody has signed in
		for _, path := range []string{"/login", "/offline", "/nowhere", "/"} {
			shown(t, path, h.Do(http.MethodGet, below+path, "", ""))
		}
	})
}

// Proxies pass the path on or remove it. The name of the path can be that of pages, too.
func TestARequestWithOrWithoutThePath(t *testing.T) {
	t.Parallel()
	h := atPath(t)
	artist := servertest.Text(h.Do(http.MethodGet, "/music/music/artist/1", "", ""))
	require.Contains(t, artist, "Sigur Rós")
	require.Equal(t, artist, h.Page("/music/artist/1"), "a proxy has removed the path")
	for path, want := range map[string]int{"/music": 200, "/music/": 200, "/": 200, "/music/listens": 200,
		"/listens": 200, "/musical": 404, "/music/nowhere": 404, "/music/livez": 200, "/livez": 200,
		"/music/sw.js":          200,
		"/music/static/app.css": 200, "/static/app.css": 200, "/music/manifest.webmanifest": 200, "/music//livez": 404,
		"/music/api/v1/listens": 200, "/api/v1/listens": 200, "/music/api/v1/nowhere": 404, "/%6dusic/livez": 404} {
		require.Equal(t, want, h.Do(http.MethodGet, path, "", "").Code, path)
	}
	require.Contains(t, h.Do(http.MethodGet, "/music/api/v1/openapi.yaml", "", "").Body.String(), "../v1")
}

func TestFormsLeadBackBelowThePath(t *testing.T) {
	t.Parallel()
	h := atPath(t)
	w := h.Submit("/music/language", http.StatusSeeOther, "language", "de", "return_to", "/listens?q=x")
	require.Equal(t, "/music/listens?q=x", w.Header().Get("Location"))
	w = h.Knock(http.MethodPost, "/music/address/keep", "Referer", "https://music.example.org/music/music/artist/1")
	require.Equal(t, "/music/music/artist/1", w.Header().Get("Location"), "back to where the form was")
	w = h.Knock(http.MethodGet, "/music/search?q=sigur", "X-Reprise-Refresh", "/music/search")
	require.Regexp(t, `href="/music/search" [^>]*aria-current="page"`, servertest.Text(w))
	h.As(0)
	w = h.Do(http.MethodGet, "/music/listens?q=x", "", "")
	require.Equal(t, "/music/login?after=%2Flistens%3Fq%3Dx", w.Header().Get("Location"))
}

func TestThePathChangesWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	h := atPath(t)
	require.Contains(t, h.Page("/music/listens"), `href="/music/playlists"`)
	for base, path := range map[string]string{"https://music.example.org": "", "https://example.org/a/b": "/a/b"} {
		require.NoError(t, h.Configure(server.Reach{BaseURL: base}))
		require.Contains(t, h.Page(path+"/listens"), `href="`+path+`/playlists"`)
		require.Equal(t, http.StatusNotFound, h.Do(http.MethodGet, "/music/listens", "", "").Code)
	}
}

// A server that passes requests on has the path in them, too.
func TestAServerThatDoesNotLeadKnowsThePath(t *testing.T) {
	t.Parallel()
	f, err := server.NewFront("1.2.3", "https://music.example.org/music")
	require.NoError(t, err)
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		return w
	}
	for _, to := range links(t, "the page", ask("/music/listens").Body.Bytes()) {
		require.Equal(t, strings.Contains(to, "/static/"), f.Has(to), to)
	}
	require.Equal(t, "application/problem+json", ask("/music/api/v1/listens").Header().Get("Content-Type"))
}
