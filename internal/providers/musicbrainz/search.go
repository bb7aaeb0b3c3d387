package musicbrainz

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"reprise/internal/library"

	"golang.org/x/text/unicode/norm"
)

const (
	// sure is the minimum score of an accepted hit; the best hit of a search always has 100.
	sure = 90
	// lengthSlack is how much the length of one recording may differ between two services.
	lengthSlack = 10 * time.Second
)

// likeness rates how well a hit matches the requested entity. Earlier fields take precedence.
type likeness struct {
	another bool // it is something else
	code    bool // the ISRC is the same
	album   bool // it is on the requested album
	rank    int  // plain versions first
	apart   time.Duration
	score   int    // of the search
	since   string // earlier releases first
}

// choose returns the best hit that matches the requested entity. Artists with the same name cannot be told apart, so
// it returns one only when it is the only one.
func choose[F found](hits []F, e *library.Entity) (best F, ok bool) {
	var likely likeness
	for _, h := range hits {
		l := h.likeness(e)
		switch {
		case l.another || h.key() == "":
		case ok && e.Kind == library.KindArtist:
			return best, false
		case !ok || l.better(likely):
			best, likely, ok = h, l, true
		}
	}
	return best, ok
}

func (l likeness) better(than likeness) bool {
	switch {
	case l.code != than.code:
		return l.code
	case l.album != than.album:
		return l.album
	case l.rank != than.rank:
		return l.rank < than.rank
	case l.apart/time.Second != than.apart/time.Second:
		return l.apart < than.apart
	case l.score != than.score:
		return l.score > than.score
	}
	return l.since < than.since
}

func (a artist) likeness(e *library.Entity) likeness {
	name := normal(e.Artist)
	same := normal(a.Name) == name ||
		slices.ContainsFunc(a.Aliases, func(o alias) bool { return normal(o.Name) == name })
	return likeness{another: a.Score < sure || !same}
}

func (g releaseGroup) likeness(e *library.Entity) likeness {
	return likeness{another: g.Score < sure || !sameTitle(g.Title, e.Title, albumRemarks) || !g.Credit.is(e.Artist),
		rank: g.rank(), score: g.Score, since: sortable(g.Released)}
}

func (r recording) likeness(e *library.Entity) likeness {
	title, artist := sameTitle(r.Title, e.Title, trackRemarks), r.Credit.is(e.Artist)
	l := likeness{score: r.Score, since: sortable(r.Released)}
	l.code = e.ISRC != "" &&
		slices.ContainsFunc(r.ISRCs, func(code string) bool { return strings.EqualFold(code, e.ISRC) })
	l.album = e.Album != "" &&
		slices.ContainsFunc(r.Releases, func(o release) bool { return sameTitle(o.Title, e.Album, albumRemarks) })
	if length := time.Duration(r.Length) * time.Millisecond; length > 0 && e.Duration > 0 {
		l.apart = (length - e.Duration).Abs()
	}
	if holds(r.Remark, versions) {
		l.rank = 1
	}
	if l.code { // an ISRC may be wrong too
		l.another = !title && !artist
	} else {
		l.another = r.Score < sure || r.Video || !title || !artist || l.apart > lengthSlack
	}
	return l
}

// is reports whether name names these artists: all of them, joined as services do, or the first.
func (c credit) is(name string) bool {
	if len(c) == 0 {
		return false
	}
	var joined, names strings.Builder
	for _, a := range c {
		joined.WriteString(a.Name + a.Join)
		names.WriteString(a.Name + " ")
	}
	name = normal(name)
	return slices.ContainsFunc([]string{joined.String(), names.String(), c[0].Name, c[0].Artist.Name},
		func(own string) bool { return normal(own) == name })
}

func artistQuery(e library.Entity) string {
	if blank(e.Artist) {
		return ""
	}
	return field("artist", e.Artist) + " OR " + field("alias", e.Artist)
}

func groupQuery(e library.Entity) string {
	if blank(e.Artist) || blank(e.Title) {
		return ""
	}
	return field("releasegroup", plain(e.Title, albumRemarks)) + " AND " + field("artist", e.Artist)
}

func recordingQuery(e library.Entity) string {
	query := ""
	if !blank(e.Artist) && !blank(e.Title) {
		query = field("recording", plain(e.Title, trackRemarks)) + " AND " + field("artist", e.Artist)
	}
	switch {
	case blank(e.ISRC):
		return query
	case query == "":
		return field("isrc", e.ISRC)
	}
	return field("isrc", e.ISRC) + " OR (" + query + ")"
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// field returns a phrase of a Lucene query. Within quotes only the quote and the backslash are special.
func field(name, text string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.Join(strings.Fields(text), " "))
	return name + `:"` + escaped + `"`
}

func sameTitle(a, b string, remarks []string) bool {
	return normal(a) == normal(b) || normal(plain(a, remarks)) == normal(plain(b, remarks))
}

// Remarks that services add to a title without meaning another recording or album. MusicBrainz keeps a remaster with
// its original, guests with the artists, and all editions of an album in one release group.
var (
	trackRemarks = []string{"remaster", "feat.", "feat ", "ft."}
	albumRemarks = append(trackRemarks[:len(trackRemarks):len(trackRemarks)], "deluxe", "anniversary", "edition",
		"expanded", "bonus track", "- single", "- ep")
)

// versions are words that mark another recording.
var versions = []string{"live", "demo", "mix", "acoustic", "instrumental", "karaoke"}

// plain returns a title without remarks at its end, such as "(2011 Remaster)", " - Deluxe Edition" or " [feat.
// Somebody]".
func plain(title string, remarks []string) string {
	for {
		at := lastPart(title)
		if at <= 0 || !holds(title[at:], remarks) || holds(title[at:], versions) {
			return title
		}
		title = strings.TrimSpace(title[:at])
	}
}

// lastPart returns the index of the last part of a title that is in brackets or after a dash, or -1.
func lastPart(title string) int {
	if strings.HasSuffix(title, ")") || strings.HasSuffix(title, "]") {
		return strings.LastIndexAny(title, "([")
	}
	return max(strings.LastIndex(title, " - "), strings.LastIndex(title, " – "))
}

// holds reports whether the text has one of these words.
func holds(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// normal keeps letters and digits, in lower case and without accents. It returns names that consist only of symbols
// unchanged.
func normal(name string) string {
	kept := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKD.String(name))
	if kept == "" {
		return name
	}
	return kept
}
