package imports

import (
	"bufio"
	"errors"
	"io"
)

// errBudget says that there is more to read than there may be.
var errBudget = errors.New("too much to read")

// source counts the bytes read of an entry, as they are in the file.
type source struct {
	r     io.Reader
	limit int64 // bytes that the archive says there are
	n     int64
	pause func(*source) error // called before each read; an error ends reading
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.pause != nil {
		if err := s.pause(s); err != nil {
			return 0, err
		}
	}
	if s.n > s.limit {
		return 0, errBudget
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	return n, err
}

// meter reads the text of an entry in UTF-8. Through Read, a row has maxRow bytes at the most.
type meter struct {
	r    *bufio.Reader
	text *text
	file *source
	used int64 // bytes of the text that have been looked at
	last int64 // used at the end of the last row
	tail byte  // the last byte that Read has returned
}

func newMeter(r io.Reader, limit int64) *meter {
	m := &meter{file: &source{r: r, limit: limit}}
	m.text = &text{r: m.file}
	m.r = bufio.NewReaderSize(m.text, 64<<10)
	return m
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if m.used-m.last > maxRow {
		return 0, errBudget
	}
	n, err := m.r.Read(p)
	if m.used += int64(n); n > 0 {
		m.tail = p[n-1]
	}
	return n, err
}

// cutOff reports whether the text ends at a place, within a line.
func (m *meter) cutOff(at int64) bool {
	_, err := m.r.Peek(1)
	return errors.Is(err, io.EOF) && m.used == at && m.tail != '\n' && m.tail != '\r'
}

// took notes the end of a row.
func (m *meter) took() { m.last = m.used }

// begins returns the next byte that is no space, without reading it; 0 at the end.
func (m *meter) begins() (byte, error) {
	c, err := (&splitter{m: m}).peek()
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	return c, err
}
