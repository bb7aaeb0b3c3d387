package listenbrainz

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

func elsewhere(address string) library.Credentials {
	return library.Credentials{tokenField: token, urlField: address}
}

// meant returns the meaning of a refusal.
func meant(t *testing.T, err error) resilience.Meaning {
	t.Helper()
	var e *resilience.AnswerError
	require.ErrorAs(t, err, &e)
	require.NotNil(t, e.Meaning)
	return *e.Meaning
}

func TestAddressesOfOtherServers(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe())
	const itself, koito, home = "api.listenbrainz.org", "koito.example.org", "192.168.1.7:4110"
	for typed, want := range map[string]struct{ host, base string }{
		"":                                      {itself, "https://api.listenbrainz.org"},
		" https://listenbrainz.org/ ":           {itself, "https://api.listenbrainz.org"},
		"http://api.listenbrainz.org/1/":        {itself, "https://api.listenbrainz.org"},
		"Koito.example.org/apis/listenbrainz/1": {koito, "https://koito.example.org/apis/listenbrainz"},
		"koito.example.org/apis/listenbrainz/1/submit-listens/": {koito,
			"https://koito.example.org/apis/listenbrainz"},
		"https://koito.example.org:443/":     {koito, "https://koito.example.org"},
		"192.168.1.7:4110/apis/listenbrainz": {home, "http://192.168.1.7:4110/apis/listenbrainz"},
	} {
		require.Equal(t, want.host, p.App(elsewhere(typed)), typed)
		called := ""
		call := providertest.Call(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
			if strings.Contains(r.URL.Path, "validate") {
				called = r.URL.String()
			}
			return 200, nil, `{"valid": true, "user_name": "ada"}`
		}))
		_, err := p.Open(call, elsewhere(typed)).Prove(t.Context())
		require.NoError(t, err, typed)
		require.Equal(t, want.base+"/1/validate-token", called, typed)
	}
}

func TestAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe())
	for _, typed := range []string{
		"ftp://koito.example.org", "https://", "https://ada:secret@koito.example.org", "not an address",
	} {
		_, err := p.Open(providertest.Call(providertest.Always(500, "")), elsewhere(typed)).Prove(t.Context())
		var problem *resilience.SettingError
		require.ErrorAs(t, err, &problem, typed)
		require.Equal(t, urlField, problem.Setting)
		require.NotContains(t, err.Error(), "secret")
		require.Empty(t, p.App(elsewhere(typed)))
	}
}

func TestAnAccountElsewhereSaysWhere(t *testing.T) {
	t.Parallel()
	p := providertest.New(Describe())
	call := providertest.Call(providertest.Always(200, `{"valid": true, "user_name": "ada"}`))
	account, err := p.Open(call, elsewhere("koito.example.org/1")).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{ID: "koito.example.org#ada", Name: "ada", Label: "koito.example.org",
		Learned: library.Credentials{userField: "ada", urlField: "https://koito.example.org",
			readsListens: lacks, readsPlaylists: lacks},
		Lacks: []string{library.Listens, library.Playlists}}, account)
	account, err = p.Open(call, elsewhere("listenbrainz.org")).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ada", account.ID)
}

func TestAnotherServerMayLackReading(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 405, 501} {
		far := providertest.Always(status, "404 page not found")
		cred := elsewhere("https://koito.example.org")
		cred[userField] = "ada"
		a := providertest.New(Describe()).Open(providertest.Call(far), cred).(*adapter)
		_, err := collect(a.Listens(t.Context(), library.Span{}))
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = collect(a.Playlists(t.Context()))
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = a.Prove(t.Context())
		require.Contains(t, meant(t, err).Advice.String(), "/apis/listenbrainz")
		_, err = collect(open(far).Listens(t.Context(), library.Span{}))
		require.NotErrorIs(t, err, providers.ErrNotOffered, "ListenBrainz itself has it")
	}
}

