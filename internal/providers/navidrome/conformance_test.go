package navidrome_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/demotest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

var geoff = library.Credentials{"url": "https://music.example.org/music/", "username": "geoff",
	"password": "correct-horse-battery"}

// navidromeRoutes answers as Navidrome 0.63 does, at /music.
func navidromeRoutes(t testing.TB) map[string]providertest.Respond {
	t.Helper()
	answer := func(name string) providertest.Respond { return providertest.Always(200, providertest.Golden(t, name)) }
	return map[string]providertest.Respond{
		"/music/rest/ping.view":                      answer("ping_navidrome.json"),
		"/music/rest/getOpenSubsonicExtensions.view": answer("extensions.json"),
		"/music/rest/getPlaylists.view":              answer("playlists.json"),
		"/music/rest/getPlaylist.view":               answer("playlist.json"),
		"/music/rest/search3.view":                   answer("search.json"),
		"/music/rest/scrobble.view":                  answer("done.json"),
		"/music/rest/getStarred2.view":               answer("starred.json"),
		"/music/rest/star.view":                      answer("done.json"),
		"POST /music/auth/login":                     answer("login.json"),
		"GET /music/api/song":                        answer("songs.json"),
		"GET /music/api/scrobble": func(*http.Request) (int, http.Header, string) {
			return 200, http.Header{"X-Total-Count": {"3"}, "X-Nd-Authorization": {"token-two"}},
				providertest.Golden(t, "scrobbles.json")
		},
	}
}

// albumRoutes answers as another server that reports when songs were played.
func albumRoutes(t testing.TB) map[string]providertest.Respond {
	t.Helper()
	routes := navidromeRoutes(t)
	for path := range routes {
		if path[0] != '/' {
			delete(routes, path)
		}
	}
	routes["/music/rest/ping.view"] = providertest.Always(200, providertest.Golden(t, "ping_other.json"))
	routes["/music/rest/search3.view"] = providertest.Always(200, providertest.Golden(t, "search_other.json"))
	routes["/music/rest/scrobble.view"] = providertest.Always(200, providertest.Golden(t, "done_other.json"))
	routes["/music/rest/getAlbumList2.view"] = providertest.Always(200, providertest.Golden(t, "album_list.json"))
	routes["/music/rest/getAlbum.view"] = func(req *http.Request) (int, http.Header, string) {
		return 200, nil, providertest.Golden(t, "album_"+req.FormValue("id")[3:]+".json")
	}
	return routes
}

// aboutTheCall is the meaning of a status that concerns the call and not a play.
var aboutTheCall = resilience.Meaning{Class: resilience.Fatal, Category: resilience.Contract,
	Scope: resilience.ScopeStream}

// passing is the meaning of a 404 from a proxy whose server is restarting.
var passing = resilience.Meaning{Class: resilience.Retriable, Category: resilience.Upstream,
	Scope: resilience.ScopeStream, FatalAfter: 10}

