package navidrome_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	p := providertest.New(navidrome.Describe())
	base := func(typed string) (string, error) {
		account, err := p.Open(providertest.Call(providertest.Always(200, providertest.Golden(t, "ping_other.json"))),
			merge(geoff, library.Credentials{"url": typed})).Prove(t.Context())
		return account.Learned["url"], err
	}
	for typed, want := range map[string]string{
		"https://music.example.org":                        "https://music.example.org",
		"  HTTPS://Music.Example.Org:443/music// ":         "https://music.example.org/music",
		"music.example.org":                                "https://music.example.org",
		"music.example.org:4533/music":                     "https://music.example.org:4533/music",
		"http://music.example.org:80/":                     "http://music.example.org",
		"https://music.example.org/rest/":                  "https://music.example.org",
		"https://music.example.org/music/rest/ping.view?u": "https://music.example.org/music",
		"https://music.example.org/app/#/album/all":        "https://music.example.org",
		"https://music.example.org/admin/home":             "https://music.example.org",
		"https://music.example.org/gonic/admin/login?x=1":  "https://music.example.org/gonic",
		"https://music.example.org/gonic/admin/":           "https://music.example.org/gonic",
		"192.168.1.5:4533":                                 "http://192.168.1.5:4533",
		"127.0.0.1:4533/":                                  "http://127.0.0.1:4533",
		"localhost:4533":                                   "http://localhost:4533",
		"[::1]:4533":                                       "http://[::1]:4533",
		"[fd00::5]":                                        "http://[fd00::5]",
		"https://192.168.1.5":                              "https://192.168.1.5",
		"203.0.113.7":                                      "https://203.0.113.7",
	} {
		got, err := base(typed)
		require.NoError(t, err, typed)
		require.Equal(t, want, got, typed)
		require.Equal(t, want[strings.Index(want, "://")+3:][:len(p.App(library.Credentials{"url": typed}))],
			p.App(library.Credentials{"url": typed}))
	}
	for _, typed := range []string{
		"", "https://", "ftp://music.example.org", "my server", "https://geoff:secret-word@music.example.org",
		"http://[::1", "https://a b/",
	} {
		_, err := base(typed)
		requireSetting(t, "url", err)
		require.NotContains(t, err.Error(), "secret-word")
	}
	require.Empty(t, p.App(library.Credentials{"url": "my server"}))
	for missing, c := range map[string]library.Credentials{
		"username": {"username": " "},
		"password": {"password": ""},
	} {
		a := p.Open(resilience.Call{Client: http.DefaultClient}, merge(geoff, c))
		_, err := a.Prove(t.Context())
		requireSetting(t, missing, err)
		_, err = playlists(t.Context(), a)
		requireSetting(t, missing, err)
		_, err = listens(t.Context(), a, library.Span{})
		requireSetting(t, missing, err)
	}
}
