package navidrome_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/supysonictest"
)

// TestRealServer connects to a Subsonic server that supports no tokens and reports no plays.
func TestRealServer(t *testing.T) {
	t.Parallel()
	server := supysonictest.Start(t)
	server.CreatePlaylist("Rain", "High", "Low", "High")
	p := providertest.New(navidrome.Describe())
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	call := resilience.Call{Client: transport.NewClient(&transport.Transport{Base: base, UserAgent: "Reprise/test"})}
	creds := library.Credentials{"url": server.URL + "/rest/", "username": server.Username, "password": server.Password}

	account, err := p.Open(call, creds).Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, server.URL+"#"+server.Username, account.ID)
	require.Equal(t, strings.TrimPrefix(server.URL, "http://"), account.Label, "it does not say what it is")
	require.Equal(t, library.Credentials{
		"url": server.URL, "username": server.Username, "auth": "password", "form": "yes", "native": "no",
	}, account.Learned, "a token is refused with code 10, the password itself is not")

	for name, c := range map[string]library.Credentials{
		"learned":     merge(creds, account.Learned),
		"not learned": creds,
	} {
		t.Run(name, func(t *testing.T) {
			a := p.Open(call, c)
			lists, err := playlists(t.Context(), a)
			require.NoError(t, err)
			require.Len(t, lists, 1)
			require.Equal(t, "Rain", lists[0].Name)
			require.Equal(t, 3, lists[0].TrackCount)
			got, err := tracks(t.Context(), a, lists[0])
			require.NoError(t, err)
			require.Equal(t, []string{"High", "Low", "High"}, titles(got))
			require.Equal(t, "The Tones", got[0].Artist)
			require.Equal(t, "Test Signals", got[0].Album)
			require.InDelta(t, 1, got[0].Duration.Seconds(), 0.1)
			require.NotEmpty(t, got[0].SourceID)
			_, err = listens(t.Context(), a, library.Span{})
			require.ErrorIs(t, err, providers.ErrNotOffered, "it does not tell what was played")
			_, err = tracks(t.Context(), a, library.Playlist{SourceID: "9c1e3a52-6f3c-4f0e-9d0b-2f2b7f6f0a11"})
			require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Item,
				Scope: resilience.ScopeItem}, resilience.VerdictOf(err), "%v", err)
		})
	}

	learned := merge(creds, account.Learned)
	server.SetPassword("another one")
	_, err = playlists(t.Context(), p.Open(call, learned))
	require.Equal(t, deadCredential, resilience.VerdictOf(err), "%v", err)
	_, err = p.Open(call, creds).Prove(t.Context())
	require.Equal(t, deadCredential, resilience.VerdictOf(err), "%v", err)
	learned["password"] = "another one"
	_, err = playlists(t.Context(), p.Open(call, learned))
	require.NoError(t, err)
	server.SetPassword(server.Password)
	_, err = p.Open(call, creds).Prove(t.Context())
	require.NoError(t, err)

	server.Stop()
	_, err = playlists(t.Context(), p.Open(call, learned))
	v := resilience.VerdictOf(err)
	require.Equal(t, resilience.Network, v.Category, "%v", err)
	require.NotZero(t, v.FirstDelay, "a server at home is soon back")
}

func titles(ts []library.Track) []string {
	var all []string
	for _, t := range ts {
		all = append(all, t.Title)
	}
	return all
}
