// Package export writes a person's listens and playlists in formats that other programs read: listens as JSON Lines,
// CSV, and as ListenBrainz, Last.fm exporters and Maloja write them; playlists as JSPF, XSPF, M3U8 and CSV.
//
// Listens and tracks are written while they are read, so memory use does not grow with the library. JSON Lines is the
// exact format: it has every field of library.ListenRecord, and importing it restores the same listens. CSV cells that
// a spreadsheet would run as formulas are escaped (see Safe); [Plain] undoes it.
package export

import (
	"io"
	"iter"

	"reprise/internal/library"
)

// Form is a file format for listens.
type Form struct {
	Name    string // in addresses and sentences
	Ending  string // file name extension
	Type    string // media type
	begin   string // start of a file
	end     string
	between string // separates two listens

	// Append appends one listen, without the text between two.
	Append func([]byte, *library.StoredListen) []byte
}

// The formats of listens in one file.
var (
	JSONLines = Form{Name: "listens.jsonl", Ending: ".jsonl", Type: "application/x-ndjson", Append: appendRecord}
	// CSV begins with a byte order mark, without which spreadsheets mistake the encoding.
	CSV = Form{Name: "listens.csv", Ending: ".csv", Type: "text/csv; charset=utf-8", begin: "\ufeff" + Heading + "\n",
		Append: appendRow}
	// LastFM is the table that exporters for Last.fm write (such as mainstream.ghan.nl/export.html), with one more
	// column.
	LastFM = Form{Name: "lastfm.csv", Ending: ".csv", Type: "text/csv; charset=utf-8", begin: LastFMHeading + "\n",
		Append: appendScrobble}
	// Maloja is the format of Maloja's own export.
	Maloja = Form{Name: "maloja.json", Ending: ".json", Type: "application/json", begin: `{"scrobbles":[` + "\n",
		between: ",\n", end: "\n]}\n", Append: appendMaloja}
	// ListenBrainz is one listen per line, as in ListenBrainz' own export.
	ListenBrainz = Form{Name: "listenbrainz.jsonl", Ending: ".jsonl", Type: "application/x-ndjson",
		Append: appendListenBrainz}
)

// Forms are the formats that a person can choose from, in the order shown.
var Forms = []Form{JSONLines, CSV, ListenBrainz, LastFM, Maloja}

// atOnce is how many bytes are collected before they are written.
const atOnce = 64 << 10

// Write writes listens to w as one file, and returns how many it has written. It stops at the first error of either.
func (f Form) Write(w io.Writer, listens iter.Seq2[library.StoredListen, error]) (n int, err error) {
	b := append(make([]byte, 0, atOnce+4<<10), f.begin...)
	for l, err := range listens {
		if err != nil {
			return n, err
		}
		if n > 0 {
			b = append(b, f.between...)
		}
		b = f.Append(b, &l)
		n++
		if len(b) >= atOnce {
			if _, err := w.Write(b); err != nil {
				return n, err
			}
			b = b[:0]
		}
	}
	_, err = w.Write(append(b, f.end...))
	return n, err
}

// Folder is an archive to which one file is added after the other, such as a zip.Writer.
type Folder interface {
	Create(name string) (io.Writer, error)
}

// Months writes listens, which must be in order of time, as a file for each month, such as listens/2026/11.jsonl. This
// is the layout of ListenBrainz' own export.
func (f Form) Months(to Folder, listens iter.Seq2[library.StoredListen, error]) error {
	month, b := "", []byte(nil)
	var file io.Writer
	flush := func() error {
		if file == nil {
			return nil
		}
		_, err := file.Write(b)
		b = b[:0]
		return err
	}
	for l, err := range listens {
		if err != nil {
			return err
		}
		if of := l.PlayedAt.UTC().Format("2006/01"); of != month {
			created, err := io.Writer(nil), flush()
			if err == nil {
				created, err = to.Create("listens/" + of + f.Ending)
			}
			if err != nil {
				return err
			}
			month, file = of, created
		}
		if b = f.Append(b, &l); len(b) >= atOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// Size estimates the size in bytes of a file with n listens, given a sample of them.
func (f Form) Size(n int, some []library.StoredListen) int64 {
	size := int64(len(f.begin) + len(f.end))
	if len(some) == 0 {
		return size
	}
	var b []byte
	for i := range some {
		b = append(f.Append(b, &some[i]), f.between...)
	}
	return size + int64(float64(len(b))/float64(len(some))*float64(n))
}

// Pages iterates over the listens of all pages. read returns a page and the cursor of the next one, which is empty at
// the end.
func Pages(read func(next string) ([]library.StoredListen, string, error)) iter.Seq2[library.StoredListen, error] {
	return func(yield func(library.StoredListen, error) bool) {
		for next := ""; ; {
			page, cursor, err := read(next)
			if err != nil {
				yield(library.StoredListen{}, err)
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			if next = cursor; next == "" {
				return
			}
		}
	}
}
