package music

import (
	"hash/fnv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// mostIndexed is the most bytes of a name. An index has both artist and album, and Postgres allows 2,700 bytes for an
// entry. One longer name would otherwise block everything after it.
const mostIndexed = 1000

// Indexed returns a name cut to mostIndexed bytes.
func Indexed(name string) string {
	if len(name) <= mostIndexed {
		return name
	}
	return strings.ToValidUTF8(name[:mostIndexed], "")
}

// MatchKey returns the same key for the different spellings of one track: a hash of title and first artist, without
// case, accents, punctuation, "feat. …" and notes about a remaster.
func MatchKey(title, artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(NormalTitle(title)))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(Normal(firstArtist(artist))))
	return int64(h.Sum64())
}

// titleMarks begin what services append to a title. artistMarks separate the artists of a track (" • " comes from
// Navidrome, " × " and " vs. " from MusicBrainz).
var (
	titleMarks = []string{" (feat", " [feat", " feat. ", " featuring ", " (ft. ", " [ft. ", " (ft ", " ft. ",
		" (with ", " [with "}
	artistMarks = []string{", ", "; ", " feat", " ft.", " ft ", " & ", " and ", " x ", " × ", " + ", " vs. ", " vs ",
		" with ", " / ", " • "}
)

// NormalTitle returns the normal name of a title, without guests and remarks such as "(2011 Remaster)".
func NormalTitle(title string) string {
	lower := strings.ToLower(title)
	return Normal(lower[:min(firstOf(lower, titleMarks), remasterAt(lower))])
}

func firstArtist(artist string) string {
	lower := strings.ToLower(artist)
	return lower[:firstOf(lower, artistMarks)]
}

// firstOf returns the index of the first of the marks, or the end if there is none. It ignores marks at the very start.
func firstOf(lower string, marks []string) int {
	cut := len(lower)
	for _, mark := range marks {
		if i := strings.Index(lower, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	return cut
}

// remasterAt returns where the note about a remaster begins, as in "Title - Remastered 2011", "Title (2011 Remaster)"
// and "Title [2011 - Remaster]", or the end if there is none.
func remasterAt(lower string) int {
	at := strings.LastIndex(lower, "remaster")
	if at < 0 {
		return len(lower)
	}
	if i := strings.LastIndexAny(lower[:at], "(["); i > 0 && !strings.ContainsAny(lower[i:at], ")]") {
		return i
	}
	for _, dash := range []string{" - ", " – "} {
		if i := strings.LastIndex(lower[:at], dash); i > 0 {
			return i
		}
	}
	return len(lower)
}

// Normal returns the letters and digits of s, in lower case and without accents. If s has none, it returns s.
func Normal(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 {
			ascii = false
			break
		}
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteByte(c)
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		}
	}
	if !ascii {
		b.Reset()
		for _, r := range norm.NFKD.String(s) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	if b.Len() == 0 {
		return s
	}
	return b.String()
}
