// Package bounded checks data of strangers, such as answers of upstreams and uploaded files, before it is decoded.
//
// A decoder needs many times the memory of what it decodes: ten megabytes of empty objects become more than a gigabyte
// of structs. A limit in bytes does not help against that, so [JSON] counts what a decoder will make of a text: the
// elements of lists, the fields of objects, the depth and the length of strings. [UTF8] brings a text into the one
// encoding that everything else expects.
//
// Nothing here keeps a reference to what it was given. Everything is safe for concurrent use.
package bounded

import (
	"bytes"
	"strconv"
)

// Limits bounds one JSON text. Every limit is positive; Depth is at most [MaxDepth].
type Limits struct {
	Depth    int // levels of lists and objects
	Elements int // elements of one list
	Fields   int // fields of one object
	String   int // bytes of one string, as it is written
	InAll    int // elements of all lists
	Values   int // elements of all lists, and fields of all objects
}

// MaxDepth is the greatest Depth that Limits can have.
const MaxDepth = 64

// Answer bounds an answer of an upstream.
//
// The longest list that a real server sends in one piece is a playlist of its own library. Navidrome's has no limit;
// Spotify, with 10,000 tracks, has the highest of those that name one. Ten megabytes hold about 15,000 songs, each with
// 45 fields and with short lists of artists and genres. The longest strings are lyrics in a song's tags.
var Answer = Limits{Depth: 32, Elements: 20_000, Fields: 1_000, String: 256 << 10, InAll: 200_000, Values: 1_000_000}

// Error says which limit a text exceeds.
type Error struct {
	What string // as in "the answer has What": "a list of more than 20,000 elements"
}

func (e *Error) Error() string { return e.What }

// Size is what a JSON text holds.
type Size struct {
	Elements int // of all lists
	Fields   int // of all objects
	Depth    int // of the deepest list or object
}

// JSON returns an *Error if a JSON text exceeds the limits. It passes over the text once and allocates nothing. It does
// not check the syntax: a text that is not JSON may pass, and is refused by the decoder without any memory being used.
func JSON(text []byte, l Limits) error {
	_, err := Measure(text, l)
	return err
}

// level is a list or an object that is not closed yet.
type level struct {
	list bool
	due  bool // the next value is a new element of this list
	n    int  // elements or fields so far
}

// maxLiteral is the most bytes of a number. The longest that encoding/json writes has 25.
const maxLiteral = 1000

// Measure is [JSON], and returns what the text holds: of one that exceeds the limits, what it held up to there.
func Measure(text []byte, l Limits) (s Size, err error) {
	var open [MaxDepth + 1]level // open[0] is the text itself
	depth, deepest := 0, min(l.Depth, MaxDepth)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		in := &open[depth]
		if in.due && c != ']' {
			in.due = false
			in.n++
			if s.Elements++; in.n > l.Elements {
				return s, exceeds("a list of", l.Elements, "elements")
			} else if s.Elements > l.InAll {
				return s, exceeds("lists of", l.InAll, "elements in all")
			}
		}
		switch c {
		case '"':
			end := stringEnd(text, i+1)
			if end-i-1 > l.String {
				return s, exceeds("a text of", l.String, "bytes")
			}
			i = end
		case '{', '[':
			if depth++; depth > deepest {
				return s, exceeds("", deepest, "levels")
			}
			s.Depth = max(s.Depth, depth)
			open[depth] = level{list: c == '[', due: c == '['}
		case '}', ']':
			if depth == 0 {
				return s, nil // not JSON
			}
			depth--
		case ',':
			in.due = in.list
		case ':':
			in.n++
			if s.Fields++; in.n > l.Fields && !in.list {
				return s, exceeds("an object of", l.Fields, "fields")
			}
		default:
			end := literalEnd(text, i)
			if end-i > maxLiteral {
				return s, exceeds("a number of", maxLiteral, "digits")
			}
			i = end - 1
		}
		if s.Elements+s.Fields > l.Values {
			return s, exceeds("", l.Values, "values in all")
		}
	}
	return s, nil
}

// stringEnd returns the index of the quote that ends the string whose text begins at from, or the length of the text.
func stringEnd(text []byte, from int) int {
	for at := from; ; {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return len(text)
		}
		at += quote
		escapes := at
		for escapes > from && text[escapes-1] == '\\' {
			escapes--
		}
		if (at-escapes)%2 == 0 {
			return at
		}
		at++
	}
}

// literalEnd returns the index behind the number or the word that begins at i.
func literalEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case ' ', '\n', '\r', '\t', ',', ':', ']', '}', '[', '{', '"':
			return i
		}
	}
	return i
}

func exceeds(what string, limit int, of string) error {
	if what != "" {
		what += " "
	}
	if of == "bytes" && limit%1024 == 0 {
		limit, of = limit/1024, "KiB"
	}
	return &Error{What: what + "more than " + thousands(limit) + " " + of}
}

// thousands writes a number as people read it.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
