package imports

import (
	"archive/zip"
	"context"
	"errors"
)

// mostNested is how many archives in an archive are looked into.
const mostNested = 5

// keptFile is a file that was just received.
type keptFile struct {
	user int64  // who sent it
	name string // by which Files finds it
	said string // for people
	size int64
}

// recognise is the function of that name for a file that was just kept. Where nobody knows an archive, it looks into
// the archives inside, as Apple nests them: the first one that is known replaces the file.
func (r *Runner) recognise(ctx context.Context, f keptFile) (keptFile, recognised, error) {
	archive, err := r.c.Files.Open(ctx, f.name)
	if err != nil {
		return f, recognised{}, err
	}
	defer archive.Close()
	found, unknown := recognise(archive, f.said)
	if _, refused := errors.AsType[*RefusedError](unknown); !refused {
		return f, found, unknown
	}
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
		inner, as, err := r.nested(ctx, f.user, file)
		if err == nil {
			return inner, as, r.replace(ctx, f, inner)
		}
		if _, refused := errors.AsType[*RefusedError](err); !refused {
			return f, found, err
		}
	}
	return f, found, unknown
}

// nested keeps an archive of an archive if it is recognised.
func (r *Runner) nested(ctx context.Context, user int64, file *zip.File) (f keptFile, found recognised,
	err error) {
	in, err := file.Open()
	if err != nil {
		return f, found, &RefusedError{}
	}
	f.user, f.said = user, cleanName(file.Name)
	f.name, f.size, err = r.c.Files.Keep(ctx, user, in)
	_ = in.Close() // it was only read
	if err != nil {
		if _, full := errors.AsType[*RoomError](err); full || isLocal(err) {
			return f, found, err
		}
		return f, found, &RefusedError{} // it is damaged, or larger than it says
	}
	kept, err := r.c.Files.Open(ctx, f.name)
	if err == nil {
		found, err = recognise(kept, f.said)
		err = errors.Join(err, kept.Close())
	}
	if err != nil {
		err = errors.Join(err, r.c.Files.Remove(ctx, f.name))
	}
	return f, found, err
}

// replace removes a file that another one replaces.
func (r *Runner) replace(ctx context.Context, old, by keptFile) error {
	err := r.c.Files.Remove(ctx, old.name)
	if err != nil {
		_ = r.c.Files.Remove(ctx, by.name)
	}
	return err
}
