package providers

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// FuzzServerAddress requires that the address of a server is refused in a sentence, or has a form that is read again
// as the same.
func FuzzServerAddress(f *testing.F) {
	for _, typed := range []string{"https://music.example.org", "music.example.org/path/", "192.168.1.5:4533",
		"[::1]:80", "localhost", "HTTP://Example.org:80", "https://user:secret@host", "ftp://x", "https://",
		"https://a b", "[fe80::1%25eth0]", "https://h:443:443", "https://h:/", "https://%41",
		"https://h/%2e%2e/", "https://h/a?b#c", "https://日本.example"} {
		f.Add(typed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		u, err := ServerAddress("url", typed)
		if err != nil {
			refused, ok := errors.AsType[*resilience.SettingError](err)
			require.True(t, ok)
			require.NotEmpty(t, refused.Problem.String())
			return
		}
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		require.NotEmpty(t, u.Hostname())
		require.Nil(t, u.User)
		again, err := ServerAddress("url", u.String())
		require.NoError(t, err, "%q became %q", typed, u)
		require.Equal(t, u.String(), again.String(), "%q", typed)
	})
}
