package navidrome_test

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

func prove(t *testing.T, upstream providertest.Respond, creds library.Credentials) (providers.Account, error) {
	t.Helper()
	return providertest.New(navidrome.Describe()).Open(providertest.Call(upstream), creds).Prove(t.Context())
}

func adviceOf(t *testing.T, err error) string {
	t.Helper()
	m := answerOf(t, err).Meaning
	require.NotNil(t, m)
	return m.Advice.String()
}

func TestProveAtNavidrome(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	creds := library.Credentials{"url": s.URL + "/app/#/album/all", "username": "geoff", "password": s.password}
	p := providertest.New(navidrome.Describe())
	account, err := p.Open(resilience.Call{Client: s.client}, creds).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{
		ID: s.URL + "#geoff", Name: "geoff", AnyCase: true,
		Learned: library.Credentials{"url": s.URL, "username": "geoff", "auth": "token", "form": "yes",
			"native": "yes"},
	}, account)

	s.fill(10, 10, lastPlay)
	pages, err := listens(t.Context(), p.Open(resilience.Call{Client: s.client}, merge(creds, account.Learned)),
		library.Span{})
	require.NoError(t, err)
	require.Len(t, all(pages), 10)
	require.Equal(t, 1, s.signIns, "the session of the proof serves the first run")
	pages, err = listens(t.Context(), p.Open(resilience.Call{Client: s.client}, creds), library.Span{})
	require.NoError(t, err, "without learned credentials")
	require.Len(t, all(pages), 10)

	s.password = "another"
	_, err = p.Open(resilience.Call{Client: s.client}, creds).Prove(t.Context())
	requireVerdict(t, deadCredential, err)
}

// TestProveWithoutOwnAPI connects when only /rest/ can be reached, and when Navidrome's own API is overloaded.
func TestProveWithoutOwnAPI(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]providertest.Respond{
		"no":  providertest.Always(200, "<html>Sign in</html>"),
		"yes": providertest.Always(429, "Too Many Requests"),
	} {
		routes := navidromeRoutes(t)
		routes["POST /music/auth/login"] = answer
		account, err := prove(t, providertest.Routes(routes), geoff)
		require.NoError(t, err)
		require.Equal(t, want, account.Learned["native"])
	}
	routes := navidromeRoutes(t)
	routes["POST /music/auth/login"] = providertest.Always(503, "")
	_, err := prove(t, providertest.Routes(routes), geoff)
	require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category, "an outage is no answer to the question")
}

// picky is a server that refuses unaccepted ways to sign in with a golden answer.
func picky(t *testing.T, refusal string, accepts func(*http.Request) bool) (providertest.Respond, *[]string) {
	t.Helper()
	var ways []string
	refused := providertest.Golden(t, refusal)
	return func(req *http.Request) (int, http.Header, string) {
		_ = req.ParseForm()
		for _, param := range []string{"apiKey", "t", "p"} {
			if req.Form.Has(param) && !strings.HasSuffix(req.URL.Path, "/getUser.view") {
				ways = append(ways, req.Method+" "+param)
			}
		}
		if !accepts(req) {
			return 200, nil, refused
		}
		return 200, nil, `{"subsonic-response":{"status":"ok","version":"1.15.0"}}`
	}, &ways
}

