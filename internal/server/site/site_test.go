package site

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhichAddressFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, here string
		fits       bool
	}{
		{"http://127.0.0.1:8420", "http://127.0.0.1:8420", true},
		{"http://127.0.0.1:8420", "http://192.168.1.20:8420", false},
		{"http://192.168.1.20:8420", "http://127.0.0.1:8420", true}, // on the machine itself
		{"https://music.example.org", "https://music.example.org", true},
		{"https://music.example.org", "http://music.example.org", true}, // behind a proxy
		{"https://music.example.org:443", "https://Music.example.org", true},
		{"https://music.example.org", "http://nas:8420", false},
		{"http://nas:8420", "http://nas:80", false},
	} {
		base, err := url.Parse(c.base)
		require.NoError(t, err)
		here, err := url.Parse(c.here)
		require.NoError(t, err)
		require.Equal(t, c.fits, fits(base, here), "%s, %s", c.base, c.here)
	}
	r := httptest.NewRequest("GET", "http://nas:8420/", nil)
	require.Equal(t, "http://nas:8420", Here(r).String())
	r.Header.Set("X-Forwarded-Proto", "https")
	require.Equal(t, "https://nas:8420", Here(r).String())
}
