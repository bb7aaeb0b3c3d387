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

// The limits of the window in which plays of one track at two services count as the same play. A service may report the
// start or the end of a play, so the window is the track's length, with some slack for clocks.
const (
	unknownLength = 4 * time.Minute // when neither service reports the length
	clockSlack    = 30 * time.Second
	maxWindow     = time.Hour
)

// reach is how far around a page stored plays are compared: beyond the window, so that a row of repeats that starts or
// ends outside of the page can be put in order.
const reach = 2 * maxWindow

func window(a, b time.Duration) time.Duration {
	length := max(a, b)
	if length == 0 {
		length = unknownLength
	}
	return min(length+clockSlack, maxWindow)
}

// matchKey returns the same key for the names that services give to the same track: a hash of title and first artist,
// without case, accents, punctuation, "feat. …" and notes of a remaster.
func matchKey(title, artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normalTitle(title)))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(normal(firstArtist(artist))))
	return int64(h.Sum64())
}

// titleMarks begin what services add to a title; artistMarks separate the artists of a track, as services and tags join
// them (" • " is Navidrome's, " × " and " vs. " are join phrases of MusicBrainz).
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

// firstOf returns the index of the first of the marks; the end if there is none, or only one at the very start.
func firstOf(lower string, marks []string) int {
	cut := len(lower)
	for _, mark := range marks {
		if i := strings.Index(lower, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	return cut
}

// remasterAt returns where the note of a remaster begins, as in "Title - Remastered 2011", "Title (2011 Remaster)" and
// "Title [2011 - Remaster]"; the end if there is none.
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

// normal returns the letters and digits of s, in lower case and without accents. A name of symbols only stays as it is.
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

// report is a play as one service reported it.
type report struct {
	connection library.ConnectionID
	teller     string // the provider, or its export
	sourceID   string
	at         time.Time
	length     time.Duration
	play       *play // whose source it is; nil for a new listen
	moved      bool  // from the listen that it was a source of before
}

func newReport(conn library.ConnectionID, sourceID string, at time.Time, length time.Duration) report {
	return report{connection: conn, teller: tellerOf(string(conn), sourceID), sourceID: sourceID, at: at, length: length}
}

// tellerOf returns who reported a play. A provider's export reports the same plays as the provider, under ids of its
// own, so it counts as another teller.
func tellerOf(provider, sourceID string) string {
	if rest, ok := strings.CutPrefix(sourceID, library.FromExport); ok {
		kind, _, _ := strings.Cut(rest, ":")
		return provider + " " + library.FromExport + kind
	}
	return provider
}

// play is a stored listen with its reports.
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

// maxRearranged limits the search for an order of repeats.
const maxRearranged = 64

// join makes r a source of a listen that another service reported within the window and r's own has not, and reports
// whether there is one. Each listen takes one play of a provider, so two real plays of a track never become one. In a
// row of repeats that are closer together than the window, an earlier report of the same provider may belong to another
// listen; then it moves. So as many plays as possible find their counterpart, whatever their order of arrival (an
// augmenting path, as in bipartite matching).
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

// of returns the index of the teller's report of p, or -1.
func (p *play) of(teller string) int {
	return slices.IndexFunc(p.reports, func(r *report) bool { return r.teller == teller })
}

// fits reports whether r can be the same play as p, by the reports of all other tellers.
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
