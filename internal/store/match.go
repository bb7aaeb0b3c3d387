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

// reach is how far before and after a page stored plays are compared. It is longer than the window, so that repeats
// that begin or end outside of the page can be rearranged.
const reach = 2 * library.MaxWindow

// matchKey returns the same key for the different spellings of one track: a hash of title and first artist, without
// case, accents, punctuation, "feat. …" and notes about a remaster.
func matchKey(title, artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(normalTitle(title)))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(normal(firstArtist(artist))))
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

func normalTitle(title string) string {
	lower := strings.ToLower(title)
	return normal(lower[:min(firstOf(lower, titleMarks), remasterAt(lower))])
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

// normal returns the letters and digits of s, in lower case and without accents. If s has none, it returns s.
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

// report is a play as one connection reported it.
type report struct {
	connection library.ConnectionID
	reporter   string // the connection, or an export of it
	sourceID   string
	at         time.Time
	length     time.Duration
	play       *play // the listen that it is a source of; nil for a new listen
	moved      bool  // it was a source of another listen before
	was        *play // the listen that it is stored as a source of; nil for a new report
	sides      sides // on which it is of what is kept apart
}

func newReport(conn library.ConnectionID, sourceID string, at time.Time, length time.Duration) report {
	return report{connection: conn, reporter: reporterOf(conn, sourceID), sourceID: sourceID, at: at,
		length: length}
}

// reporterOf returns the reporter of a play. A provider's export has the same plays as the connection, with ids of its
// own, so each kind of export is another reporter.
func reporterOf(conn library.ConnectionID, sourceID string) string {
	if rest, ok := strings.CutPrefix(sourceID, library.FromExport); ok {
		kind, _, _ := strings.Cut(rest, ":")
		return string(conn) + " " + library.FromExport + kind
	}
	return string(conn)
}

// play is a stored listen with its reports.
type play struct {
	id      int64
	at      time.Time
	length  time.Duration
	isrc    bool  // known
	mbid    bool  // known
	spelt   int64 // the id of its spelling
	removed bool  // its person has deleted it
	fixed   bool  // it learns nothing: its person has changed it, and the facts are of what it was
	reports []*report
}

// matcher finds the stored listen that is the same play as a new report from another connection.
type matcher struct {
	known  map[int64][]*play // by match key, the earliest first
	stored []*report         // all reports of the known plays
}

// maxRearranged limits the search for an order of repeats.
const maxRearranged = 64

// join makes r a source of a listen that another reporter has within the window and r's own does not, and reports
// whether there is one. A listen takes one play of each reporter, so two real plays of a track never become one. When
// repeats are closer together than the window, join may move an earlier report of the same reporter to another listen,
// so that as many plays as possible find their counterpart in any order of arrival (an augmenting path, as in bipartite
// matching).
func (m *matcher) join(r *report, match int64) bool {
	return join(r, m.known[match], nil)
}

func join(r *report, among []*play, tried map[*play]bool) bool {
	for _, p := range among {
		if p.of(r.reporter) < 0 && p.fits(r) {
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
		i := p.of(r.reporter)
		if other := p.reports[i]; join(other, among, tried) {
			other.moved = true
			r.play, p.reports[i] = p, r
			return true
		}
	}
	return false
}

// of returns the index of a reporter's report of p, or -1.
func (p *play) of(reporter string) int {
	return slices.IndexFunc(p.reports, func(r *report) bool { return r.reporter == reporter })
}

// fits reports whether r can be the same play as p, judged by the reports of all other reporters.
func (p *play) fits(r *report) bool {
	others := false
	for _, o := range p.reports {
		if o.reporter == r.reporter {
			continue
		}
		if o.sides.against(r.sides) {
			return false
		}
		others = true
		if w := library.Window(p.length, r.length); r.at.Sub(o.at).Abs() > w {
			return false
		}
	}
	return others
}
