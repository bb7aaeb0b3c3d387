package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// The limits of one row. Rows of services are below 4 KiB, with 60 values and 5 levels.
const (
	maxRow    = 64 << 10 // bytes
	maxValues = 4000
	maxDepth  = 32
	maxPages  = 6       // pages within pages
	maxPassed = 8 << 20 // bytes of a value that is passed over
)

// errSyntax says that a text is no JSON.
type errSyntax struct{ offset int64 }

func (e *errSyntax) Error() string { return fmt.Sprintf("it is no JSON from byte %d on", e.offset) }

// errLine says that a line ends within a value.
var errLine = errors.New("the line ends within a value")

// splitter splits JSON into its rows without having more than one of them in memory. A row is an object in a list,
// unless it is a page: an object with a list of rows under one of the names in pages.
type splitter struct {
	m     *meter
	pages []string // names of members that have rows
	lines bool     // a value ends with its line
	emit  func(raw []byte, why string) bool

	row    []byte // the row under way, up to its limits
	values int
	why    string // the limit that the row exceeds
	at     int64  // bytes read
}

// peek returns the next byte that is not a space, without taking it.
func (s *splitter) peek() (byte, error) {
	for begin := s.at; s.at-begin <= maxPassed; {
		if _, err := s.m.r.Peek(1); err != nil {
			return 0, err
		}
		b, _ := s.m.r.Peek(s.m.r.Buffered())
		for i, c := range b {
			if c == '\n' && s.lines {
				s.drop(i)
				return 0, errLine
			}
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				s.drop(i)
				return c, nil
			}
		}
		s.drop(len(b))
	}
	return 0, errBudget
}

func (s *splitter) drop(n int) {
	_, _ = s.m.r.Discard(n) // never fails for bytes that were peeked
	s.at += int64(n)
}

func (s *splitter) wrong() error { return &errSyntax{s.at} }

// take adds to the row under way, as far as its limits allow.
func (s *splitter) take(b []byte) {
	if len(s.row)+len(b) > maxRow {
		s.exceeds("longer than a row can be")
	}
	if s.why == "" {
		s.row = append(s.row, b...)
	}
}

func (s *splitter) exceeds(why string) {
	if s.why == "" {
		s.why = why
	}
}

// begin begins a new row.
func (s *splitter) begin() { s.row, s.values, s.why = s.row[:0], 0, "" }

// flush hands the row over.
func (s *splitter) flush() error {
	if !s.emit(s.row, s.why) {
		return errStop
	}
	return nil
}

// list reads a list of rows or pages.
func (s *splitter) list(depth int) error {
	s.drop(1) // [
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return ended(err)
		case c == ']' && first:
			s.drop(1)
			return nil
		}
		if err := s.element(c, depth); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return ended(err)
		}
		if c != ',' && c != ']' {
			return s.wrong()
		}
		if s.drop(1); c == ']' {
			return nil
		}
	}
}

// element reads an element of a list.
func (s *splitter) element(c byte, depth int) error {
	s.begin()
	if c == '{' {
		page, err := s.object(depth)
		if err != nil || page {
			return err
		}
		return s.flush()
	}
	if err := s.value(true); err != nil {
		return err
	}
	return s.flush()
}

// object reads an object. It reports whether that is a page, whose rows it has handed over. Otherwise the object is the
// row under way.
func (s *splitter) object(depth int) (page bool, err error) {
	s.drop(1)
	s.take([]byte{'{'})
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return page, ended(err)
		}
		if c == '}' {
			s.drop(1)
			s.take([]byte{'}'})
			return page, nil
		}
		if !first {
			if c != ',' {
				return page, s.wrong()
			}
			s.drop(1)
			s.take([]byte{','})
			if c, err = s.peek(); err != nil {
				return page, ended(err)
			}
		}
		if c != '"' {
			return page, s.wrong()
		}
		rows, err := s.member(depth, !page)
		if err != nil {
			return page, err
		}
		page = page || rows
	}
}

