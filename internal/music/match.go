package music

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
)

// Reach is how far before and after a page stored plays are compared. It is longer than the window, so that repeats
// that begin or end outside of the page can be rearranged.
const Reach = 2 * library.MaxWindow

// Report is a play as one connection reported it.
type Report struct {
	Connection library.ConnectionID
	reporter   string // the connection, or an export of it
	SourceID   string
	At         time.Time
	length     time.Duration
	Play       *Play // the listen that it is a source of; nil for a new listen
	Moved      bool  // it was a source of another listen before
	Was        *Play // the listen that it is stored as a source of; nil for a new report
	Sides      Sides // on which it is of what is kept apart
}

// NewReport returns a report of a play that began at a time, of a track with a length; 0 if that is unknown.
func NewReport(conn library.ConnectionID, sourceID string, at time.Time, length time.Duration) Report {
	return Report{Connection: conn, reporter: reporterOf(conn, sourceID), SourceID: sourceID, At: at,
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

// Play is a stored listen with its reports.
type Play struct {
	ID      int64
	At      time.Time
	Length  time.Duration
	ISRC    bool  // known
	MBID    bool  // known
	Spelt   int64 // the id of its spelling
	Removed bool  // its person has deleted it
	Fixed   bool  // it learns nothing: its person has changed it, and the facts are of what it was
	Reports []*Report
}

// Matcher finds out which stored listens a connection reports.
type Matcher struct {
	Known  map[int64][]*Play // by match key, the earliest first
	Stored []*Report         // all reports of the known plays
	Sent   []*Play           // forwarded to the connection, which has not reported them yet
	// Apart holds the sides of the sources that the person keeps apart.
	Apart map[library.Source]Sides
	// Told holds the match keys of the names by which plays of a page were told, where they have others now.
	Told map[*library.Listen]int64
}

// Recognise returns a report for each play of a page, which is sorted by time. The report of a new listen has no Play.
func (m *Matcher) Recognise(conn library.ConnectionID, page []*library.Listen) []Report {
	reports := make([]Report, len(page))
	for i, l := range page {
		reports[i] = NewReport(conn, l.SourceID, l.PlayedAt, l.Duration)
		reports[i].Sides = m.Apart[library.Source{Connection: conn, SourceID: l.SourceID}]
		if l.Approximate || m.Join(&reports[i], MatchKey(l.Title, Indexed(l.Artist))) {
			continue
		}
		if told, ok := m.Told[l]; ok {
			m.Join(&reports[i], told)
		}
	}
	for _, removed := range []bool{false, true} {
		m.echoes(page, reports, removed)
	}
	return reports
}

// echoes finds plays that were forwarded to the connection and come back under other names: a provider may change the
// spelling of artist and title, but keeps the second of the play. removed chooses between the listens that the person
// has deleted and the others, which are tried first.
func (m *Matcher) echoes(page []*library.Listen, reports []Report, removed bool) {
	bySecond := map[int64][]*Play{}
	for _, p := range m.Sent {
		if p.Removed == removed {
			bySecond[p.At.Unix()] = append(bySecond[p.At.Unix()], p)
		}
	}
	if len(bySecond) == 0 {
		return
	}
	taken := map[int64]bool{}
	for i := range reports {
		if p := reports[i].Play; p != nil {
			taken[p.ID] = true
		}
	}
	for i, l := range page {
		sent := bySecond[l.PlayedAt.Unix()]
		if reports[i].Play != nil || l.Approximate || len(sent) != 1 || taken[sent[0].ID] {
			continue
		}
		taken[sent[0].ID] = true
		sent[0].Fixed = true // it learns nothing from this report
		reports[i].Play = sent[0]
	}
}

// maxRearranged limits the search for an order of repeats.
const maxRearranged = 64

// Join makes r a source of a listen that another reporter has within the window and r's own does not, and reports
// whether there is one. A listen takes one play of each reporter, so two real plays of a track never become one. When
// repeats are closer together than the window, join may move an earlier report of the same reporter to another listen,
// so that as many plays as possible find their counterpart in any order of arrival (an augmenting path, as in bipartite
// matching).
func (m *Matcher) Join(r *Report, match int64) bool {
	return join(r, m.Known[match], nil)
}

func join(r *Report, among []*Play, tried map[*Play]bool) bool {
	for _, p := range among {
		if p.of(r.reporter) < 0 && p.fits(r) {
			r.Play = p
			p.Reports = append(p.Reports, r)
			return true
		}
	}
	for _, p := range among {
		if tried[p] || len(tried) >= maxRearranged || !p.fits(r) {
			continue
		}
		if tried == nil {
			tried = map[*Play]bool{}
		}
		tried[p] = true
		i := p.of(r.reporter)
		if other := p.Reports[i]; join(other, among, tried) {
			other.Moved = true
			r.Play, p.Reports[i] = p, r
			return true
		}
	}
	return false
}

// PlaysOf returns the index of a reporter's report of p, or -1.
func (p *Play) of(reporter string) int {
	return slices.IndexFunc(p.Reports, func(r *Report) bool { return r.reporter == reporter })
}

// fits reports whether r can be the same play as p, judged by the reports of all other reporters.
func (p *Play) fits(r *Report) bool {
	others := false
	for _, o := range p.Reports {
		if o.reporter == r.reporter {
			continue
		}
		if o.Sides.against(r.Sides) {
			return false
		}
		others = true
		if w := library.Window(p.Length, r.length); r.At.Sub(o.At).Abs() > w {
			return false
		}
	}
	return others
}

// Sides are on which side a source is of what is kept apart, by correction.
type Sides map[int64]int

// against reports whether two sources are never of one listen.
func (s Sides) against(other Sides) bool {
	for correction, side := range s {
		if there, ok := other[correction]; ok && there != side {
			return true
		}
	}
	return false
}

// Sort brings the plays of all piles into the order in which those of one are.
func (m *Matcher) Sort() {
	for _, plays := range m.Known {
		slices.SortFunc(plays, func(a, b *Play) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
		})
	}
}

// CouldBe reports whether a listen from an export may be the same play, reported by other connections. apart says on
// which side of what is kept apart each source is.
func (p *Play) CouldBe(l *library.StoredListen, apart map[library.Source]Sides) bool {
	for _, s := range l.Sources {
		r := NewReport(s.Connection, s.SourceID, l.PlayedAt.Add(s.Later), l.Duration)
		r.Sides = apart[library.Source{Connection: s.Connection, SourceID: s.SourceID}]
		if p.of(r.reporter) >= 0 || !p.fits(&r) {
			return false
		}
	}
	return true
}
