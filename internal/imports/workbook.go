package imports

import (
	"archive/zip"
	"encoding/csv"
	"encoding/xml"
	"io"
	"path"
	"strconv"
	"strings"

	"reprise/internal/words"
)

// A workbook (.xlsx) is an archive of XML. Libraries for it keep a row, or all, in memory however large it is, and a
// file from a stranger decides how large; this reads what a history needs: the texts of cells, one row after the other.

// The limits of a workbook. The texts that cells share are kept in memory while it is read.
const (
	workbookPart = "xl/workbook.xml"
	maxTexts     = 32 << 20 // bytes of the part with the shared texts, unpacked
	maxSheetRow  = 4 * maxRow
)

// workbook is a workbook that is being read.
type workbook struct {
	parts map[string]*zip.File
	texts []string
}

// sheets lists the sheets of a workbook as tables, each under its name with ".csv".
func (e *export) sheets(parts map[string]*zip.File, wants func(string) bool) error {
	var book struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	w := &workbook{parts: parts}
	if !w.part(workbookPart, maxContents, &book) || !w.part("xl/_rels/workbook.xml.rels", maxContents, &links) {
		return &RefusedError{Problem: words.New("import.refused.damaged")}
	}
	for _, sheet := range book.Sheets {
		name := cleanName(sheet.Name) + ".csv"
		for _, link := range links.All {
			target := path.Join("xl", link.Target)
			if strings.HasPrefix(link.Target, "/") {
				target = link.Target[1:]
			}
			part := parts[target]
			if link.ID != sheet.ID || part == nil || !wants(name) {
				continue
			}
			size := int64(min(part.UncompressedSize64, maxUnpacked+1))
			if e.total += size; e.total > maxUnpacked {
				return &RefusedError{Problem: words.New("import.refused.unfolds")}
			}
			e.entries = append(e.entries, entry{name: name, size: size, limit: maxUnpacked,
				open: func() (io.ReadCloser, error) { return w.table(part) }})
		}
	}
	return nil
}

// part decodes a small part, and reports whether that worked.
func (w *workbook) part(name string, most uint64, v any) bool {
	file := w.parts[name]
	if file == nil || file.UncompressedSize64 > most {
		return false
	}
	in, err := file.Open()
	if err != nil {
		return false
	}
	defer in.Close()
	return xml.NewDecoder(in).Decode(v) == nil
}

// gate is a reader that fails when a row takes more than maxSheetRow bytes.
type gate struct {
	r    io.Reader
	left int
}

func (g *gate) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, errBudget
	}
	n, err := g.r.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

func (g *gate) open() { g.left = maxSheetRow }

// table returns a sheet as CSV.
func (w *workbook) table(part *zip.File) (io.ReadCloser, error) {
	if err := w.share(); err != nil {
		return nil, err
	}
	in, err := part.Open()
	if err != nil {
		return nil, err
	}
	r, out := io.Pipe()
	go func() {
		err := w.rows(in, csv.NewWriter(out))
		_ = in.Close()
		_ = out.CloseWithError(err) // nil is the end
	}()
	return r, nil
}

// share reads the texts that cells share.
func (w *workbook) share() error {
	part := w.parts["xl/sharedStrings.xml"]
	if part == nil || w.texts != nil {
		return nil
	}
	if part.UncompressedSize64 > maxTexts {
		return errBudget
	}
	in, err := part.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	g := &gate{r: in}
	d := xml.NewDecoder(g)
	var text strings.Builder
	for {
		g.open()
		token, err := d.Token()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			switch token.Name.Local {
			case "si":
				text.Reset()
			case "t":
				part, err := characters(d)
				if err != nil {
					return err
				}
				text.WriteString(part)
			case "rPh": // how it is spoken
				if err := d.Skip(); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if token.Name.Local == "si" {
				w.texts = append(w.texts, text.String())
			}
		}
	}
}

// characters returns the text up to the end of the element that has begun.
func characters(d *xml.Decoder) (string, error) {
	var v struct {
		Text string `xml:",chardata"`
	}
	err := d.DecodeElement(&v, &xml.StartElement{})
	return v.Text, err
}

// rows writes the rows of a sheet.
func (w *workbook) rows(in io.Reader, out *csv.Writer) error {
	g := &gate{r: in}
	g.open()
	d := xml.NewDecoder(g)
	var cells []string
	kind, at := "", 0
	for {
		token, err := d.Token()
		if isEnd(err) {
			out.Flush()
			return out.Error()
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			switch token.Name.Local {
			case "row":
				cells = cells[:0]
			case "c":
				kind, at = "", len(cells)
				for _, a := range token.Attr {
					switch a.Name.Local {
					case "t":
						kind = a.Value
					case "r":
						at = columnOf(a.Value)
					}
				}
				for len(cells) <= at && at <= maxFields {
					cells = append(cells, "")
				}
			case "v", "t":
				text, err := characters(d)
				if err != nil {
					return err
				}
				if at < len(cells) {
					cells[at] += w.value(kind, text)
				}
			}
		case xml.EndElement:
			if token.Name.Local != "row" {
				continue
			}
			g.open()
			if err := out.Write(cells); err != nil {
				return err
			}
		}
	}
}

// value returns the text of a cell.
func (w *workbook) value(kind, text string) string {
	if kind != "s" {
		return text
	}
	if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(w.texts) {
		return w.texts[i]
	}
	return ""
}

// columnOf returns the column of a cell such as "AB12", counted from 0.
func columnOf(name string) int {
	n := 0
	for _, c := range name {
		if c < 'A' || c > 'Z' || n > maxFields {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
