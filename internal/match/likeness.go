package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The largest similarity of titles that differ by more than spelling.
const (
	unlikeWords  = 0.60 // another word, or an extra number or version
	extraWords   = 0.89 // an extra word
	noSubtitle   = 0.91 // only one has a subtitle in brackets
	lessDetail   = 0.93 // "Live" and "Live in Rome"
	fillersApart = 0.97 // an extra "the" or "and"
)

// like returns the similarity of two titles, 0 to 1, whatever their versions.
func (t *title) like(o *title) float64 {
	if t.plain == "" || o.plain == "" {
		return 0
	}
	if t.plain == o.plain {
		return 1
	}
	names := likeWords(t.name, o.name)
	if t.leavesOut(o) || o.leavesOut(t) {
		names = max(names, noSubtitle*likeWords(t.main, o.main))
	}
	switch {
	case t.version != o.version || len(t.told) == 0 || len(o.told) == 0 || slices.Equal(t.told, o.told):
		return names
	case subset(t.told, o.told):
		return min(names, lessDetail)
	}
	return min(names, likeWords(t.told, o.told))
}

// leavesOut reports whether o has a subtitle and t has none. A number, as in "(Part 2)", is no subtitle.
func (t *title) leavesOut(o *title) bool {
	return len(t.main) == len(t.name) && len(o.main) < len(o.name) && !countsIn(o.name)
}

// countsIn reports whether one of the words has a digit.
func countsIn(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.ContainsFunc(w, unicode.IsNumber) })
}

// subset reports whether one has all words of the other.
func subset(a, b []string) bool { return within(a, b) || within(b, a) }

func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// fillers are words that titles are written with or without.
var fillers = wordSet("the a an and")

// likeWords returns the similarity of two rows of words: the share of letters in common. The words that both begin and
// end with are in common, and only those between are compared; words that differ by typing errors count as in common
// except for the wrong letters.
func likeWords(a, b []string) float64 {
	all := max(letters(a), letters(b))
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	left := max(letters(a), letters(b))
	part := func(wrong int) float64 { return 1 - float64(wrong)/float64(max(1, all)) }
	switch {
	case left == 0:
		return 1
	case len(a) == 0:
		return min(part(left), extra(b))
	case len(b) == 0:
		return min(part(left), extra(a))
	}
	if wrong, ok := typos(a, b); ok {
		return part(wrong)
	}
	return min(part(left), unlikeWords)
}

// extra returns the largest similarity of two titles when one has these extra words.
func extra(words []string) float64 {
	filling := true
	for _, w := range words {
		if versionWords[w] != 0 || utf8.RuneCountInString(w) == 1 && w != "a" ||
			strings.ContainsFunc(w, unicode.IsNumber) {
			return unlikeWords
		}
		filling = filling && fillers[w]
	}
	if filling {
		return fillersApart
	}
	return extraWords
}

// typos counts the wrong letters between words that differ only by typing errors, word for word or as one word.
func typos(a, b []string) (wrong int, ok bool) {
	if len(a) != len(b) {
		return typo(strings.Join(a, ""), strings.Join(b, ""))
	}
	for i := range a {
		n, ok := typo(a[i], b[i])
		if !ok {
			return 0, false
		}
		wrong += n
	}
	return wrong, true
}

// typo counts the wrong letters between two words. ok is false if they are different words rather than one misspelt:
// more than a quarter is wrong (so words of three letters are always different), or one is a number or a version.
func typo(a, b string) (wrong int, ok bool) {
	if a == b {
		return 0, true
	}
	n := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	if versionWords[a] != 0 || versionWords[b] != 0 || strings.ContainsFunc(a, unicode.IsNumber) ||
		strings.ContainsFunc(b, unicode.IsNumber) {
		return 0, false
	}
	wrong = distance(a, b)
	return wrong, wrong*4 <= n
}

func letters(words []string) (n int) {
	for _, w := range words {
		n += utf8.RuneCountInString(w)
	}
	return n
}

// sharedPart returns the share of letters of one row of words that is in the other, in any order; the larger one of
// both directions.
func sharedPart(a, b []string) float64 { return max(partWithin(a, b), partWithin(b, a)) }

func partWithin(a, b []string) float64 {
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n += utf8.RuneCountInString(w)
		}
	}
	return float64(n) / float64(max(1, letters(a)))
}