func TestConformance(t *testing.T) {
	const list = "2oLgAYDkWcN0LNPHGM5nLr"
	older := navidromeRoutes(t)
	delete(older, "GET /music/api/scrobble")
	servers := map[string]struct {
		routes  map[string]providertest.Respond
		learned library.Credentials
		// A missing list of plays is not a fault of an older server.
		faults func(*http.Request) bool
	}{
		"every play": {nil, library.Credentials{"auth": "token", "form": "yes", "native": "yes"}, nil},
		"last plays": {older, library.Credentials{"auth": "token", "native": "yes"},
			func(req *http.Request) bool { return req.URL.Path != "/music/api/scrobble" }},
		"albums":      {albumRoutes(t), library.Credentials{"auth": "password", "form": "yes", "native": "no"}, nil},
		"not learned": {albumRoutes(t), nil, nil},
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			healthy := providertest.Capability{Statuses: map[int]resilience.Meaning{404: passing}}
			if server.routes != nil { // else it is simulated
				healthy.Healthy = providertest.Routes(server.routes)
			}
			lists := healthy
			lists.Fine = []int{http.StatusNotImplemented}
			if server.learned == nil {
				lists.Fine = nil // the first request is the ping, which servers cannot disable
			}
			plays := lists
			plays.Faults = server.faults
			sent := lists
			if server.routes == nil { // the plays are of songs that it has
				sent.Healthy = providertest.Routes(navidromeRoutes(t))
			}
			sent.Statuses = map[int]resilience.Meaning{400: aboutTheCall, 404: passing, 410: aboutTheCall,
				422: aboutTheCall}
			providertest.Run(t, providertest.Suite{
				Provider:    providertest.New(navidrome.Describe()),
				Credentials: merge(geoff, server.learned),
				Span:        library.Span{After: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
				Playlist:    library.Playlist{SourceID: list},
				Prove:       healthy, Listens: plays, Playlists: lists, Tracks: lists, Submit: sent,
				Loves: lists, Love: sent, Songs: lists,
				Loved: library.Love{Title: "Set Fire to the Rain", Artist: "Adele", Score: 1, SourceID: "tr-1"},
				Simulated: func(t *testing.T) (http.RoundTripper, library.Credentials) {
					w, far := demotest.Start(t, demo.Navidrome, list, nil)
					return far, merge(server.learned, library.Credentials{"url": w.Navidrome.URL,
						"username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)})
				},
			})
		})
	}
}

// TestErrorTable has a golden answer for each row of the table.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	verdict := func(c resilience.Class, g resilience.Category, s resilience.Scope) resilience.Verdict {
		return resilience.Verdict{Class: c, Category: g, Scope: s}
	}
	generic := verdict(resilience.Retriable, resilience.Upstream, resilience.ScopeStream)
	generic.FatalAfter = 10
	ourMistake := verdict(resilience.Fatal, resilience.Contract, resilience.ScopeStream)
	config := verdict(resilience.Fatal, resilience.Config, resilience.ScopeConnection)
	rows := []struct {
		golden string
		status int
		code   string
		want   resilience.Verdict
	}{
		{"error_0.json", 200, "0", generic},
		{"error_10.json", 200, "10", ourMistake},
		{"error_20.json", 200, "20", ourMistake},
		{"error_30.json", 200, "30", ourMistake},
		{"error_40.json", 200, "40", deadCredential},
		{"error_40.json", 401, "40", deadCredential},
		{"error_41.json", 200, "41", config},
		{"error_42.json", 200, "42", config},
		{"error_43.json", 200, "43", config},
		{"error_44.json", 200, "44", deadCredential},
		{"error_44.json", 403, "44", deadCredential},
		{"error_50.json", 200, "50", verdict(resilience.Fatal, resilience.Permission, resilience.ScopeStream)},
		{"error_60.json", 200, "60", config},
		{"error_70.json", 200, "70", verdict(resilience.Fatal, resilience.Item, resilience.ScopeItem)},
		{"error_70.json", 404, "70", verdict(resilience.Fatal, resilience.Item, resilience.ScopeItem)},
		{"error_404_unknown_method.json", 404, "0", generic},
		{"traefik_404.txt", 404, "", generic},
		{"error_50.json", 403, "50", verdict(resilience.Fatal, resilience.Permission, resilience.ScopeStream)},
		{"error_0.json", 429, "0", verdict(resilience.Retriable, resilience.RateLimit, resilience.ScopeConnection)},
		{"error_40.json", 503, "", verdict(resilience.Retriable, resilience.Upstream, resilience.ScopeStream)},
		{"own_error_401.json", 401, "", deadCredential},
	}
	var met []providers.Row
	for _, row := range rows {
		met = append(met, providers.Row{Status: row.status, Code: row.code})
	}
	providertest.Rows(t, navidrome.Describe().Tables, met)
	for _, row := range rows {
		t.Run(row.golden, func(t *testing.T) {
			t.Parallel()
			call := providertest.Call(providertest.Always(row.status, providertest.Golden(t, row.golden)))
			a := providertest.New(navidrome.Describe()).Open(call,
				merge(geoff, library.Credentials{"auth": "token", "native": "no"}))
			check := func(err error) {
				t.Helper()
				requireVerdict(t, row.want, err)
				requireCode(t, row.code, err)
			}
			_, err := tracks(t.Context(), a, library.Playlist{SourceID: "x"})
			check(err)
			_, err = listens(t.Context(), a, library.Span{})
			check(err)
			_, err = playlists(t.Context(), a)
			check(err)
		})
	}
}

func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, native := range []string{"yes", "no"} {
		call := providertest.Call(providertest.Always(http.StatusNotImplemented,
			"This endpoint is not implemented"))
		a := providertest.New(navidrome.Describe()).Open(call,
			merge(geoff, library.Credentials{"auth": "token", "native": native}))
		_, err := playlists(t.Context(), a)
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = tracks(t.Context(), a, library.Playlist{SourceID: "x"})
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = listens(t.Context(), a, library.Span{})
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = a.Prove(t.Context())
		requireVerdict(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
			Scope: resilience.ScopeStream}, err)
	}
}
