package example_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/example"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

// answers holds the bodies of a healthy Jukebox by path.
var answers = map[string]string{
	"/v1/me": `{"id":"geoff","name":"Geoff"}`,
	"/v1/plays": `{"items":[` +
		`{"id":"p2","title":"Jóga","artist":"Björk","at":"1999-12-31T21:05:00Z"},` +
		`{"id":"p1","title":"Hunter","artist":"Björk","at":"1999-12-31T21:00:00Z"}]}`,
	"/v1/playlists":           `{"items":[{"sourceid":"l1","name":"Rain","snapshot":"1","trackcount":1}]}`,
	"/v1/playlists/l1/tracks": `{"items":[{"title":"Jóga","artist":"Björk"}]}`,
}

func healthy(req *http.Request) (int, http.Header, string) {
	if body, ok := answers[req.URL.Path]; ok {
		return http.StatusOK, nil, body
	}
	return http.StatusNotFound, nil, `{}`
}

func TestConformance(t *testing.T) {
	t.Parallel()
	well := providertest.Capability{Healthy: healthy, Statuses: map[int]resilience.Meaning{
		http.StatusPaymentRequired: example.Describe().Tables.Of[0].Table[0].Meaning}}
	providertest.Run(t, providertest.Suite{
		Provider: providertest.New(example.Describe(), "client_id", "client"),
		Playlist: library.Playlist{SourceID: "l1"},
		Prove:    well, Listens: well, Playlists: well, Tracks: well,
	})
}

func TestDescription(t *testing.T) {
	t.Parallel()
	providertest.Describes(t, example.Describe())
}

func TestTable(t *testing.T) {
	t.Parallel()
	providertest.Rows(t, example.Describe().Tables, []providers.Row{{Status: http.StatusPaymentRequired}})
}

// TestListensAndPlaylistsAreRead syncs a connection with the whole engine.
func TestListensAndPlaylistsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		up.Fail("api.jukebox.example.org", func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("Authorization") != "Bearer token-of-geoff" {
				return enginetest.Answer(req, http.StatusUnauthorized, `{}`), nil
			}
			status, _, body := healthy(req)
			return enginetest.Answer(req, status, body), nil
		})
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		p := providertest.New(example.Describe(), "client_id", "client")
		e.Registry.Replace(p)

		user := e.AddUser("Alice", accounts.Admin)
		token := oauth.Credentials(&oauth2.Token{AccessToken: "token-of-geoff", Expiry: time.Now().Add(time.Hour)})
		_, err := e.Connections.ConnectOAuth(t.Context(), p, user,
			oauth.Grant{Credentials: token, AuthorizedAt: time.Now()})
		require.NoError(t, err)
		enginetest.Settle()
		require.Equal(t, 2, e.Listens(user))
		lists, err := e.Store.Playlists(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, lists, 1)
		require.Equal(t, "Rain", lists[0].Name)

		// The subscription ends, and the status page shows what to do.
		up.Fail("api.jukebox.example.org", func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, http.StatusPaymentRequired, `{}`), nil
		})
		time.Sleep(10 * time.Minute)
		enginetest.Settle()
		open := e.Open(user)
		require.Len(t, open, 1)
		require.Contains(t, open[0].Message.String(), "The subscription there has ended.")
	})
}

// TestTrial checks that the trial finds an unregistered app.
func TestTrial(t *testing.T) {
	t.Parallel()
	d := example.Describe()
	settings, err := d.Read(map[string]string{"client_id": "nobody"})
	require.NoError(t, err)
	call := providertest.Call(providertest.Respond(func(req *http.Request) (int, http.Header, string) {
		body, _ := io.ReadAll(req.Body)
		require.Equal(t, "client_id=nobody&grant_type=client_credentials", string(body))
		return http.StatusUnauthorized, nil, `{"error":"invalid_client"}`
	}))
	trials := d.Trials(settings, call, "https://music.example.org/connect/example/callback")
	require.Len(t, trials, 1)
	require.Equal(t, "Jukebox's client id", trials[0].What)
	require.Equal(t, resilience.Config, resilience.VerdictOf(trials[0].Try(t.Context())).Category)
}