func TestWayToSignIn(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-battery"
	inForm := func(req *http.Request) bool {
		return req.PostForm.Get("p") == "enc:"+hex.EncodeToString([]byte(password)) && req.PostForm.Get("u") == "geoff"
	}
	never := func(*http.Request) bool { return false }
	cases := map[string]struct {
		creds   library.Credentials
		refusal string
		accepts func(*http.Request) bool
		ways    []string
		auth    string
		advice  string
	}{
		"password over TLS": {library.Credentials{"url": "https://m.example.org"}, "error_41.json", inForm,
			[]string{"GET t", "POST p"}, "password", ""},
		"password to loopback": {library.Credentials{"url": "127.0.0.1:4533"}, "error_10.json", inForm,
			[]string{"GET t", "POST p"}, "password", ""},
		"password when ticked": {library.Credentials{"url": "192.168.1.5:4533", "insecure": "on"},
			"error_42.json", inForm, []string{"GET t", "POST p"}, "password", ""},
		"password never unprotected": {library.Credentials{"url": "192.168.1.5:4533"}, "error_43.json", inForm,
			[]string{"GET t"}, "", "tick"},
		"no forms": {library.Credentials{"url": "https://m.example.org"}, "error_10.json",
			func(req *http.Request) bool { return req.URL.Query().Has("p") },
			[]string{"GET t", "POST p", "GET p"}, "password", ""},
		"key": {library.Credentials{"url": "http://192.168.1.5", "apikey": "key-of-geoff"}, "error_42.json",
			func(req *http.Request) bool {
				return req.PostForm.Get("apiKey") == "key-of-geoff" && !req.Form.Has("u")
			}, []string{"POST apiKey"}, "apikey", ""},
		"key refused, token accepted": {library.Credentials{"url": "http://192.168.1.5", "apikey": "key-of-geoff"},
			"error_42.json", func(req *http.Request) bool { return req.Form.Has("t") },
			[]string{"POST apiKey", "GET apiKey", "GET t"}, "token", ""},
		"only a key, refused": {
			library.Credentials{"url": "https://m.example.org", "apikey": "key-of-geoff", "password": ""},
			"error_42.json", never, []string{"POST apiKey", "GET apiKey"}, "", "password instead"},
		"all refused": {library.Credentials{"url": "https://m.example.org"}, "error_41.json", never,
			[]string{"GET t", "POST p", "GET p"}, "", "API key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			creds := merge(library.Credentials{"username": "geoff", "password": password}, c.creds)
			upstream, ways := picky(t, c.refusal, c.accepts)
			account, err := prove(t, upstream, creds)
			require.Equal(t, c.ways, *ways)
			if c.auth == "" {
				requireVerdict(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Config,
					Scope: resilience.ScopeConnection}, err)
				require.Contains(t, adviceOf(t, err), c.advice)
				require.NotContains(t, err.Error(), password)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.auth, account.Learned["auth"])
			*ways = nil
			a := providertest.New(navidrome.Describe()).Open(providertest.Call(upstream),
				merge(creds, account.Learned))
			_, _ = playlists(t.Context(), a)
			require.Equal(t, c.ways[len(c.ways)-1:], *ways, "a run starts with the learned way")
		})
	}
}

// TestWayChanges has a server that stops accepting tokens between two runs.
func TestWayChanges(t *testing.T) {
	t.Parallel()
	accepted := "t"
	upstream, ways := picky(t, "error_41.json", func(req *http.Request) bool { return req.Form.Has(accepted) })
	answer := func(req *http.Request) (int, http.Header, string) {
		status, header, body := upstream(req)
		if strings.Contains(body, `"ok"`) && strings.Contains(req.URL.Path, "getPlaylists") {
			body = providertest.Golden(t, "playlists.json")
		}
		return status, header, body
	}
	accepted = "p"
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Respond(answer)),
		merge(geoff, library.Credentials{"auth": "token"}))
	got, err := playlists(t.Context(), a)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, []string{"GET t", "GET t", "POST p", "POST p"}, *ways)
}

// TestARefusedLoginIsNotNegotiatedAgain expects one negotiation in a run of hundreds of calls.
func TestARefusedLoginIsNotNegotiatedAgain(t *testing.T) {
	t.Parallel()
	pings := 0
	upstream := providertest.Respond(func(req *http.Request) (int, http.Header, string) {
		if strings.Contains(req.URL.Path, "ping") {
			pings++
			return 200, nil, providertest.Golden(t, "ping_other.json")
		}
		return 200, nil, providertest.Golden(t, "error_41.json")
	})
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(upstream),
		merge(geoff, library.Credentials{"auth": "token"}))
	for range 3 {
		_, err := playlists(t.Context(), a)
		requireVerdict(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Config,
			Scope: resilience.ScopeConnection}, err)
	}
	require.Equal(t, 1, pings)
}

