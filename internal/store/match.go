package store

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode"

	"reprise/internal/library"

	"golang.org/x/text/unicode/norm"
)

// The bounds of the window in which plays of one track at two services count as the same play. A service may report
// the start or the end of a play, so the window is the track's length, with some slack for clocks.
const (
	unknownLength = 4 * time.Minute // when neither service tells the length
	clockSlack    = 30 * time.Second
	maxWindow     = time.Hour
)

// reach is how far around a page stored plays are looked at: beyond the window, so that a row of repeats that reaches
// out of the page can be put in order.
const reach = 2 * maxWindow

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

// titleMarks begin what services add to a title; artistMarks stand between the artists of a track, as services and
// tags join them (" • " is Navidrome's, " × " and " vs. " are join phrases of MusicBrainz).
var (
	titleMarks = []string{" (feat", " [feat", " feat. ", " featuring ", " (ft. ", " [ft. ", " (ft ", " ft. ",
		" (with ", " [with "}
	artistMarks = []string{", ", "; ", " feat", " ft.", " ft ", " & ", " and ", " x ", " × ", " + ", " vs. ", " vs ",
		" with ", " / ", " • "}
)

func normalTitle(title string) string {
	lower := strings.ToLower(title)
	return normal(lower[:min(firstOf(lower, titleMarks), remasterAt(lower))])
}

func firstArtist(artist string) string {
	lower := strings.ToLower(artist)
	return lower[:firstOf(lower, artistMarks)]
}

// firstOf is where the first of the marks stands; without one, or with one at the very start only, it is the end.
func firstOf(lower string, marks []string) int {
	cut := len(lower)
	for _, mark := range marks {
		if i := strings.Index(lower, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	return cut
}

// remasterAt is where the remark of a remaster begins, as in "Title - Remastered 2011", "Title (2011 Remaster)" and
// "Title [2011 - Remaster]"; without one it is the end.
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

// report is what one service told of a play.
type report struct {
	provider string
	teller   string // the provider, or its export
	sourceID string
	at       time.Time
	length   time.Duration
	play     *play // whose source it is; nil for a new listen
	moved    bool  // from the listen that it was a source of before
}

func newReport(provider, sourceID string, at time.Time, length time.Duration) report {
	return report{provider: provider, teller: tellerOf(provider, sourceID), sourceID: sourceID, at: at, length: length}
}

// tellerOf is who tells of a play. A provider's export tells of the same plays as the provider does, in words of its
// own, so to matching it is somebody else.
func tellerOf(provider, sourceID string) string {
	if rest, ok := strings.CutPrefix(sourceID, library.FromExport); ok {
		kind, _, _ := strings.Cut(rest, ":")
		return provider + " " + library.FromExport + kind
	}
	return provider
}

// play is a stored listen as matching sees it.
type play struct {
	id      int64
	at      time.Time
	length  time.Duration
	isrc    bool // known
	mbid    bool // known
	reports []*report
}

// matcher finds, for each play that a provider reports, the listen that is the same play at another service.
type matcher struct {
	known  map[int64][]*play // by match key, the earliest first
	stored []*report         // all reports of the known plays
}

// maxRearranged bounds the search for an order of repeats.
const maxRearranged = 64

// join makes r a source of a listen that another service told of within the window and r's own has not, and says
// whether there is one. Each listen takes one play of a provider, so two real plays of a track never become one. Where
// a row of repeats lies closer together than the window, an earlier report of the same provider may be the one that
// belongs elsewhere: then it moves on. So as many plays find their counterpart as can, in whatever order they arrive
// (an augmenting path, as in the matching of bipartite graphs).
func (m *matcher) join(r *report, match int64) bool {
	return join(r, m.known[match], nil)
}

func join(r *report, among []*play, tried map[*play]bool) bool {
	for _, p := range among {
		if p.of(r.teller) < 0 && p.fits(r) {
			r.play = p
			p.reports = append(p.reports, r)
			return true
		}
	}
	for _, p := range among {
		if tried[p] || len(tried) >= maxRearranged || !p.fits(r) {
			continue
		}
		if tried == nil {
			tried = map[*play]bool{}
		}
		tried[p] = true
		i := p.of(r.teller)
		if other := p.reports[i]; join(other, among, tried) {
			other.moved = true
			r.play, p.reports[i] = p, r
			return true
		}
	}
	return false
}

// of is the index of the teller's report of p, or -1.
func (p *play) of(teller string) int {
	return slices.IndexFunc(p.reports, func(r *report) bool { return r.teller == teller })
}

// fits says whether r can be the same play as what all other services reported as p.
func (p *play) fits(r *report) bool {
	others := false
	for _, o := range p.reports {
		if o.teller == r.teller {
			continue
		}
		others = true
		if w := window(p.length, r.length); r.at.Sub(o.at).Abs() > w {
			return false
		}
	}
	return others
}
