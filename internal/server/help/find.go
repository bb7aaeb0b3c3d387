package help

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Found is a section that has all words of a query.
type Found struct {
	Page    *Page
	Section Section
	Excerpt string // of its text, around the first of the words
}

// most is how many sections a search finds.
const most = 20

// Find returns the sections that have all words of a query, or words that begin with them, those with the words in a
// title first. An empty query finds nothing. The document with the name without is left out.
func (l *Library) Find(query, without string) []Found {
	wanted := fields(query)
	if len(wanted) == 0 {
		return nil
	}
	type ranked struct {
		Found
		rank int
	}
	var all []ranked
	for _, p := range l.pages {
		if p.Name == without {
			continue
		}
		for _, s := range p.Sections {
			title, text := fields(p.Title+" "+s.Title), fields(s.text)
			rank, whole := 0, true
			for _, w := range wanted {
				switch {
				case begins(title, w):
				case begins(text, w):
					rank++
				default:
					whole = false
				}
			}
			if whole {
				all = append(all, ranked{Found{p, s, excerpt(s.text, wanted)}, rank})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Page.Name, b.Page.Name),
			cmp.Compare(a.Section.Title, b.Section.Title))
	})
	found := make([]Found, min(len(all), most))
	for i := range found {
		found[i] = all[i].Found
	}
	return found
}

func between(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func fields(s string) []string { return strings.FieldsFunc(strings.ToLower(s), between) }

func begins(words []string, with string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, with) })
}

// The length of an excerpt, and of what comes in it before the word, in characters.
const excerptLength, excerptBefore = 180, 60

// excerpt returns a piece of text around the first of the words, between two spaces.
func excerpt(text string, words []string) string {
	text = strings.Join(strings.Fields(text), " ")
	lower, at := strings.ToLower(text), -1
	for _, w := range words {
		if i := strings.Index(lower, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if len(lower) != len(text) { // a letter that is longer in lower case: positions differ
		at = -1
	}
	runes := []rune(text)
	if len(runes) <= excerptLength {
		return text
	}
	from := 0
	if at > 0 {
		from = max(0, len([]rune(text[:at]))-excerptBefore)
	}
	to := min(len(runes), from+excerptLength)
	for from > 0 && runes[from-1] != ' ' {
		from++
	}
	for to < len(runes) && to > from && runes[to] != ' ' {
		to--
	}
	out := string(runes[from:to])
	if from > 0 {
		out = "… " + out
	}
	if to < len(runes) {
		out += " …"
	}
	return out
}