// TestAServerAtHomeIsTriedAgainSoon expects a short first delay, because the server was probably restarted.
func TestAServerAtHomeIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(nil)
	far.Close()
	_, err := prove(t, func(req *http.Request) (int, http.Header, string) { return 502, nil, "" }, geoff)
	require.Zero(t, resilience.VerdictOf(err).FirstDelay, "it is there, and says so itself")
	call := resilience.Call{Client: transport.NewClient(&transport.Transport{Base: http.DefaultTransport})}
	_, err = providertest.New(navidrome.Describe()).Open(call,
		merge(geoff, library.Credentials{"url": far.URL})).Prove(t.Context())
	requireVerdict(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
		Scope: resilience.ScopeConnection, FirstDelay: 5 * time.Second}, err)
}

func TestNoSubsonicServer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status int
		header http.Header
		body   string
		advice string
	}{
		"page":           {200, nil, "<!DOCTYPE html><title>Welcome</title>", "no Subsonic server"},
		"page not found": {404, nil, "<html>404</html>", "no Subsonic server"},
		"not found":      {404, nil, "404 page not found", "no Subsonic server"},
		"other JSON":     {200, nil, `{"hello":"world"}`, "no Subsonic server"},
		"proxy":          {401, http.Header{"Www-Authenticate": {"Basic"}}, "", "in front of the server"},
		"moved": {301, http.Header{"Location": {"https://other.example.net/rest/ping.view?t=1"}}, "",
			"https://other.example.net. If"},
		"bad gateway":      {502, nil, "<html>502</html>", ""},
		"too many callers": {429, nil, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upstream := providertest.Respond(func(*http.Request) (int, http.Header, string) {
				return c.status, c.header, c.body
			})
			_, err := prove(t, upstream, geoff)
			e := answerOf(t, err)
			if c.advice == "" {
				require.True(t, e.Meaning == nil || e.Meaning.Advice == nil)
				return
			}
			require.Contains(t, e.Meaning.Advice.String(), c.advice)
		})
	}
}

// TestServerMoved follows a redirect to https or to another path of the same server, once, and remembers it.
func TestServerMoved(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "key-of-geoff"} { // in the URL, and in a form, which a redirect drops
		var seen []string
		upstream := providertest.Respond(func(req *http.Request) (int, http.Header, string) {
			seen = append(seen, req.Method+" "+req.URL.Scheme+" "+req.URL.Path)
			if req.URL.Scheme == "http" {
				to := *req.URL
				to.Scheme = "https"
				return 301, http.Header{"Location": {to.String()}}, ""
			}
			return 200, nil, providertest.Golden(t, "ping_other.json")
		})
		account, err := prove(t, upstream,
			merge(geoff, library.Credentials{"url": "http://Music.Example.org:80", "apikey": key}))
		require.NoError(t, err)
		require.Equal(t, "https://music.example.org", account.Learned["url"])
		require.Equal(t, "https://music.example.org#geoff", account.ID)
		require.Len(t, slices.DeleteFunc(seen, func(s string) bool { return strings.HasSuffix(s, "getUser.view") }), 2)
	}
}

// TestAServerIsCalledByItsOwnName: nobody with a gonic reads about Navidrome, also where it refuses the password.
func TestAServerIsCalledByItsOwnName(t *testing.T) {
	t.Parallel()
	cred := library.Credentials{"url": "m.example.org", "username": "ada", "password": "correct-horse"}
	for tells, want := range map[string][2]string{`"type":"gonic",`: {"gonic", "gonic"},
		`"type":"navidrome",`: {"Navidrome", ""}, "": {"", "m.example.org"}} {
		_, err := prove(t, providertest.Always(200, `{"subsonic-response":{"status":"failed",`+tells+
			`"error":{"code":40,"message":"Wrong username or password."}}}`), cred)
		var e *resilience.AnswerError
		require.ErrorAs(t, err, &e)
		require.Equal(t, want[0], e.Server)
		account, err := prove(t, providertest.Always(200, `{"subsonic-response":{`+tells+`"status":"ok"}}`), cred)
		require.NoError(t, err)
		require.Equal(t, want[1], account.Label)
	}
}

