package imports

import (
	"cmp"
	"errors"

	"reprise/internal/words"
)

// The limits of a first look at a file.
const (
	lookAt    = 1000     // rows of an entry
	lookBytes = 64 << 20 // bytes of all entries together
)

// look is what a first look at a file has found.
type look struct {
	total int64 // bytes of all entries
	bytes int64 // that rows take
	rows  int
}

// need estimates the room that all listens of a file will take, in bytes, when each takes rowBytes.
func (l look) need(mostRows int, rowBytes int64) int64 {
	rows := float64(l.total) / float64(max(l.bytes, 1)) * float64(l.rows)
	return int64(min(rows, float64(mostRows))) * rowBytes
}

// errLooked ends a look at a file that has nothing but bad rows.
var errLooked = errors.New("looked at enough")

// check looks into a file. It returns a *RefusedError unless at least one row can be read.
func check(sent File, name string, f format, a Answers) (look, error) {
	e, err := listed(sent, name, f)
	if err != nil {
		return look{}, err
	}
	var why words.Text
	left := int64(lookBytes)
	for _, entry := range e.entries {
		seen, good := look{total: e.total}, false
		var file *source
		err := entry.each(f, a, func(s *source) error {
			if file = s; left-file.n < 0 {
				return errLooked
			}
			return nil
		}, func(m *meter, v row) bool {
			seen.rows++
			seen.bytes = m.used
			good = good || v.bad.IsZero()
			if why.IsZero() && !v.bad.IsZero() {
				why = words.New("import.refused.file_row", "File", entry.name, "Row", v.n, "Why", v.bad)
			}
			return seen.rows < lookAt
		})
		if good {
			return seen, nil
		}
		if why.IsZero() && err != nil && !errors.Is(err, errStop) && !errors.Is(err, errLooked) {
			why = words.New("import.refused.file_why", "Why", inWords(err))
		}
		if file == nil { // it cannot be opened
			continue
		}
		if left -= file.n; left <= 0 {
			break
		}
	}
	if why.IsZero() {
		why = words.New("import.refused.file")
	}
	return look{}, &RefusedError{Problem: words.Join(why, f.expected)}
}

// each calls take with every row of an entry, and pause before it reads on. An error of pause ends it.
func (e *entry) each(f format, a Answers, pause func(*source) error, take func(*meter, row) bool) error {
	in, err := e.open()
	if err != nil {
		return err
	}
	defer in.Close()
	m := newMeter(in, cmp.Or(e.limit, e.size))
	m.file.pause = pause
	n := 0
	return f.read(m, a, func(v row) bool {
		n++
		v.n = cmp.Or(v.n, n)
		return take(m, v)
	})
}
