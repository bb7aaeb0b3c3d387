package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"reprise/internal/config"
	"reprise/internal/datadir"
)

// place is where copies are kept.
type place interface {
	fmt.Stringer
	// List returns the copies of this installation, in any order.
	List(context.Context) ([]Copy, error)
	// Keep makes a copy of this name. It is there whole, or not at all.
	Keep(ctx context.Context, name string) error
	Open(ctx context.Context, name string) (io.ReadCloser, Copy, error)
	// Fetch returns the path of a copy on the disk, until done is called.
	Fetch(ctx context.Context, name string) (path string, done func() error, err error)
	Remove(ctx context.Context, name string) error
}

// placeOf returns the place that the settings name.
func placeOf(s config.Backup, o Options) place {
	if s.Bucket.Address != "" {
		return bucket{s.Bucket, o}
	}
	return folder{folderOf(s, o.Dir), o.Dir}
}

// stamp is how a name has the time at which its copy was made, in UTC.
const stamp = "20060102-150405"

// nameOf returns the name of a copy. It has the id of the secret key that opens it: several installations may use the
// same place, and none removes the copies of another one.
func nameOf(key string, made time.Time) string {
	return "reprise-" + key + "-" + made.UTC().Format(stamp) + ".db"
}

var named = regexp.MustCompile(`^reprise-([0-9a-f]+)-(\d{8}-\d{6})\.db$`)

// copyOf returns the copy that has a name; false if it is none of this installation.
func copyOf(ctx context.Context, dir datadir.Dir, name string, bytes int64) (Copy, bool) {
	parts := named.FindStringSubmatch(name)
	key, err := dir.Key(ctx)
	if err != nil || parts == nil || parts[1] != key.ID() {
		return Copy{}, false
	}
	made, err := time.Parse(stamp, parts[2])
	return Copy{Name: name, Made: made, Bytes: bytes}, err == nil
}

// room returns an error unless a folder has room for so many bytes.
func room(folder string, bytes int64) error {
	if free, known := datadir.FreeSpace(folder); known && free < bytes+spare {
		return fmt.Errorf("the disk of %s has only %s left, and %s are needed. Free some of it, keep fewer copies, or "+
			"choose another folder", folder, datadir.Size(free), datadir.Size(bytes+spare))
	}
	return nil
}

// folder keeps copies as files.
type folder struct {
	path string
	dir  datadir.Dir
}

func (f folder) String() string { return f.path }

func (f folder) List(ctx context.Context) (all []Copy, _ error) {
	files, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if c, ok := copyOf(ctx, f.dir, file.Name(), info.Size()); ok {
			all = append(all, c)
		}
	}
	return all, err
}

func (f folder) Keep(ctx context.Context, name string) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return fmt.Errorf("the folder %s can't be made: %w. Choose another one for backups", f.path, err)
	}
	size, err := f.dir.DatabaseSize()
	if err == nil {
		err = room(f.path, size)
	}
	if err == nil {
		_, err = f.dir.Copy(ctx, filepath.Join(f.path, name))
	}
	return err
}

func (f folder) Open(ctx context.Context, name string) (io.ReadCloser, Copy, error) {
	c, ok := copyOf(ctx, f.dir, name, 0)
	if !ok {
		return nil, c, fs.ErrNotExist
	}
	file, err := os.Open(filepath.Join(f.path, name))
	if err != nil {
		return nil, c, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, c, errors.Join(err, file.Close())
	}
	c.Bytes = info.Size()
	return file, c, nil
}

func (f folder) Fetch(_ context.Context, name string) (string, func() error, error) {
	return filepath.Join(f.path, name), func() error { return nil }, nil
}

func (f folder) Remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(f.path, name))
}
