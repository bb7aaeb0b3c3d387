package library

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPlayerIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"Rhythmbox", "plugin", "Rhythmbox"}, {"", "Web Scrobbler", "Web Scrobbler"},
		{"", "Reprise", ""}, {"", "listenbrainz", ""}, {"", "ListenBrainz Archive Importer", ""}, {"", "", ""},
		{" two\nlines ", "", "two lines"}, {strings.Repeat("ä", 101), "", strings.Repeat("ä", 98) + "…"}} {
		name := PlayedWith(c[0], c[1])
		require.Equal(t, c[2], name)
		require.Equal(t, name, Player(name), "it stays the same")
	}
}
