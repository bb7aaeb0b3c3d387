package imports

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
)

// mostNested is how many archives in an archive are looked into.
const mostNested = 5

// keptFile is a file in the folder of imports.
type keptFile struct {
	name string // in the folder
	said string // for people
	size int64
}

// recognise is the function of that name for a file that was just kept. Where nobody knows an archive, it looks into
// the archives inside, as Apple nests them: the first one that is known replaces the file.
func (r *Runner) recognise(f keptFile) (keptFile, recognised, error) {
	found, unknown := recognise(filepath.Join(r.c.Dir, f.name), f.said)
	if _, refused := errors.AsType[*RefusedError](unknown); !refused {
		return f, found, unknown
	}
	archive, err := os.Open(filepath.Join(r.c.Dir, f.name))
	if err != nil {
		return f, found, trouble(err)
	}
	defer archive.Close()
	contents := &budget{r: archive, left: maxContents}
	list, err := zip.NewReader(contents, f.size)
	if err != nil || len(list.File) > maxEntries { // recognise has said so
		return f, found, unknown
	}
	contents.left = -1
	looked := 0
	for _, file := range list.File {
		if !ending(file.Name, ".zip") || hidden(file.Name) || file.UncompressedSize64 > MaxFile {
			continue
		}
		if looked++; looked > mostNested {
			break
		}
		inner, as, err := r.nested(file)
		if err == nil {
			return inner, as, r.replace(f, inner)
		}
		if _, refused := errors.AsType[*RefusedError](err); !refused {
			return f, found, err
		}
	}
	return f, found, unknown
}

// nested keeps an archive of an archive if it is recognised.
func (r *Runner) nested(file *zip.File) (f keptFile, found recognised, err error) {
	in, err := file.Open()
	if err != nil {
		return f, found, &RefusedError{}
	}
	f.said = cleanName(file.Name)
	f.name, f.size, err = r.keep(in)
	_ = in.Close() // it was only read
	if err != nil {
		if _, full := errors.AsType[*RoomError](err); full || isLocal(err) {
			return f, found, err
		}
		return f, found, &RefusedError{} // it is damaged, or larger than it says
	}
	if found, err = recognise(filepath.Join(r.c.Dir, f.name), f.said); err != nil {
		err = errors.Join(err, trouble(os.Remove(filepath.Join(r.c.Dir, f.name))))
	}
	return f, found, err
}

// replace removes a file that another one replaces.
func (r *Runner) replace(old, by keptFile) error {
	err := trouble(os.Remove(filepath.Join(r.c.Dir, old.name)))
	if err != nil {
		_ = os.Remove(filepath.Join(r.c.Dir, by.name))
	}
	return err
}
