package bounded

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestEncodingsBecomeUTF8(t *testing.T) {
	t.Parallel()
	const name = `{"artist":"Björk","price":"5 €"}`
	const latin = "{\"artist\":\"Bj\xf6rk\",\"price\":\"5 \x80\"}"
	for _, c := range []struct{ name, text, declared string }{
		{"UTF-8", name, ""},
		{"declared UTF-8", name, "UTF-8"},
		{"UTF-8 with a mark", "\ufeff" + name, ""},
		{"UTF-8 that is declared to be Latin-1", name, "iso-8859-1"},
		{"Latin-1", latin, ""},
		{"declared Latin-1", latin, "ISO-8859-1"},
		{"Windows-1252 that is declared to be UTF-8", latin, "utf-8"},
		{"a declaration that nobody knows", latin, "martian"},
		{"little UTF-16 with a mark", "\xff\xfe" + utf16(name, false), ""},
		{"big UTF-16 with a mark", "\xfe\xff" + utf16(name, true), "utf-8"},
		{"little UTF-16", utf16(name, false), ""},
		{"big UTF-16", utf16(name, true), "utf-16be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := UTF8([]byte(c.text), c.declared)
			require.NoError(t, err)
			require.Equal(t, name, string(got))
		})
	}
	got, err := UTF8([]byte("\"\x1b$B?eB?\x1b(B\""), "ISO-2022-JP")
	require.NoError(t, err)
	require.Equal(t, `"水多"`, string(got))
	got, err = UTF8([]byte("\"\x93\xfa\x96{\""), "shift_jis")
	require.NoError(t, err)
	require.Equal(t, `"日本"`, string(got))
}

func TestUnreadableEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, declared, what string }{
		{"a mixture", `["Björk","Bj` + "\xf6" + `rk"]`, "", "text in a mixture of encodings"},
		{"bytes of no letter", "[\"Bj\x81rk\"]", "", "text in an unknown encoding"},
		{"broken UTF-16", "\xff\xfe[\x00\x00\xd8]\x00", "", "broken UTF-16"},
		{"half a letter", "[\"\x93\"]", "shift_jis", "text that is not in shift_jis as declared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := UTF8([]byte(c.text), c.declared)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.what, e.What)
		})
	}
}

// FuzzUTF8 expects valid UTF-8 or an error of everything, and that valid UTF-8 stays as it is.
func FuzzUTF8(f *testing.F) {
	for _, seed := range []string{
		"", "a", "Björk", "Bj\xf6rk", "\ufeffx", "\xff\xfea\x00", "\x00a\x00b", "\x1b$B?e", "\xed\xa0\x80",
	} {
		for _, charset := range []string{"", "utf-8", "iso-2022-jp", "gbk", "utf-16le"} {
			f.Add([]byte(seed), charset)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, declared string) {
		got, err := UTF8(text, declared)
		if err != nil {
			return
		}
		require.True(t, utf8.Valid(got), "%q", got)
		require.LessOrEqual(t, len(got), 3*len(text))
		if declared == "" && utf8.Valid(text) && utf16Of(text) == nil {
			require.Equal(t, strings.TrimPrefix(string(text), "\ufeff"), string(got))
		}
	})
}

func utf16(text string, big bool) string {
	var out []byte
	for _, r := range text {
		if big {
			out = append(out, byte(r>>8), byte(r))
		} else {
			out = append(out, byte(r), byte(r>>8))
		}
	}
	return string(out)
}

func BenchmarkUTF8(b *testing.B) {
	text := []byte(strings.Repeat(`{"artist":"Björk","title":"A title of a song"},`, 20_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := UTF8(text, "utf-8"); err != nil {
			b.Fatal(err)
		}
	}
}
