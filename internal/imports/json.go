package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"reprise/internal/bounded"
	"reprise/internal/words"
)

// harmless is the size of rows that cannot grow much when they are decoded, in bytes.
const harmless = 4 << 10

// rowLimits bounds a row of JSON. Rows of services have some 60 values and 5 levels.
var rowLimits = bounded.Limits{Depth: 16, Elements: 1000, Fields: 500, String: maxRow, InAll: 1000, Values: 2000}

// shape is how the rows of a JSON file are found, and what they are called when they cannot be read.
type shape struct {
	pages []string
	lines bool
	bad   words.Text
}

// jsonRows reads the rows of a JSON file: a list, or objects one after the other.
func jsonRows[T any](m *meter, sh shape, each func(*T) row, out yield) error {
	names := make([]string, len(sh.pages))
	for i, name := range sh.pages {
		names[i] = `"` + name + `"`
	}
	s := &splitter{m: m, pages: names, lines: sh.lines}
	var broken error
	s.emit = func(raw []byte, whole bool) bool {
		var v T
		if !whole {
			return out(row{bad: words.New("import.row.long")})
		}
		if len(raw) > harmless {
			if err := bounded.JSON(raw, rowLimits); err != nil {
				return out(row{bad: words.New("import.row.limits")})
			}
		}
		if !utf8.Valid(raw) {
			return out(row{bad: unreadable})
		}
		err := json.Unmarshal(raw, &v)
		if e, ok := errors.AsType[*json.SyntaxError](err); ok && !sh.lines {
			broken = &errSyntax{m.used - int64(len(raw)) + e.Offset}
			return false
		}
		if err != nil {
			return out(row{bad: sh.bad})
		}
		return out(honest(each(&v), m, func() bool {
			return bytes.Contains(raw, lost) || bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
		}))
	}
	err := s.all(sh.bad, out)
	if errors.Is(err, errStop) && broken != nil {
		return broken
	}
	return err
}

// all reads a file to its end.
func (s *splitter) all(bad words.Text, out yield) error {
	for first := true; ; first = false {
		c, err := s.next()
		switch {
		case errors.Is(err, io.EOF) && !first:
			return nil
		case errors.Is(err, io.EOF):
			return errKind
		case err != nil:
			return err
		case c == '[' && first && !s.lines:
			return s.list(0)
		case c != '{' && !s.lines && first:
			return errKind
		case c != '{' && !s.lines:
			return s.wrong()
		}
		if err = s.top(c); err == nil {
			continue
		}
		if _, syntax := errors.AsType[*errSyntax](err); !s.lines || !syntax && !errors.Is(err, errLine) {
			return err
		}
		if !out(row{bad: bad}) {
			return errStop
		}
		if err := s.restOfLine(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// next is peek in any line.
func (s *splitter) next() (byte, error) {
	lines := s.lines
	s.lines = false
	c, err := s.peek()
	s.lines = lines
	return c, err
}

// top reads a value at the top level: in lines a row or a page, and otherwise a page.
func (s *splitter) top(c byte) error {
	if s.lines {
		return s.element(c, 0)
	}
	s.begin()
	page, err := s.object(0)
	if err == nil && !page {
		return errKind
	}
	return err
}

// unreadable is why a row with letters in another encoding than the rest is bad.
var unreadable = words.New("import.row.letters")

var lost = []byte(string(utf8.RuneError))

// honest returns the row, or a bad one if a letter in it was lost on the way. own says whether the text of the row has
// U+FFFD itself.
func honest(v row, m *meter, own func() bool) row {
	if !v.lost {
		return v
	}
	if m.text.converted || !own() {
		return row{bad: unreadable}
	}
	return v
}
