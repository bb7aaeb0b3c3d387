package listenbrainz

import (
	"net/http"
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
		"https://koito.example.org:443/":        {koito, "https://koito.example.org"},
		"192.168.1.7:4110/apis/listenbrainz":    {home, "http://192.168.1.7:4110/apis/listenbrainz"},
	} {
		require.Equal(t, want.host, p.App(elsewhere(typed)), typed)
		called := ""
		client := providertest.Client(providertest.Respond(func(r *http.Request) (int, http.Header, string) {
			called = r.URL.String()
			return 200, nil, `{"valid": true, "user_name": "ada"}`
		}))
		_, err := p.Open(client, elsewhere(typed)).Prove(t.Context())
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
		_, err := p.Open(providertest.Client(providertest.Always(500, "")), elsewhere(typed)).Prove(t.Context())
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
	client := providertest.Client(providertest.Always(200, `{"valid": true, "user_name": "ada"}`))
	account, err := p.Open(client, elsewhere("koito.example.org/1")).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, providers.Account{ID: "koito.example.org#ada", Name: "ada", Learned: library.Credentials{
		userField: "ada", urlField: "https://koito.example.org"}}, account)
	account, err = p.Open(client, elsewhere("listenbrainz.org")).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ada", account.ID)
}

func TestAnotherServerMayLackReading(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 405, 501} {
		far := providertest.Always(status, "404 page not found")
		cred := elsewhere("https://koito.example.org")
		cred[userField] = "ada"
		a := providertest.New(Describe()).Open(providertest.Client(far), cred).(*adapter)
		_, err := collect(a.Listens(t.Context(), library.Span{}))
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = collect(a.Playlists(t.Context()))
		require.ErrorIs(t, err, providers.ErrNotOffered)
		_, err = a.Prove(t.Context())
		require.Contains(t, meant(t, err).Advice, "/apis/listenbrainz")
		_, err = collect(open(far).Listens(t.Context(), library.Span{}))
		require.NotErrorIs(t, err, providers.ErrNotOffered, "ListenBrainz itself has it")
	}
}

func TestATokenRefusedElsewhere(t *testing.T) {
	t.Parallel()
	for _, far := range []providertest.Respond{
		providertest.Always(401, `{"error": "no"}`), providertest.Always(200, `{"valid": false}`),
	} {
		a := providertest.New(Describe()).Open(providertest.Client(far), elsewhere("https://koito.example.org"))
		_, err := a.Prove(t.Context())
		require.Equal(t, resilience.Auth, meant(t, err).Category)
		require.NotContains(t, meant(t, err).Advice, "listenbrainz.org")
	}
}