// member reads a member of an object, and reports whether it has rows.
func (s *splitter) member(depth int, keep bool) (rows bool, err error) {
	if !keep {
		s.begin() // the rest of a page is no row
	}
	begin := len(s.row)
	if err := s.value(true); err != nil {
		return false, err
	}
	name := s.row[begin:]
	c, err := s.peek()
	if err != nil {
		return false, ended(err)
	}
	if c != ':' {
		return false, s.wrong()
	}
	s.drop(1)
	if c, err = s.peek(); err != nil {
		return false, ended(err)
	}
	if (c == '[' || c == '{') && s.why == "" && slices.Contains(s.pages, string(name)) {
		if depth >= maxPages {
			return false, errBudget
		}
		return true, s.within(c, depth+1)
	}
	s.take([]byte{':'})
	return false, s.value(keep)
}

// within reads the rows in a member of a page.
func (s *splitter) within(c byte, depth int) error {
	if c == '[' {
		return s.list(depth)
	}
	s.begin()
	_, err := s.object(depth)
	s.begin()
	return err
}

// value reads a value of any kind. With keep it becomes a part of the row under way.
func (s *splitter) value(keep bool) error {
	depth, begin, scalar := 0, s.at, false
	for quoted, escaped := false, false; ; {
		if s.at-begin > maxPassed {
			return errBudget
		}
		if _, err := s.m.r.Peek(1); err != nil {
			if scalar && depth == 0 && errors.Is(err, io.EOF) {
				return nil
			}
			return ended(err)
		}
		b, _ := s.m.r.Peek(s.m.r.Buffered())
		n, done := 0, false
		for n < len(b) && !done {
			c := b[n]
			n++
			switch {
			case c == '\n' && s.lines:
				n--
				if !scalar || depth > 0 || quoted {
					s.drop(n)
					return errLine
				}
				done = true
			case escaped:
				escaped = false
			case quoted:
				switch c {
				case '\\':
					escaped = true
				case '"':
					quoted, done = false, depth == 0
				}
			case c == '"':
				quoted = true
			case c == '[' || c == '{':
				if depth++; depth > maxDepth {
					s.exceeds("more levels than a row can have")
				}
			case c == ']' || c == '}' || c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n':
				if c == ',' {
					s.values++
				}
				if depth == 0 { // the end of a number or a word
					if !scalar {
						s.drop(n - 1)
						return s.wrong()
					}
					n--
					done = true
				} else if c == ']' || c == '}' {
					depth--
					done = depth == 0
				}
			default:
				scalar = scalar || depth == 0
			}
		}
		if s.values > maxValues {
			s.exceeds("more values than a row can have")
		}
		if keep {
			s.take(b[:n])
		}
		if s.drop(n); done {
			return nil
		}
	}
}

// ended turns the end of the file within a value into an unexpected one.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// restOfLine passes over the rest of a line.
func (s *splitter) restOfLine() error {
	for begin := s.at; ; {
		if s.at-begin > maxPassed {
			return errBudget
		}
		if _, err := s.m.r.Peek(1); err != nil {
			return err
		}
		b, _ := s.m.r.Peek(s.m.r.Buffered())
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			s.drop(i + 1)
			return nil
		}
		s.drop(len(b))
	}
}

// shape is how the rows of a JSON file are found, and what they are called when they cannot be read.
type shape struct {
	pages []string
	lines bool
	bad   string
}

// jsonRows reads the rows of a JSON file: a list, or objects one after the other.
func jsonRows[T any](m *meter, sh shape, each func(*T) row, out yield) error {
	names := make([]string, len(sh.pages))
	for i, name := range sh.pages {
		names[i] = `"` + name + `"`
	}
	s := &splitter{m: m, pages: names, lines: sh.lines}
	var broken error
	s.emit = func(raw []byte, why string) bool {
		var v T
		r := row{bad: why}
		if why == "" {
			err := json.Unmarshal(raw, &v)
			e, syntax := errors.AsType[*json.SyntaxError](err)
			switch {
			case !utf8.Valid(raw):
				r.bad = unreadable
			case syntax && !sh.lines:
				broken = &errSyntax{s.at - int64(len(raw)) + e.Offset}
				return false
			case err != nil:
				r.bad = sh.bad
			default:
				r = honest(each(&v), m, func() bool {
					return bytes.Contains(raw, lost) || bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
				})
			}
		}
		return out(r)
	}
	err := s.all(sh.bad, out)
	if errors.Is(err, errStop) && broken != nil {
		return broken
	}
	return err
}

// all reads a file to its end.
func (s *splitter) all(bad string, out yield) error {
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

// top reads a value that stands by itself: in lines a row or a page, and otherwise a page.
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
const unreadable = "letters that cannot be read"

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
