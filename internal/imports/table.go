package imports

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"reprise/internal/words"
)

// maxFields is how many columns a table may have.
const maxFields = 500

// separatorOf returns what separates the cells of a table that begins with head: a comma, a semicolon or a tab.
func separatorOf(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', 0
	for _, c := range ",;\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// tableRows reads the rows of a table. first looks at the first row, and returns how rows are read and whether that one
// is one of them; its error ends reading.
func tableRows(
	m *meter, out yield, first func(cells []string) (each func(cells []string) row, isRow bool, err error),
) error {
	in := csv.NewReader(m)
	in.ReuseRecord, in.LazyQuotes, in.FieldsPerRecord = true, true, -1
	head, _ := m.r.Peek(4000)
	in.Comma = separatorOf(head)
	var each func([]string) row
	start := m.used
	n, end, width := 0, 0, 0 // of the row and of the line that were read last, and the columns of the first one
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) && each != nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errKind
		}
		if _, shape := errors.AsType[*csv.ParseError](err); err != nil && !shape {
			return err
		}
		m.took()
		begin, last := linesFrom(in, cells, err)
		n, end = n+max(begin-end, 1), last // an empty line is a row, too
		if width = cmp.Or(width, len(cells)); err == nil && len(cells) < width && m.cutOff(start+in.InputOffset()) {
			return io.ErrUnexpectedEOF
		}
		isRow := true
		if each == nil {
			if each, isRow, err = first(cells); err != nil {
				return err
			}
		}
		if !isRow {
			continue
		}
		v := row{bad: words.New("import.row.quotes")}
		switch {
		case err != nil:
		case len(cells) > maxFields:
			v.bad = words.New("import.row.many_columns")
		default:
			v = each(cells)
		}
		v = honest(v, m, func() bool { return true })
		if v.n = n; !out(v) {
			return errStop
		}
	}
}

// linesFrom returns the lines on which the row that was read begins and ends.
func linesFrom(in *csv.Reader, cells []string, err error) (begin, end int) {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return e.StartLine, e.Line
	}
	begin, _ = in.FieldPos(0)
	end, _ = in.FieldPos(len(cells) - 1)
	return begin, end + strings.Count(cells[len(cells)-1], "\n")
}

// column returns the index of the first column with one of these names, in lower case with "_" for spaces; -1 for none.
func column(heading []string, names ...string) int {
	for _, want := range names {
		for i, n := range heading {
			n, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(n)), "#") // "Date#alice"
			if strings.ReplaceAll(strings.Trim(n, "\ufeff\""), " ", "_") == want {
				return i
			}
		}
	}
	return -1
}

// cellOf returns a copy of a cell; empty for a column that is not there.
func cellOf(cells []string, i int) string {
	if i < 0 || i >= len(cells) {
		return ""
	}
	return strings.Clone(strings.TrimSpace(cells[i]))
}

// headed returns the first of tableRows for a table whose heading has all needed columns. each gets the cells by the
// names in names, the needed ones first.
func headed(names [][]string, needed int, each func(get func(i int) string) row) func([]string) (
	func([]string) row, bool, error) {
	return func(heading []string) (func([]string) row, bool, error) {
		at := make([]int, len(names))
		for i, n := range names {
			if at[i] = column(heading, n...); at[i] < 0 && i < needed {
				return nil, false, errKind
			}
		}
		return func(cells []string) row {
			return each(func(i int) string { return cellOf(cells, at[i]) })
		}, false, nil
	}
}
