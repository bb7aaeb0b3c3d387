package lastfm

import (
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/demo/demotest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	apiKey     = "0123456789abcdef0123456789abcdef"
	secret     = "fedcba9876543210fedcba9876543210"
	sessionKey = "d580d57f32848f5dcf574d1ce18d78b2"
)

var (
	config = []string{"client_id", apiKey, "client_secret", secret}
	geoff  = library.Credentials{sessionField: sessionKey, userField: "Geoff"}
)

// open returns an adapter of user Geoff whose upstream is far.
func open(far providertest.Respond) *adapter {
	return providertest.New(Describe(), config...).Open(providertest.Call(far), geoff).(*adapter)
}

// form returns the form in the body of a request.
func form(r *http.Request) url.Values {
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	v, _ := url.ParseQuery(string(b))
	return v
}

// methods routes requests by Last.fm's method.
func methods(answers map[string]providertest.Respond) providertest.Respond {
	return func(r *http.Request) (int, http.Header, string) {
		if answer := answers[form(r).Get("method")]; answer != nil {
			return answer(r)
		}
		return 400, nil, `{"message":"Invalid Method - No method with that name in this package","error":3}`
	}
}

func healthy(t *testing.T) providertest.Respond {
	always := func(name string) providertest.Respond { return providertest.Always(200, providertest.Golden(t, name)) }
	return methods(map[string]providertest.Respond{
		"auth.getSession": always("session.json"), "user.getInfo": always("info.json"),
		recentTracks: always("recent.json"), scrobble: always("scrobbled.json"),
	})
}

// collect reads a sequence to its end.
func collect[V any](seq iter.Seq2[V, error]) (values []V, err error) {
	for v, err := range seq {
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	return values, nil
}

func TestConformance(t *testing.T) {
	t.Parallel()
	aboutTheCall := map[int]resilience.Meaning{}
	for _, status := range []int{400, 404, 410, 422} {
		aboutTheCall[status] = unknownCall
	}
	world, _ := demotest.Start(t, demo.LastFM, "", nil) // its keys are those of every one
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(Describe(), "client_id", world.LastFM.ClientID, "client_secret",
			world.LastFM.ClientSecret, "api_url", world.LastFM.URL),
		Secrets: []string{world.LastFM.ClientID, world.LastFM.ClientSecret},
		Submit:  providertest.Capability{Statuses: aboutTheCall},
		Love:    providertest.Capability{Statuses: aboutTheCall, Ignored: true},
		Simulated: func(t *testing.T) (http.RoundTripper, library.Credentials) {
			w, far := demotest.Start(t, demo.LastFM, "", nil)
			return far, library.Credentials{sessionField: w.LastFM.Authorize(demo.Alice), userField: demo.Alice}
		},
	})
}

func TestProvider(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe(), config...)
	require.Equal(t, apiKey, p.App(geoff))
	require.Equal(t, []string{library.Listens, library.Loves}, p.Streams)
	require.Equal(t, providers.Takes{Listens: "scrobble", Batch: 50, Oldest: 14 * 24 * time.Hour,
		Playing: true, Loves: true, Repeat: p.Takes.Repeat}, p.Takes)
	require.True(t, p.InBrowser())
	require.True(t, p.Registered())
	require.False(t, providertest.New(Describe(), "client_id", apiKey).Registered(),
		"without the secret nothing can be signed")
	settings, page := p.ToRegister()
	require.Equal(t, []string{"providers.lastfm.client_id", "providers.lastfm.client_secret"}, settings)
	require.Equal(t, "https://www.last.fm/api/account/create", page)
}

// TestSignature compares with md5sum of the parameters sorted by name, where "artist[10]" comes before "artist[1]",
// and the secret.
func TestSignature(t *testing.T) {
	t.Parallel()
	a := api{key: "k", secret: "shh"}
	params := url.Values{"method": {"m"}, "api_key": {"k"}, "artist[1]": {"B"}, "artist[10]": {"C"}, "format": {"json"},
		"callback": {"f"}}
	require.Equal(t, "16fe93a5ae5f90754e1a347b29fc7d4a", a.sign(params),
		"md5sum of api_keykartist[10]Cartist[1]Bmethodmshh")
	require.Equal(t, a.sign(params),
		a.sign(url.Values{"method": {"m"}, "api_key": {"k"}, "artist[1]": {"B"}, "artist[10]": {"C"}}))
}

