package imports

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"

	"reprise/internal/playrules"
	"reprise/internal/words"
)

// The limits of a file. The whole history of an account has some hundred megabytes unpacked. The limits are far above
// that, and far below what would harm the server.
const (
	MaxFile     = 2 << 30 // bytes of the file
	maxUnpacked = 8 << 30 // bytes, unpacked
	maxEntries  = 20_000  // files in an archive
	maxRows     = 5e6     // rows, of all its files; a whole life of listening has less than a million
	maxContents = 8 << 20 // bytes of an archive's table of contents
)

// entry is one file in an archive, or the export itself if it is no archive.
type entry struct {
	name  string
	size  int64 // as the archive says
	limit int64 // bytes that there may be, if they are others than size; 0 for size
	open  func() (io.ReadCloser, error)
}

// export is an opened file.
type export struct {
	f       File
	entries []entry // the ones with listens
	total   int64   // bytes of all entries
	// rules opens the archive's file with rules; nil for none.
	rules func() (io.ReadCloser, error)
}

// listed lists the entries of a file that a format reads. The name is for people.
func listed(f File, name string, as format) (*export, error) {
	e := &export{f: f}
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.Equal(magic, []byte("PK\x03\x04")) {
		return e, e.unpack(f.Size(), as)
	}
	e.total = f.Size()
	e.entries = []entry{{name: name, size: f.Size(), open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, f.Size())), nil
	}}}
	return e, nil
}

func (e *export) unpack(size int64, f format) error {
	contents := &budget{r: e.f, left: maxContents}
	archive, err := zip.NewReader(contents, size)
	if errors.Is(err, errBudget) || err == nil && len(archive.File) > maxEntries {
		return &RefusedError{Problem: words.Join(words.New("import.refused.more"), f.expected)}
	}
	if err != nil {
		return &RefusedError{Problem: words.Join(words.New("import.refused.damaged"), f.expected)}
	}
	contents.left = -1
	parts := make(map[string]*zip.File, len(archive.File))
	for _, file := range archive.File {
		parts[file.Name] = file
	}
	if parts[workbookPart] != nil {
		if err := e.sheets(parts, f.wants); err != nil {
			return err
		}
		archive.File = nil
	}
	for _, file := range archive.File {
		if path.Base(file.Name) == playrules.FileName && !hidden(file.Name) {
			e.rules = file.Open
		}
		if file.FileInfo().IsDir() || !f.wants(file.Name) {
			continue
		}
		entrySize := int64(min(file.UncompressedSize64, maxUnpacked+1))
		if e.total += entrySize; e.total > maxUnpacked {
			return &RefusedError{Problem: words.Join(words.New("import.refused.unfolds"), f.expected)}
		}
		e.entries = append(e.entries, entry{name: cleanName(file.Name), size: entrySize, open: file.Open})
	}
	if len(e.entries) == 0 {
		return &RefusedError{Problem: words.Join(words.New("import.refused.none"), f.expected), empty: true}
	}
	return nil
}

// budget is a reader that fails after left bytes. A negative left sets no limit.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left >= 0 {
		if b.left -= int64(len(p)); b.left < 0 {
			b.left = 0
			return 0, errBudget
		}
	}
	return b.r.ReadAt(p, off)
}