// TestTheServersOwnSpelling: CAROL and carol are one account where the server says so.
func TestTheServersOwnSpelling(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]providers.Account{
		`"user":{"username":"carol"}`: {ID: "https://m.example.org#carol", Name: "carol", AnyCase: true},
		`"user":{"username":"CAROL"}`: {ID: "https://m.example.org#CAROL", Name: "CAROL"},
		`"user":{"username":"admin"}`: {ID: "https://m.example.org#CAROL", Name: "CAROL"},
		`"version":"1.16.1"`:          {ID: "https://m.example.org#CAROL", Name: "CAROL"},
	} {
		account, err := prove(t, providertest.Always(200, `{"subsonic-response":{"status":"ok",`+told+`}}`),
			library.Credentials{"url": "m.example.org", "username": "CAROL", "password": "correct-horse"})
		require.NoError(t, err)
		require.Equal(t, want.Name, account.Learned["username"], told)
		account.Learned, want.Label = nil, "m.example.org"
		require.Equal(t, want, account, told)
	}
	refuses := func(req *http.Request) (int, http.Header, string) {
		if strings.HasSuffix(req.URL.Path, "/getUser.view") {
			return 200, nil, providertest.Golden(t, "error_50.json")
		}
		return 200, nil, providertest.Golden(t, "ping_other.json")
	}
	account, err := prove(t, refuses, merge(geoff, library.Credentials{"username": "GEOFF"}))
	require.NoError(t, err, "not everybody may ask")
	require.Equal(t, "GEOFF", account.Name)
}

// TestATokenIsNewWithEveryCall expects that an intercepted token is useless for other calls.
func TestATokenIsNewWithEveryCall(t *testing.T) {
	t.Parallel()
	salts := map[string]bool{}
	upstream := providertest.Respond(func(req *http.Request) (int, http.Header, string) {
		salt := req.FormValue("s")
		require.GreaterOrEqual(t, len(salt), 6)
		require.False(t, salts[salt])
		salts[salt] = true
		return 200, nil, providertest.Golden(t, "playlists.json")
	})
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(upstream),
		merge(geoff, library.Credentials{"auth": "token"}))
	for range 3 {
		_, err := playlists(t.Context(), a)
		require.NoError(t, err)
	}
	require.Len(t, salts, 3)
}

// TestNoDowngradeFromTLS expects that credentials do not follow a redirect to plain HTTP.
func TestNoDowngradeFromTLS(t *testing.T) {
	t.Parallel()
	upstream := providertest.Respond(func(req *http.Request) (int, http.Header, string) {
		require.Equal(t, "https", req.URL.Scheme)
		return 301, http.Header{"Location": {"http://music.example.org/rest/ping.view?" + req.URL.RawQuery}}, ""
	})
	_, err := prove(t, upstream, merge(geoff, library.Credentials{"url": "https://music.example.org"}))
	require.Contains(t, adviceOf(t, err), "http://music.example.org")
}

func TestKeyNamesItsUser(t *testing.T) {
	t.Parallel()
	upstream := providertest.Routes(map[string]providertest.Respond{
		"/music/rest/ping.view": providertest.Always(200,
			providertest.Golden(t, "token_info.json")),
		"/music/rest/getOpenSubsonicExtensions.view": providertest.Always(200,
			providertest.Golden(t, "extensions.json")),
		"/music/rest/tokenInfo.view": providertest.Always(200,
			providertest.Golden(t, "token_info.json")),
	})
	account, err := prove(t, upstream, merge(geoff, library.Credentials{"username": "jeff", "apikey": "key-of-geoff"}))
	require.NoError(t, err)
	require.Equal(t, "geoff", account.Name)
	require.Equal(t, "geoff", account.Learned["username"])
}

// TestSecretsAreNotRepeated has a server whose answer contains the password.
func TestSecretsAreNotRepeated(t *testing.T) {
	t.Parallel()
	const body = `{"subsonic-response":{"status":"failed","error":` +
		`{"code":"40","message":"No user geoff with password correct-horse-battery"}}}`
	_, err := prove(t, providertest.Always(200, body), geoff)
	requireVerdict(t, deadCredential, err)
	require.NotContains(t, err.Error(), "correct-horse")
}