// TestRequests checks that everything except the format is sent in the body.
func TestRequests(t *testing.T) {
	t.Parallel()
	far := healthy(t)
	var sent []*http.Request
	var forms []url.Values
	a := open(func(r *http.Request) (int, http.Header, string) {
		sent, forms = append(sent, r), append(forms, form(r))
		return far(r)
	})
	_, err := a.Prove(t.Context())
	require.NoError(t, err)
	_, err = collect(a.Listens(t.Context(), library.Span{}))
	require.NoError(t, err)
	_, err = a.Submit(t.Context(), plays(3))
	require.NoError(t, err)
	require.Len(t, sent, 3)
	for i, r := range sent {
		require.Equal(t, http.MethodPost, r.Method)
		require.Equal(t, "https://ws.audioscrobbler.com/2.0/?format=json", r.URL.String())
		require.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
		sig := forms[i].Get("api_sig")
		require.Equal(t, []string{apiKey, sessionKey}, []string{forms[i].Get("api_key"), forms[i].Get("sk")},
			"also reading is signed")
		forms[i].Del("api_sig")
		require.Equal(t, a.sign(forms[i]), sig)
	}
	require.NotContains(t, forms[0], "user", "the session key says whose account it is")
	require.Equal(t, "Geoff", forms[1].Get("user"))
	require.Equal(t, "200", forms[1].Get("limit"))
}

func TestConsentPage(t *testing.T) {
	t.Parallel()
	const callback = "http://127.0.0.1:8420/connect/lastfm/callback?state=ABC"
	for page, want := range map[string]string{
		"":                            "https://www.last.fm/api/auth/",
		"http://127.0.0.1:1/auth?x=1": "http://127.0.0.1:1/auth",
	} {
		to, err := providertest.New(Describe(), append(config, "auth_url", page)...).SignIn.AuthURL(callback)
		require.NoError(t, err)
		u, err := url.Parse(to)
		require.NoError(t, err)
		q := u.Query()
		require.Equal(t, []string{apiKey, callback}, []string{q.Get("api_key"), q.Get("cb")})
		require.NotContains(t, to, secret)
		u.RawQuery = ""
		require.Equal(t, want, u.String())
	}
	_, err := providertest.New(Describe(), "auth_url", "https://bad host\x7f").SignIn.AuthURL(callback)
	require.Equal(t, resilience.Config, resilience.VerdictOf(err).Category)
}

func TestSession(t *testing.T) {
	t.Parallel()
	var sent url.Values
	far := healthy(t)
	call := providertest.Call(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
		sent = form(r)
		return far(r)
	}))
	credentials, err := providertest.New(Describe(), config...).SignIn.Exchange(t.Context(), call, "the-token")
	require.NoError(t, err)
	require.Equal(t, geoff, credentials)
	require.Equal(t, "the-token", sent.Get("token"))
	require.NotContains(t, sent, "sk")
	for _, body := range []string{`{}`, `{"session":{"name":"Geoff"}}`, `{"session":{"key":"x"}}`, `{"session":[]}`} {
		call := providertest.Call(providertest.Always(200, body))
		_, err = providertest.New(Describe(), config...).SignIn.Exchange(t.Context(), call, "the-token")
		require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, body)
		require.NotContains(t, err.Error(), "the-token")
	}
}

func TestProve(t *testing.T) {
	t.Parallel()
	account, err := open(healthy(t)).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{
		ID: "geoff", Name: "Geoff", Learned: library.Credentials{userField: "Geoff"},
	}, account)
	_, err = open(providertest.Always(200, `{"user":{"realname":"Geoff"}}`)).Prove(t.Context())
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category)
}

func TestMissingSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config []string
		want   string
	}{
		{[]string{"client_secret", secret}, "providers.lastfm.client_id"},
		{[]string{"client_id", apiKey}, "providers.lastfm.client_secret"},
		{append(config, "api_url", "https://bad host\x7f"), "providers.lastfm.api_url"},
	} {
		call := providertest.Call(providertest.Respond(func(*http.Request) (int, http.Header, string) {
			t.Error("nothing is sent")
			return 500, nil, ""
		}))
		a := providertest.New(Describe(), tt.config...).Open(call, geoff)
		_, err := a.Prove(t.Context())
		var missing *resilience.SettingError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, tt.want, missing.Setting)
	}
}

// call makes one call of each kind and returns how it ended.
func call(t *testing.T, a *adapter, name string) (err error) {
	t.Helper()
	switch name {
	case "prove":
		_, err = a.Prove(t.Context())
	case "listens":
		_, err = collect(a.Listens(t.Context(), library.Span{}))
	case "submit":
		_, err = a.Submit(t.Context(), plays(3))
	case "session":
		_, err = a.session(t.Context(), a.call, "the-token")
	default:
		t.Fatalf("no such call: %s", name)
	}
	return err
}

