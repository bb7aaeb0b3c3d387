package export

import "io"

// Sheet is a table of statistics, which is small enough to be whole in memory.
type Sheet struct {
	Name    string // of its file, without the ending
	Heading []string
	Rows    [][]string
}

// SheetType is the media type of a Sheet.
const SheetType = "text/csv; charset=utf-8"

// Write writes the table as CSV with a byte order mark, and returns how many rows it has.
func (t Sheet) Write(w io.Writer) (int, error) {
	b := append([]byte(nil), "\ufeff"...)
	row := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCell(b, cell)
		}
		b = append(b, '\n')
	}
	row(t.Heading)
	for _, cells := range t.Rows {
		row(cells)
	}
	_, err := w.Write(b)
	return len(t.Rows), err
}
