package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesAreTheSameHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Björk": "bjork", "BJO\u0308RK": "bjork", "Sigur Rós": "sigur ros", "Don’t Stop": "dont stop",
		"Guns N' Roses": "guns n roses", "Simon & Garfunkel": "simon and garfunkel", "Røyksopp": "royksopp",
		"Straße": "strasse", "Æther": "aether", "AC/DC": "ac dc", "A$AP Rocky": "asap rocky", "P!nk": "pink",
		"Panic! at the Disco": "panic at the disco", "İstanbul": "istanbul", "東京 Boogie": "東 京 boogie",
		"!!!": "x21 x21 x21", "+": "x2b", "  ": "", "a\x00b\xff": "a b", "Ａｂｃ １": "abc 1", "Ｄｏｎ＇ｔ": "dont",
	} {
		require.Equal(t, want, strings.Join(Words(text), " "), text)
	}
	require.Equal(t, []string{"ac", "dc", "acdc"}, Index("AC/DC"))
	require.LessOrEqual(t, len(Words(strings.Repeat("many words ", 1000))), mostWords)
	require.Len(t, Words(strings.Repeat("w", 1<<20))[0], longestWord)
}

func TestOneSlipIsForgiven(t *testing.T) {
	t.Parallel()
	v := (&Vocabulary{}).With([]string{"radiohead", "queen", "queens", "muse", "björn", "sigur", "ros", "кино"})
	for typed, want := range map[string]string{
		"radoihead": "radiohead", "raidiohead": "radiohead", "radiohed": "radiohead", "rafiohead": "radiohead",
		"adiohead": "radiohead", "radioheadd": "radiohead", "raduoh": "radiohead", // not finished
		"quen": "queen", "qeuen": "queen", "msue": "muse", "mue": "muse", "bjorn": "björn", "кило": "кино",
	} {
		require.Contains(t, v.near(typed), want, typed)
	}
	for _, typed := range []string{"ra", "rqdoihead", "use", "", "quuuen"} {
		require.Empty(t, v.near(typed), typed)
	}
	require.Equal(t, []Query{{{{{"sigurros", true}}, {{"sigur", false}, {"ros", true}}}}}, v.Slips(Ask("sigurros")))
	require.Equal(t, []Query{{{{{"radiohead", true}}}}}, v.Slips(Ask("radio head")))
	require.Nil(t, v.Slips(Ask("nothing near")))
	require.Nil(t, v.Slips(Ask("")))
}

func TestTheNearestNameIsTheFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed, name string
		rank        int
	}{
		{"air", "Air", Whole}, {"air", "Airbourne", Begins}, {"air", "Fresh Air", Has}, {"quen", "Queen", Near},
		{"the beatles", "Beatles", Whole}, {"beatles", "The Beatles", Whole}, {"acdc", "AC/DC", Whole},
		{"creep", "Radiohead", Other}, {"sigr ross", "Sigur Rós", Has},
	} {
		require.Equal(t, c.rank, Ask(c.typed).Rank(c.name), "%s in %s", c.typed, c.name)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Don't \"Stop\" NEAR(a*")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range append(Index(text), Words(text)...) {
			require.NotEmpty(t, w)
			for _, r := range w {
				require.True(t, isLetter(r), "%q of %q", w, text)
			}
			(&Vocabulary{[]string{"radiohead", w}}).Slips(Ask(w + text))
		}
		Ask(text).Rank("Radiohead")
		Ask("radiohead").Rank(text)
	})
}
