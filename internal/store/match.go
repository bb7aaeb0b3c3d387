package store

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"reprise/internal/providers"
)

// The bounds of the window in which plays of one track at two services count as the same play. A service may report
// the start or the end of a play, so the window is the track's length, with some slack for clocks.
const (
	unknownLength = 4 * time.Minute // when neither service tells the length
	clockSlack    = 30 * time.Second
	maxWindow     = 15 * time.Minute
)

func window(a, b time.Duration) time.Duration {
	length := max(a, b)
	if length == 0 {
		length = unknownLength
	}
	return min(length+clockSlack, maxWindow)
}

// matchKey is equal for the names that services give to the same track: title and first artist without case, accents,
// punctuation, "feat. …" and remark of a remaster.
func matchKey(title, artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normalTitle(title)))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(normal(firstArtist(artist))))
	return int64(h.Sum64())
}

func normalTitle(title string) string {
	lower := strings.ToLower(title)
	cut := len(title)
	for _, mark := range []string{" (feat", " [feat", " feat. ", " (ft. ", " (with ", " - remaster", " (remaster"} {
		if i := strings.Index(lower, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	// "Title - 2011 Remaster" and "Title (2011 Remaster)"
	if i := strings.LastIndexAny(lower, "-("); i > 1 && strings.Contains(lower[i:], "remaster") {
		cut = min(cut, i)
	}
	if cut > len(title) || len(lower) != len(title) { // a letter whose lower case is longer
		return normal(lower[:min(cut, len(lower))])
	}
	return normal(title[:cut])
}

func firstArtist(artist string) string {
	lower := strings.ToLower(artist)
	cut := len(lower)
	for _, mark := range []string{", ", "; ", " feat", " ft.", " & ", " and ", " x ", " with ", " / "} {
		if i := strings.Index(lower, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	return lower[:cut]
}

// normal keeps letters and digits, in lower case and without accents. A name of symbols only stays as it is.
func normal(s string) string {
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

// play is a stored or new listen as matching sees it.
type play struct {
	id        int64
	match     int64
	at        time.Time
	length    time.Duration
	providers []string
	isrc      bool // known
	mbid      bool
}

// matcher finds, for each play that a provider reports, the listen that is the same play at another service.
type matcher struct {
	provider string
	known    map[int64][]*play // by match key, the earliest first
}

func newMatcher(provider string, stored []*play) *matcher {
	m := &matcher{provider: provider, known: make(map[int64][]*play, len(stored))}
	for _, p := range stored {
		m.known[p.match] = append(m.known[p.match], p)
	}
	return m
}

// same returns the earliest listen within the window that this provider has not told of yet, or nil. Plays must be
// asked for in the order of their time: then as many of them find their counterpart as can, and two real plays of one
// track never become one, since each listen takes one play of a provider.
func (m *matcher) same(l *providers.Listen, match int64) *play {
	if l.Approximate {
		return nil
	}
	for _, p := range m.known[match] {
		w := window(p.length, l.Duration)
		if d := l.PlayedAt.Sub(p.at); d <= w && d >= -w && !slices.Contains(p.providers, m.provider) {
			p.providers = append(p.providers, m.provider)
			return p
		}
	}
	return nil
}
