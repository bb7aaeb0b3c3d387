package export

import (
	"io"
	"iter"
)

// Sheet is a table of statistics. It is small enough to be held in memory.
type Sheet struct {
	Name    string // of its file, without the ending
	Heading []string
	Rows    iter.Seq2[[]string, error] // a row is valid until the next one
}

// SheetType is the media type of a Sheet.
const SheetType = "text/csv; charset=utf-8"

// Write writes the table to w as CSV with a byte order mark, and returns how many rows it has.
func (t Sheet) Write(w io.Writer) (n int, err error) {
	b := appendCells([]byte("\ufeff"), t.Heading)
	for cells, err := range t.Rows {
		if err != nil {
			return n, err
		}
		b = appendCells(b, cells)
		n++
		if len(b) >= sheetPart {
			if _, err := w.Write(b); err != nil {
				return n, err
			}
			b = b[:0]
		}
	}
	_, err = w.Write(b)
	return n, err
}

// sheetPart is about how many bytes of a table are written at once.
const sheetPart = 4 << 10

func appendCells(b []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCell(b, cell)
	}
	return append(b, '\n')
}
