package music

import (
	"hash/fnv"
	"slices"
	"strings"

	"reprise/internal/library"
)

// leadMarks separate an artist from a guest, or artists in a tag. They leave out "&", "and" and the comma, which also
// occur in names.
var leadMarks = []string{"; ", " • ", " feat.", " feat ", " featuring ", " ft.", " ft ", " (feat.", " (feat ",
	" (featuring ", " (ft.", " (ft ", " [feat.", " [feat ", " [ft.", " [ft "}

// listMarks separate artists where each of them is known; elsewhere they may be part of a name. Among guests, so do
// guestMarks.
var (
	listMarks  = []string{", "}
	guestMarks = []string{", ", " & ", " and "}
)

// mostMarks is the most marks that are looked at in one text.
const mostMarks = 8

// cutting is where a mark separates a text: what is before it ends, and what is after it begins.
type cutting struct{ end, begin int }

// cuttings returns where marks separate a text. Marks at its very start or end separate nothing.
func cuttings(text string, marks []string) (all []cutting) {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		return nil
	}
	for i := 1; i < len(lower) && len(all) < mostMarks; i++ {
		size := 0
		for _, mark := range marks {
			if len(mark) > size && strings.HasPrefix(lower[i:], mark) {
				size = len(mark)
			}
		}
		if size > 0 && i+size < len(lower) {
			all = append(all, cutting{i, i + size})
			i += size - 1
		}
	}
	return all
}

// before and after return the names on the two sides of a mark.
func (c cutting) before(text string) string { return strings.TrimRight(text[:c.end], " ([") }

func (c cutting) after(text string) string { return strings.Trim(text[c.begin:], " ()[]") }

// partsOf returns the names between marks; the text itself if there are none.
func partsOf(text string, marks []string) (all []string) {
	from := 0
	for _, c := range cuttings(text, marks) {
		all = append(all, strings.TrimSpace(text[from:c.end]))
		from = c.begin
	}
	return append(all, strings.TrimSpace(text[from:]))
}

// NamesIn returns the artists in a text: the first one, then the guests. alone says whether a name is known as that of
// one artist: such a name is never separated.
func NamesIn(text string, alone func(name string) bool) (all []string) {
	marks := listMarks
	for text != "" {
		name, rest := text, ""
		if !alone(text) {
			name, rest = cutLead(text, alone)
		}
		all = append(all, listIn(name, marks, alone)...)
		text, marks = rest, guestMarks
	}
	return all
}

// cutLead cuts a text at the first mark, or after the longest name that is known.
func cutLead(text string, alone func(string) bool) (lead, rest string) {
	all := cuttings(text, leadMarks)
	if len(all) == 0 {
		return text, ""
	}
	cut := all[0]
	for _, c := range slices.Backward(all) {
		if alone(c.before(text)) {
			cut = c
			break
		}
	}
	return cut.before(text), cut.after(text)
}

// listIn returns the artists in a list, if each of them is known and the whole text is not one's name.
func listIn(text string, marks []string, alone func(string) bool) []string {
	parts := partsOf(text, marks)
	if len(parts) == 1 || alone(text) || !allOf(parts, alone) {
		return []string{text}
	}
	return parts
}

func allOf(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
}

// Possible returns the names that NamesIn may ask for.
func Possible(text string) (all []string) {
	cuts := cuttings(text, leadMarks)
	ends, begins := []int{len(text)}, []int{0}
	for _, c := range cuts {
		ends, begins = append(ends, c.end), append(begins, c.begin)
	}
	for _, from := range begins {
		for _, to := range ends {
			if from < to {
				name := strings.TrimRight(strings.Trim(text[from:to], " ()[]"), " ([")
				all = append(append(all, name), partsOf(name, guestMarks)...)
				all = append(all, partsOf(name, listMarks)...)
			}
		}
	}
	return all
}

// Composed reports whether a text may name several artists.
func Composed(text string) bool {
	return len(cuttings(text, leadMarks)) > 0 || len(cuttings(text, listMarks)) > 0
}

// Lists reports whether the service has listed the artists of a track in a way that its text does not show.
func Lists(t library.Track) bool {
	return len(t.Artists) > 1 || len(t.Artists) == 1 && (t.Artists[0].Name != t.Artist || Composed(t.Artist))
}

// CreditsOf returns the artists of a track: those that its service has listed, or those in the text. Nobody in
// particular is no artist.
func CreditsOf(t library.Track, alone func(name string) bool) (all []library.Credit) {
	told := t.Artists
	if len(told) == 0 {
		for _, name := range NamesIn(t.Artist, alone) {
			told = append(told, library.Credit{Name: name})
		}
	}
	seen := map[int64]bool{}
	for _, c := range told {
		c.Name = Indexed(c.Name)
		if key := ArtistKey(c.Name); c.Name != "" && !manyArtists[Normal(c.Name)] && !seen[key] {
			seen[key] = true
			all = append(all, c)
		}
	}
	return all
}

// manyArtists are what services write where there are too many artists to name, as normal returns them.
var manyArtists = map[string]bool{"variousartists": true, "variousartist": true, "verschiedeneinterpreten": true,
	"diverseinterpreten": true, "verschiedenekunstler": true, "artistesvaries": true, "variosartistas": true,
	"artistivari": true}

// ArtistKey returns the key of one artist.
func ArtistKey(artist string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(Normal(artist)))
	return int64(h.Sum64())
}

// Credit is what is known of the artists of a track.
type Credit struct {
	Track   int64
	Artists []int64 // the first one first
	Listed  bool    // see migration 25
	Stored  int     // how many of them are stored
	Instead bool    // of those that are stored
}
