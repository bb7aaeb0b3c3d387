package imports

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// in returns a text in another encoding.
func in(t testing.TB, e encoding.Encoding, text string) string {
	t.Helper()
	out, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return out
}

const (
	iceland = "artist,album,track,date\nBjörk,Début,Jóga,1709661600\n"
	golden  = "2024-03-05T18:00:00Z | Björk – Jóga – Début | 0s | "
	asList  = `[{"artist":"Björk","album":"Début","name":"Jóga","date":"1709661600"}]`
)

func TestFilesInOtherEncodingsAreConverted(t *testing.T) {
	t.Parallel()
	little := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	big := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	plain := strings.Repeat("A,B,C,1709661600\n", 20_000) // longer than what is looked at in the beginning
	for name, text := range map[string]string{
		"UTF-8":                       iceland,
		"UTF-8 with a mark":           "\ufeff" + iceland,
		"Latin-1":                     in(t, charmap.ISO8859_1, iceland),
		"Windows-1252":                in(t, charmap.Windows1252, iceland),
		"UTF-16, little":              in(t, little, iceland),
		"UTF-16, big":                 in(t, big, iceland),
		"UTF-16, little, with a mark": in(t, little, "\ufeff"+iceland),
		"UTF-16, big, with a mark":    in(t, big, "\ufeff"+iceland),
		"a list in UTF-8":             asList,
		"a list in Latin-1":           in(t, charmap.ISO8859_1, asList),
		"a list in UTF-16":            in(t, little, asList),
		"Latin-1, but late":           plain + in(t, charmap.ISO8859_1, iceland),
		"UTF-8, but late":             plain + iceland,
	} {
		got, err := rows(t, "lastfm", text)
		require.NoError(t, err, name)
		require.Contains(t, got[len(got)-1], golden, name)
		again, err := rowsOf(t, "lastfm", iotest.OneByteReader(strings.NewReader(text)), int64(len(text)))
		require.NoError(t, err, name)
		require.Equal(t, got, again, "%s, a byte at a time", name)
	}
}

// A word for word copy of what cannot be read must not become a name such as "Bj\ufffdrk".
func TestNoLetterIsLostUnsaid(t *testing.T) {
	t.Parallel()
	latin := func(s string) string { return in(t, charmap.ISO8859_1, s) }
	const good = `{"artist":"Björk","album":"Début","name":"Jóga","date":"1709661600"}`
	for name, c := range map[string]struct{ provider, text string }{
		"a row of another file":    {"lastfm", iceland + latin("Björk,Début,Jóga,1709661600\n")},
		"a row of another list":    {"lastfm", "[" + good + "," + latin(good) + "]"},
		"half of a letter":         {"lastfm", "[" + good + "," + strings.ReplaceAll(good, "ö", `\ud83d`) + "]"},
		"a byte that has no sense": {"lastfm", latin(iceland) + "Bj\x81rk,D,J,1709661600\n"},
		"a zero":                   {"lastfm", "[" + good + "," + strings.ReplaceAll(good, "ö", `\u0000`) + "]"},
	} {
		got, err := rows(t, c.provider, c.text)
		require.NoError(t, err, name)
		require.Len(t, got, 2, name)
		require.Contains(t, got[0], "Björk", name)
		require.Equal(t, "bad: characters that can't be read", got[1], name)
	}
	escaped, raw := strings.ReplaceAll(good, "ö", `\uFFFD`), strings.ReplaceAll(good, "ö", "\ufffd")
	own, err := rows(t, "lastfm", `[`+escaped+`,`+raw+`]`)
	require.NoError(t, err)
	require.Contains(t, own[0], "Bjrk", "the service has lost it")
	require.Contains(t, own[1], "Bjrk", "the service has lost it")
}

func TestOtherScriptsMustBeUTF8(t *testing.T) {
	t.Parallel()
	table := func(e encoding.Encoding, names string) string {
		return in(t, e, "artist,album,track,date\n"+names+",1709661600\n")
	}
	for name, text := range map[string]string{
		"Cyrillic": table(charmap.Windows1251, "Кино,Группа крови,Спокойная ночь"),
		"Greek":    table(charmap.ISO8859_7, "Βαγγέλης,Άλμπουμ,Τίτλος"),
		"Japanese": table(japanese.ShiftJIS, "サカナクション,アルバム,ミュージック"),
		"pictures": "\xff\xd8\xff\xe0" + strings.Repeat("\x00\x01\x9d\x83", 500),
	} {
		got, err := rows(t, "lastfm", text)
		require.Error(t, err, name)
		require.Contains(t, inWords(err).String(), "save it as UTF-8", name)
		for _, line := range got {
			require.NotContains(t, line, "1709661600", name)
		}
	}
	broken := errors.New("broken")
	half := io.MultiReader(strings.NewReader("artist,track,date\nBjörk"), iotest.ErrReader(broken))
	_, err := rowsOf(t, "lastfm", half, 99)
	require.ErrorIs(t, err, broken)
}
