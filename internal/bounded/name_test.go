package bounded

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLinesDisturbNothingAround(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Jóga":                       "Jóga",
		"a\nb\tc\r\u2028d":           "a b c  d",
		"\x00a\x1b[31mb\x7f\u0085":   "a[31mb",
		"Bj\ufffdrk":                 "Bjrk",
		"Bj\xf6rk":                   "Bjrk",
		"\u202eevil\u202c \u2066x":   "evil x",
		"👩\u200d🎤 שלום\u200f \u0645": "👩\u200d🎤 שלום\u200f \u0645",
		"\ufeffmark":                 "mark",
	} {
		require.Equal(t, want, Line(text))
		require.Equal(t, want, Line(want))
	}
}

func TestLongTextsAreCutWithAMark(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("ö", 5), Cut(strings.Repeat("ö", 5), 5, 100))
	require.Equal(t, "öööö…", Cut(strings.Repeat("ö", 6), 5, 100))
	require.Equal(t, "öö…", Cut(strings.Repeat("ö", 6), 50, 8))
	require.Equal(t, "öööö", Cut(strings.Repeat("ö", 4), 50, 8))
	require.Equal(t, "…", Cut("音楽", 1, 100))
}

// FuzzCut expects that what was cut stays within both limits, is valid, and stays the same.
func FuzzCut(f *testing.F) {
	f.Add("Jóga", 3, 4)
	f.Add("\xf6\u202e…", 1, 3)
	f.Fuzz(func(t *testing.T, text string, letters, size int) {
		if letters < 1 || size < 3 {
			return
		}
		got := Cut(Line(text), letters, size)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), size)
		require.LessOrEqual(t, utf8.RuneCountInString(got), letters)
		require.Equal(t, got, Cut(Line(got), letters, size))
	})
}
