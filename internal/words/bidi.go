package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostMarks is how many combining marks one letter keeps. Languages need up to four.
const mostMarks = 6

// U+2068 begins a stretch of text that does not reorder what is around it, and U+2069 ends it. In attributes they do
// what the element bdi does in text.
const (
	beginIsolate = "\u2068"
	endIsolate   = "\u2069"
)

// isControl reports whether a character overrides or embeds the direction of the text around it. They are not shown: a
// name that ends with one would turn what follows around, and one could end the isolation itself.
func isControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// hasDirection reports whether a character is written from right to left, or marks that.
func hasDirection(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff || r == 0x200e || r == 0x200f
}

// Readable returns a text without what would reorder the text around it and without piles of combining marks. foreign
// says whether it has to be isolated from the text around it.
func Readable(text string) (clean string, foreign bool) {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < utf8.RuneSelf
	}
	if plain {
		return text, false
	}
	marks := 0
	clean = strings.Map(func(r rune) rune {
		if isControl(r) {
			foreign = true
			return -1
		}
		foreign = foreign || hasDirection(r)
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
			return r
		}
		if marks++; marks > mostMarks {
			foreign = true
			return -1
		}
		return r
	}, text)
	return clean, foreign
}

// Isolate returns a text for an attribute or a sentence: it does not reorder what is around it.
func Isolate(text string) string {
	clean, foreign := Readable(text)
	if !foreign {
		return clean
	}
	return beginIsolate + clean + endIsolate
}