// TestWhatAServerOnlyTakes: Koito answers with its page, and Maloja with 200 and an error.
func TestWhatAServerOnlyTakes(t *testing.T) {
	t.Parallel()
	const page = "<!doctype html><html><title>Koito</title></html>"
	const listens = `{"payload":{"count":0,"listens":[]}}`
	for name, c := range map[string]struct {
		other              providertest.Respond
		listens, playlists string
		problem            bool
	}{
		"a page":          {providertest.Always(200, page), lacks, lacks, false},
		"404":             {providertest.Always(404, "404 page not found"), lacks, lacks, false},
		"an error in 200": {providertest.Always(200, `{"code":200,"error":"Invalid Method"}`), lacks, lacks, false},
		"listens":         {providertest.Always(200, listens), "", lacks, false},
		"an outage":       {providertest.Always(503, page), "", "", true},
		"a rate limit":    {providertest.Always(429, "{}"), "", "", true},
	} {
		asked := 0
		far := func(r *http.Request) (int, http.Header, string) {
			if r.URL.Path == "/apis/listenbrainz/1/validate-token" {
				return 200, nil, `{"code":200,"message":"Token valid.","valid":true,"user_name":"ada"}`
			}
			asked++
			return c.other(r)
		}
		p, call := providertest.New(Describe()), providertest.Call(providertest.Respond(far))
		cred := elsewhere("https://koito.example.org/apis/listenbrainz/1")
		account, err := p.Open(call, cred).Prove(t.Context())
		require.Equal(t, c.problem, err != nil, "%s: %v", name, err)
		require.Equal(t, []string{c.listens, c.playlists},
			[]string{account.Learned[readsListens], account.Learned[readsPlaylists]}, name)
		if c.problem || c.listens == "" {
			continue
		}
		asked = 0
		a := p.Open(call, merge(cred, account.Learned)).(*adapter)
		_, err = collect(a.Listens(t.Context(), library.Span{}))
		require.ErrorIs(t, err, providers.ErrNotOffered, name)
		_, err = collect(a.Playlists(t.Context()))
		require.ErrorIs(t, err, providers.ErrNotOffered, name)
		require.Zero(t, asked, "it is not asked again")
	}
}

// TestWordsNameTheServerGiven: nobody with a Koito reads about ListenBrainz.
func TestWordsNameTheServerGiven(t *testing.T) {
	t.Parallel()
	cred := merge(elsewhere("https://koito.example.org"), library.Credentials{userField: "ada"})
	for _, far := range []providertest.Respond{
		providertest.Always(400, `{"code":400,"error":"bad"}`), providertest.Always(401, `{}`),
		providertest.Always(404, `{"code":404,"error":"Cannot find user: ada"}`),
	} {
		a := providertest.New(Describe()).Open(providertest.Call(far), cred)
		for _, what := range []string{"submit", "listens", "tracks"} {
			err := call(t, a.(*adapter), what)
			e, ok := errors.AsType[*resilience.AnswerError](err)
			require.True(t, ok, "%s: %v", what, err)
			if e.Meaning != nil {
				require.NotContains(t, strings.ToLower(e.Meaning.Advice.String()), "listenbrainz.org", what)
				about := strings.ReplaceAll(e.Meaning.Advice.String(), "ListenBrainz-compatible", "")
				require.NotContains(t, about, "ListenBrainz", what)
			}
		}
	}
}

// TestAnAPIAddressWithItsVersion: the documentation writes the address with /1.
func TestAnAPIAddressWithItsVersion(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"https://lb.example.org/1", "https://lb.example.org/1/", "https://lb.example.org"} {
		called := ""
		call := providertest.Call(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
			called = r.URL.String()
			return 200, nil, `{"valid": true, "user_name": "ada"}`
		}))
		_, err := providertest.New(Describe(), "api_url", typed).Open(call, elsewhere("")).Prove(t.Context())
		require.NoError(t, err)
		require.Equal(t, "https://lb.example.org/1/validate-token", called)
	}
}

func merge(a, b library.Credentials) library.Credentials {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

func TestATokenRefusedElsewhere(t *testing.T) {
	t.Parallel()
	for _, far := range []providertest.Respond{
		providertest.Always(401, `{"error": "no"}`), providertest.Always(200, `{"valid": false}`),
	} {
		a := providertest.New(Describe()).Open(providertest.Call(far), elsewhere("https://koito.example.org"))
		_, err := a.Prove(t.Context())
		require.Equal(t, resilience.Auth, meant(t, err).Category)
		require.NotContains(t, meant(t, err).Advice.String(), "listenbrainz.org")
	}
}
