package bounded

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text as one line that changes nothing around it: without control characters, without what turns the
// direction of the text that follows, and without the marks that replace lost letters. A line break or a
// tab becomes a space. Text of any language and emoji stay as they are.
func Line(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return plain(r) != r }) && utf8.ValidString(text) {
		return text
	}
	return strings.Map(plain, text)
}

// plain returns what a letter becomes, negative for nothing.
func plain(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7f:
		return r
	case r == '\n', r == '\t', r == '\r', r == '\u2028', r == '\u2029':
		return ' '
	case unicode.IsControl(r), r == utf8.RuneError, r == '\ufeff':
		return -1
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // embeddings, overrides and isolates
		return -1
	}
	return r
}

// Cut returns at most so many letters of a text, and at most so many bytes of it, with "…" as the last letter if any
// are missing. A text that was cut stays the same when it is cut again.
func Cut(text string, letters, size int) string {
	if len(text) <= letters && len(text) <= size {
		return text
	}
	const mark = "…"
	n, keep := 0, 0 // keep ends the last letter behind which there is room for the mark
	for at, r := range text {
		n++
		end := at + utf8.RuneLen(r)
		if n > letters || end > size {
			return strings.Clone(text[:keep]) + mark
		}
		if n < letters && end+len(mark) <= size {
			keep = end
		}
	}
	return text
}