var (
	onAuth = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection}
	onApp      = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp}
	onItem     = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem}
	onContract = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Contract,
		Scope: resilience.ScopeStream}
	onPermission = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Permission,
		Scope: resilience.ScopeStream}
	onUpstream = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
	onRate = resilience.Verdict{Class: resilience.Retriable, Category: resilience.RateLimit,
		Scope: resilience.ScopeApp}
)

func TestTable(t *testing.T) {
	t.Parallel()
	calls := []string{"prove", "listens", "submit", "session"}
	tests := []struct {
		code   int
		calls  []string // all when empty
		want   resilience.Verdict
		wait   time.Duration // until want.NotBefore
		advice string        // a part of it
	}{
		{code: 4, want: onAuth, advice: "settings/applications"},
		{code: 9, want: onAuth, advice: "settings/applications"},
		{code: 14, want: onAuth, advice: "Connect again"},
		{code: 15, want: onAuth, advice: "Connect again"},
		{code: 17, want: onPermission, advice: "Hide recent listening information"},
		{code: 10, want: onApp, advice: "know this server's API key"},
		{code: 13, want: onApp, advice: "Copy both again"},
		{code: 26, want: onApp, advice: "suspended"},
		{code: 6, calls: []string{"prove", "listens"}, want: onAuth, advice: "renamed"},
		{code: 7, calls: []string{"prove", "listens"}, want: onAuth, advice: "renamed"},
		{code: 6, calls: []string{"submit"}, want: onItem, advice: "with this name"},
		{code: 7, calls: []string{"submit"}, want: onItem, advice: "with this name"},
		{code: 8, want: onUpstream},
		{code: 11, want: onUpstream},
		{code: 16, want: onUpstream},
		{code: 29, want: onRate, wait: 5 * time.Minute},
		{code: 2, want: onContract},
		{code: 3, want: onContract},
		{code: 5, want: onContract},
		{code: 27, want: onContract},
	}
	met := []providers.Row{{Status: 401}, {Status: 400}, {Status: 404}, {Status: 410}, {Status: 422}}
	for _, file := range []string{
		"ignored_1.json", "ignored_2.json", "ignored_3.json", "ignored_4.json", "ignored_5.json",
	} {
		code := strings.TrimSuffix(strings.TrimPrefix(file, "ignored_"), ".json")
		met = append(met, providers.Row{Status: 200, Code: code})
		require.NotEmpty(t, providertest.Golden(t, file), "TestIgnoredScrobbles")
	}
	met = append(met, providers.Row{Status: 200, Code: withoutReason}) // ignored_silently.json
	for _, tt := range tests {
		met = append(met, providers.Row{Status: 200, Code: fmt.Sprint(tt.code)})
	}
	providertest.Rows(t, tables(), met)
	for _, tt := range tests {
		if tt.calls == nil {
			tt.calls = calls
		}
		for _, name := range tt.calls {
			for _, status := range []int{200, 400, 401, 403, 404, 500, 503} {
				t.Run(fmt.Sprintf("%d in %s with %d", tt.code, name, status), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						body := providertest.Golden(t, fmt.Sprintf("error_%d.json", tt.code))
						err := call(t, open(providertest.Always(status, body)), name)
						want := tt.want
						if tt.wait > 0 {
							want.NotBefore, want.Hold, want.HoldMax = time.Now().Add(tt.wait), tt.wait, time.Hour
						}
						require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
						var refusal *resilience.AnswerError
						require.ErrorAs(t, err, &refusal)
						require.Equal(t, fmt.Sprint(tt.code), refusal.Code)
						require.NotEmpty(t, refusal.Message)
						require.Contains(t, words.Of(refusal.Advice()).String(), tt.advice)
					})
				})
			}
		}
	}
}

func TestErrorsInOtherForms(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]resilience.Verdict{
		`{"error":"9","message":"as a text"}`: onAuth,
		`{"error":9}`:                         onAuth,
		`{"error":99,"message":"unheard of"}`: onUpstream,
	} {
		require.Equal(t, want, resilience.VerdictOf(call(t, open(providertest.Always(200, body)), "listens")), body)
	}
	err := call(t, open(providertest.Always(401, `{}`)), "listens")
	require.Equal(t, onAuth, resilience.VerdictOf(err))
	limited := func(*http.Request) (int, http.Header, string) {
		return 429, http.Header{"Retry-After": {"7"}}, `{"error":29,"message":"Rate Limit Exceeded"}`
	}
	synctest.Test(t, func(t *testing.T) {
		v := resilience.VerdictOf(call(t, open(limited), "listens"))
		require.Equal(t, time.Now().Add(7*time.Second), v.NotBefore, "a wait that Last.fm names counts more than ours")
	})
}
