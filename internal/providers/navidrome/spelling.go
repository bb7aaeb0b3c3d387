package navidrome

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The texts to search for. Names are written in many ways: with straight or curved apostrophes, with one of several
// hyphens, with or without accents, "&" or "and", "Pt. 2" or "Part II".

// coreTitle returns a title without its remarks: brackets, what follows a dash, and guests.
func coreTitle(title string) string {
	return strings.TrimSpace(before(norm.NFKC.String(title), "(", "[", "{", "【", " - ", " – ", " — ", " feat", " ft. "))
}

// firstArtist returns the first of several artists.
func firstArtist(artists string) string {
	return before(norm.NFKC.String(artists), ",", ";", " feat", " ft. ", " & ", " and ", " • ", " / ", " x ")
}

// before returns name up to the first of the marks. A mark at the start is part of the name.
func before(name string, marks ...string) string {
	end := len(name)
	for _, mark := range marks {
		if i := strings.Index(name, mark); i > 0 {
			end = min(end, i)
		}
	}
	return name[:end]
}

// oneKind turns typographic signs into those of a keyboard, and curved turns some back.
var (
	oneKind = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "´", "'", "`", "'", "“", `"`, "”", `"`, "‐", "-",
		"‑", "-", "‒", "-", "–", "-", "—", "-", "−", "-", "…", "...")
	curved   = strings.NewReplacer("'", "’")
	hyphened = strings.NewReplacer("'", "’", "-", "‐")
)

// spellings returns the texts by which a server that compares letter by letter finds a title, the likeliest first. The
// part that everybody writes alike comes second, because it also finds all that most others do. SQLite's LIKE knows no
// capitals beyond ASCII.
func spellings(title string) []string {
	core := coreTitle(title)
	plain := oneKind.Replace(core)
	all := []string{trimQuotes(plain)}
	if part := longestPlain(core); utf8.RuneCountInString(part) >= leastPart(part) {
		all = append(all, part)
	}
	all = append(all, strings.ToLower(plain), curved.Replace(plain), hyphened.Replace(plain), core, unaccented(plain),
		trimQuotes(title))
	if word := longestWord(core); utf8.RuneCountInString(word) > leastPart(word) {
		all = append(all, word) // what is around it may be written as one word, or misspelt
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// longestWord returns the longest word of a name that is written in one way only.
func longestWord(name string) string {
	var longest string
	for word := range strings.FieldsSeq(longestPlain(name)) {
		if utf8.RuneCountInString(word) > utf8.RuneCountInString(longest) {
			longest = word
		}
	}
	return longest
}

// leastPart is how long a part of a title must be to be worth a search: it finds every title that it is in.
func leastPart(part string) int {
	if strings.ContainsFunc(part, func(r rune) bool { return r < 0x300 }) {
		return 4
	}
	return 2 // a letter of Chinese says as much as a word
}

// trimQuotes removes quotes, and an asterisk that Navidrome reads as a sign.
func trimQuotes(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '"' || r == '*' || unicode.IsSpace(r)
	}), " ")
}

// unaccented returns a name without accents.
func unaccented(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// variable are the words that are left out or written otherwise elsewhere.
var variable = map[string]bool{"the": true, "and": true, "n": true, "feat": true, "ft": true, "pt": true, "pts": true,
	"part": true, "parts": true, "vol": true, "volume": true, "no": true, "i": true, "ii": true, "iii": true,
	"iv": true, "v": true, "vi": true, "vii": true, "viii": true, "ix": true, "x": true}

// joining are the variable words that end what is written in one way.
var joining = map[string]bool{"and": true, "n": true, "feat": true, "ft": true, "pt": true, "part": true, "vol": true,
	"volume": true}

// plainWords returns the words of a name that a server finds however it is written there, or empty: servers that
// compare words look for those that begin with each. A word ends where a sign comes that may be missing elsewhere.
func plainWords(name string) string {
	var words []string
	counted := false // the word before says that a number follows, which may be a Roman one
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`/\()[]{}"“”,;&+*`, r)
	}) {
		word = strings.TrimLeft(oneKind.Replace(word), "'.-")
		end := strings.IndexFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		})
		if end < 0 {
			end = len(word)
		}
		lower := strings.ToLower(word[:end])
		if number := strings.Trim(lower, "0123456789") == ""; lower != "" && !variable[lower] && !(counted && number) {
			words = append(words, word[:end])
		}
		counted = lower == "pt" || lower == "part" || lower == "vol" || lower == "volume" || lower == "no"
	}
	if len(words) == 0 && utf8.RuneCountInString(name) > 1 && strings.ContainsFunc(name, unicode.IsLetter) {
		return name // of such words only
	}
	return strings.Join(words, " ")
}

// longestPlain returns the longest part of a name that is written in one way only. What may be a capital letter with an
// accent, or of another alphabet than the Latin, is no part of it: SQLite compares those with their case.
func longestPlain(name string) string {
	name = strings.ToLower(norm.NFC.String(name)) // within a word, letters are small in most libraries
	words := strings.Fields(name)
	for i, w := range words {
		if i > 0 && joining[w] {
			words[i] = "&"
		}
	}
	name = strings.Join(words, " ")
	best, start := "", 0
	cut := func(end, next int) {
		if part := trimVariable(name[start:end]); utf8.RuneCountInString(part) > utf8.RuneCountInString(best) {
			best = part
		}
		start = next
	}
	first := true // the letter begins a word
	for i, r := range name {
		size := utf8.RuneLen(r)
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		cased := unicode.ToUpper(r) != unicode.ToLower(r)
		switch {
		case r == ' ':
			first = true
			continue
		case !letter, r > unicode.MaxASCII && cased && first,
			r > unicode.MaxASCII && (unicode.Is(unicode.Latin, r) || cased && norm.NFD.String(string(r)) != string(r)):
			cut(i, i+max(size, 1))
		}
		first = !letter
	}
	cut(len(name), len(name))
	return best
}

// trimVariable removes the words at the ends of a part that may be written otherwise.
func trimVariable(part string) string {
	words := strings.Fields(part)
	if len(words) < 2 {
		return strings.TrimSpace(part)
	}
	from, to := 0, len(words)
	for from < to-1 && variable[strings.ToLower(words[from])] {
		from++
	}
	for to-1 > from && variable[strings.ToLower(words[to-1])] {
		to--
	}
	return strings.Join(words[from:to], " ")
}
