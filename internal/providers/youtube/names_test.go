package youtube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, channel, wantTitle, wantArtist string }{
		{"Roygbiv", "Boards of Canada - Topic", "Roygbiv", "Boards of Canada"},
		{"Intro - Part One", "Sigur Rós - Topic", "Intro - Part One", "Sigur Rós"},
		{"Sigur Rós - Svefn-g-englar", "anybody", "Svefn-g-englar", "Sigur Rós"},
		{"Björk – Jóga [Official Music Video] (HD)", "bjork.com", "Jóga", "Björk"},
		{"a-ha - Take On Me (Official Video) [Remastered in 4K]", "a-ha", "Take On Me", "a-ha"},
		{"Heroes (2017 Remaster)", "David Bowie", "Heroes (2017 Remaster)", "David Bowie"},
		{"A - B - C", "x", "B - C", "A"},
		{"Sigur Rós ‐ Svefn‐g‐englar", "x", "Svefn‐g‐englar", "Sigur Rós"},
		{"Jóga", "bjorkVEVO", "Jóga", "bjork"},
		{"(Official Video)", "x", "(Official Video)", "x"},
		{" - ", "x", "-", "x"},
		{"Title", "VEVO", "Title", "VEVO"},
	} {
		got := nameOf(c.title, c.channel)
		require.Equal(t, library.Track{Title: c.wantTitle, Artist: c.wantArtist}, got, c.title)
	}
}

func TestLengths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"PT4M13S": 253 * time.Second,
		"PT1H":    time.Hour,
		"P1DT2S":  24*time.Hour + 2*time.Second,
		"PT0S":    0,
		"P0D":     0,
		"":        0,
		"4:13":    0,
		"PT":      0,
		"P1W":     7 * 24 * time.Hour,
	} {
		require.Equal(t, want, parseLength(text), text)
	}
}
