package imports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The limits of rows in bytes and levels. Rows of services are below 4 KiB.
const (
	maxRow    = 64 << 10 // bytes
	maxPages  = 6        // pages within pages
	maxPassed = 8 << 20  // bytes of a value that is passed over
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
	emit  func(raw []byte, whole bool) bool

	row []byte // the row under way, up to maxRow
	cut bool   // the row is longer
}

// peek returns the next byte that is not a space, without taking it.
func (s *splitter) peek() (byte, error) {
	for begin := s.m.used; s.m.used-begin <= maxPassed; {
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
	s.m.used += int64(n)
}

func (s *splitter) wrong() error { return &errSyntax{s.m.used} }

// take adds to the row under way, as far as that may be long.
func (s *splitter) take(b []byte) {
	if s.cut = s.cut || len(s.row)+len(b) > maxRow; !s.cut {
		s.row = append(s.row, b...)
	}
}

// begin begins a new row.
func (s *splitter) begin() { s.row, s.cut = s.row[:0], false }

// flush hands the row over.
func (s *splitter) flush() error {
	if !s.emit(s.row, !s.cut) {
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
	if c == '{' && len(s.pages) > 0 { // otherwise it is a row, which is faster to read as a whole
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
	if (c == '[' || c == '{') && !s.cut && slices.Contains(s.pages, string(name)) {
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

// nesting is how far into a value a splitter is.
type nesting struct {
	depth           int
	quoted, escaped bool
	scalar          bool // the value is a number or a word
}

// end says what scan has found.
type end int

const (
	more    end = iota // the value goes on
	done               // the value ends
	newLine            // the line ends within the value
	noValue            // there is none
)

// scan reads on in a value. It returns how many bytes of b belong to the value.
func (v *nesting) scan(b []byte, lines bool) (int, end) {
	for n, c := range b {
		switch {
		case c == '\n' && lines && (!v.scalar || v.depth > 0):
			return n, newLine
		case v.escaped:
			v.escaped = false
		case v.quoted:
			if v.escaped = c == '\\'; c != '"' {
				continue
			}
			if v.quoted = false; v.depth == 0 {
				return n + 1, done
			}
		case c == '"':
			v.quoted = true
		case c == '[' || c == '{':
			v.depth++
		case c != ']' && c != '}' && c != ',' && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			v.scalar = v.scalar || v.depth == 0
		case v.depth == 0 && v.scalar:
			return n, done
		case v.depth == 0:
			return n, noValue
		case c == ']' || c == '}':
			if v.depth--; v.depth == 0 {
				return n + 1, done
			}
		}
	}
	return len(b), more
}

// value reads a value of any kind. With keep it becomes a part of the row under way.
func (s *splitter) value(keep bool) error {
	var v nesting
	for begin := s.m.used; s.m.used-begin <= maxPassed; {
		if _, err := s.m.r.Peek(1); err != nil {
			if v.scalar && v.depth == 0 && errors.Is(err, io.EOF) {
				return nil
			}
			return ended(err)
		}
		b, _ := s.m.r.Peek(s.m.r.Buffered())
		n, end := v.scan(b, s.lines)
		if keep {
			s.take(b[:n])
		}
		s.drop(n)
		switch end {
		case done:
			return nil
		case newLine:
			return errLine
		case noValue:
			return s.wrong()
		}
	}
	return errBudget
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
	for begin := s.m.used; ; {
		if s.m.used-begin > maxPassed {
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
