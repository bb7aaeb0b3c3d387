package core

import (
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// FuzzLocalPath requires that what a link or a form names as the way back never leads to another site, also to
// browsers, which take a backslash for a slash and leave out tabs and line breaks.
func FuzzLocalPath(f *testing.F) {
	for _, path := range []string{"/", "", "/listens?page=2", "//evil.example", "/\\evil.example", "/\t/evil.example",
		"https://evil.example", "/%2f/evil.example", "javascript:alert(1)", "/..//evil.example", "/a#b", "/ /x",
		"/\n\\evil.example", "/.//evil.example"} {
		f.Add(path)
	}
	here, err := url.Parse("https://reprise.example/connect")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		got := LocalPath(path)
		to, err := here.Parse(got)
		require.NoError(t, err)
		require.Equal(t, "reprise.example", to.Host)
		require.Equal(t, "https", to.Scheme)
		require.Equal(t, byte('/'), got[0])
		seen := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r < unicode.MaxASCII {
				return -1
			}
			return r
		}, got)
		require.False(t, len(seen) > 1 && strings.ContainsRune(`/\`, rune(seen[1])), "%q", got)
	})
}
