package musicbrainz

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"reprise/internal/library"
)

type artist struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Score    int     `json:"score"` // of a hit: 100 for the best
	Aliases  []alias `json:"aliases"`
	Tags     []tag   `json:"tags"`
	LifeSpan struct {
		Begin string `json:"begin"`
	} `json:"life-span"`
}

type alias struct {
	Name string `json:"name"`
}

// tag is a tag with its score: votes for it minus votes against it.
type tag struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

type releaseGroup struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Score     int      `json:"score"`
	Type      string   `json:"primary-type"`
	Secondary []string `json:"secondary-types"`
	Credit    credit   `json:"artist-credit"`
	Released  string   `json:"first-release-date"`
	Tags      []tag    `json:"tags"`
}

type recording struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Score    int       `json:"score"`
	Length   int64     `json:"length"`         // milliseconds; 0 when unknown
	Remark   string    `json:"disambiguation"` // distinguishes entities of the same name, such as "live"
	Video    bool      `json:"video"`
	Credit   credit    `json:"artist-credit"`
	ISRCs    []string  `json:"isrcs"`
	Released string    `json:"first-release-date"`
	Releases []release `json:"releases"`
	Tags     []tag     `json:"tags"`
}

// release is an edition that contains a recording.
type release struct {
	Title string `json:"title"`
}

// credit lists the artists of a work as printed on it.
type credit []struct {
	Name   string `json:"name"`
	Join   string `json:"joinphrase"` // between this one and the next
	Artist artist `json:"artist"`
}

func (a artist) key() string       { return a.ID }
func (g releaseGroup) key() string { return g.ID }
func (r recording) key() string    { return r.ID }

func (a artist) facts() library.Facts {
	return library.Facts{MBID: a.ID, Name: a.Name, Tags: tagNames(a.Tags), Released: date(a.LifeSpan.Begin)}
}

func (g releaseGroup) facts() library.Facts {
	return library.Facts{MBID: g.ID, Name: g.Title, Tags: tagNames(g.Tags), Released: date(g.Released)}
}

func (r recording) facts() library.Facts {
	return library.Facts{MBID: r.ID, Name: r.Title, Tags: tagNames(r.Tags), Released: date(r.Released)}
}

// rank sorts plain albums before others.
func (g releaseGroup) rank() int {
	return 4*min(len(g.Secondary), 1) + (slices.Index([]string{"Album", "EP", "Single"}, g.Type)+4)%4
}

var dates = regexp.MustCompile(`^\d{4}(-\d\d){0,2}$`)

// date returns text if it is a date that begins with a year, else "". MusicBrainz may know a day without its year.
func date(text string) string {
	if !dates.MatchString(text) {
		return ""
	}
	return text
}

// sortable returns a sort key for dates. Incomplete dates sort after complete ones of the same year or month.
func sortable(text string) string {
	return date(text) + "~" // sorts after digits and dashes
}

// tagNames returns the tags with the most votes, in lower case.
func tagNames(tags []tag) (names []string) {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t tag) bool { return t.Count < 1 })
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(b.Count, a.Count) })
	for _, t := range tags {
		name := strings.ToLower(strings.TrimSpace(t.Name))
		if name != "" && !slices.Contains(names, name) && len(names) < library.MaxTags {
			names = append(names, name)
		}
	}
	return names
}