// The largest similarity of artists that differ.
const (
	someOfThem  = 0.90 // one side leaves some out
	oneInCommon = 0.55 // each side has others
	// sameArtist is the share of letters that must agree in a misspelt name: one in eight may be wrong.
	sameArtist = 0.87
)

// like returns the similarity of two credits, 0 to 1, whatever their order and punctuation; 0 means different artists.
func (a *artists) like(o *artists) float64 {
	if a.bag == o.bag || a.plain == o.plain {
		return 1
	}
	common := inCommon(a.names, o.names)
	switch {
	case common == 0 && len(a.names) > 0 && len(o.names) > 0:
		return likeName(a.plain, o.plain)
	case common == 0:
		return 0
	case a.lead != "" && a.lead == o.lead && (len(a.guests) == 0 || len(o.guests) == 0 ||
		inCommon(a.guests, o.guests) > 0):
		return 1
	case common == min(len(a.names), len(o.names)):
		return someOfThem
	}
	return oneInCommon
}

func inCommon(a, b []string) (n int) {
	for _, name := range a {
		if slices.Contains(b, name) {
			n++
		}
	}
	return n
}

func likeName(a, b string) float64 {
	wrong, ok := typo(a, b)
	like := 1 - float64(wrong)/float64(max(1, utf8.RuneCountInString(a), utf8.RuneCountInString(b)))
	if !ok || like < sameArtist {
		return 0
	}
	return strictly(like, 3)
}

// same reports whether both are known and the same album, whatever the edition.
func (a *album) same(o *album) bool {
	return a.name != "" && o.name != "" && a.version == o.version &&
		(a.name == o.name || editionOf(a.words, o.words) || editionOf(o.words, a.words))
}

// differs reports whether both are known and not the same album.
func (a *album) differs(o *album) bool { return a.name != "" && o.name != "" && !a.same(o) }

// commonTitles are the words of titles that an artist gives to several recordings.
var commonTitles = wordSet("intro introduction outro interlude skit prelude postlude reprise untitled commentary segue")

// common reports whether the artist may have other recordings of this title, one on each album.
func (t *title) common() bool {
	return len(t.name) > 0 && !slices.ContainsFunc(t.name, func(w string) bool {
		return !commonTitles[w] && !countsIn([]string{w})
	}) && slices.ContainsFunc(t.name, func(w string) bool { return commonTitles[w] })
}

// editionOf reports whether an album's name is another's with an edition after it: "OK Computer OKNOTOK 1997 2017". A
// number that is no year makes another album: "Greatest Hits 2".
func editionOf(long, short []string) bool {
	if len(short) == 0 || len(long) <= len(short) || !slices.Equal(long[:len(short)], short) {
		return false
	}
	years, plain := 0, true
	for _, w := range long[len(short):] {
		switch {
		case isYear(w):
			years++
		case countsIn([]string{w}) && !isOrdinal(w):
			return false
		case !noteWords[w] && !isOrdinal(w):
			plain = false
		}
	}
	return plain || years > 1
}

// like returns the similarity of two albums, 0 to 1.
func (a *album) like(o *album) float64 {
	switch {
	case a.name == "" || o.name == "":
		return unknownPart
	case a.same(o):
		return 1
	case a.version != o.version:
		return 0
	}
	if like := likeWords(a.words, o.words); like >= sameArtist {
		return like
	}
	return 0
}

// longest is how many letters of a word are compared. Longer words are different rather than misspelt.
const longest = 64

// distance returns the number of letters to insert, drop, replace or swap with their neighbour to turn a into b
// (optimal string alignment, the restricted form of Damerau-Levenshtein). Words of more than 64 letters are wholly
// different.
func distance(a, b string) int {
	var ra, rb [longest]rune
	n, okA := runes(&ra, a)
	m, okB := runes(&rb, b)
	if !okA || !okB {
		return max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	}
	var rows [3][longest + 1]int // the row before the last, the last, and this one
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range m + 1 {
		last[j] = j
	}
	for i := 1; i <= n; i++ {
		row[0] = i
		for j := 1; j <= m; j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[m]
}

func runes(dst *[longest]rune, s string) (n int, ok bool) {
	for _, r := range s {
		if n == longest {
			return n, false
		}
		dst[n] = r
		n++
	}
	return n, true
}
