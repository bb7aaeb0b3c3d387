package match

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// FuzzRepetitions requires that names that repeat something many times cost hardly any time.
func FuzzRepetitions(f *testing.F) {
	for _, s := range []string{"(", "a ", "feat. ", "(live) ", " - ", "é", "\u0301", "& ", "remaster 2011 ", "the ",
		"vs. "} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, title, artist string) {
		const long = 4000
		repeat := func(s string) string { return strings.Repeat(s, long/max(len(s), 1)) }
		a := library.Track{Title: repeat(title), Artist: repeat(artist), Album: repeat(title)}
		b := library.Track{Title: a.Title + "b", Artist: a.Artist, Album: a.Album}
		began := time.Now()
		Choose(a, []library.Track{b, a})
		Choose(b, []library.Track{a})
		require.Less(t, time.Since(began), 5*time.Second) // a few milliseconds, unless it grows with the square
	})
}
