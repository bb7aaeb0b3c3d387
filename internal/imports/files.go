package imports

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// File is a file that somebody has sent. One goroutine at a time reads it.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Files keep what people send until it has been read. They are safe for concurrent use.
type Files interface {
	// Keep stores what a person sends, and returns the name by which it is found. With an error, such as ErrTooLarge
	// for more than MaxFile bytes, nothing stays.
	Keep(ctx context.Context, user int64, body io.Reader) (name string, size int64, err error)
	// Open opens a file. The error wraps os.ErrNotExist if there is none of that name.
	Open(ctx context.Context, name string) (File, error)
	// Remove removes a file, if it is there.
	Remove(ctx context.Context, name string) error
	// Sweep removes the files that were kept before a time, except for those that are needed.
	Sweep(ctx context.Context, needed map[string]bool, before time.Time) error
}

// Folder keeps files in a folder, which it makes.
type Folder struct {
	Path string
	// Free returns the room on its disk, in bytes; nil when that is not known.
	Free func() (bytes int64, known bool)
}

// Keep implements Files. It stops before the disk is full, with a *RoomError.
func (d Folder) Keep(_ context.Context, _ int64, body io.Reader) (name string, size int64, err error) {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return "", 0, trouble(err)
	}
	name = rand.Text()
	f, err := os.OpenFile(d.of(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, trouble(err)
	}
	size, err = io.Copy(&disk{f: f, free: d.Free}, io.LimitReader(body, MaxFile+1))
	if err == nil && size > MaxFile {
		err = ErrTooLarge
	}
	if err = errors.Join(err, trouble(f.Sync()), trouble(f.Close())); err != nil {
		_ = os.Remove(f.Name())
	}
	return name, size, err
}

func (d Folder) of(name string) string { return filepath.Join(d.Path, name) }

// onDisk is a File in a Folder.
type onDisk struct {
	*os.File
	size int64
}

// Size implements File.
func (f onDisk) Size() int64 { return f.size }

// Open implements Files.
func (d Folder) Open(_ context.Context, name string) (File, error) {
	f, err := os.Open(d.of(name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(trouble(err), f.Close())
	}
	return onDisk{f, info.Size()}, nil
}

// Remove implements Files.
func (d Folder) Remove(_ context.Context, name string) error {
	if err := os.Remove(d.of(name)); !errors.Is(err, os.ErrNotExist) {
		return trouble(err)
	}
	return nil
}

// Sweep implements Files. A file that can't be removed stays until the next time.
func (d Folder) Sweep(_ context.Context, needed map[string]bool, before time.Time) error {
	files, _ := os.ReadDir(d.Path) // the folder may not exist yet
	for _, f := range files {
		if info, err := f.Info(); err == nil && !needed[f.Name()] && info.ModTime().Before(before) {
			_ = os.Remove(d.of(f.Name()))
		}
	}
	return nil
}

// disk marks errors of the disk, to tell them from errors of the sender, and stops before it is full.
type disk struct {
	f    *os.File
	free func() (bytes int64, known bool)
	left int64 // bytes to write before it looks for room again
}

// lookRoom is how many bytes are written before a disk looks for room again.
const lookRoom = 16 << 20

func (d *disk) Write(p []byte) (int, error) {
	if d.left -= int64(len(p)); d.left < 0 {
		if err := roomFor(lookRoom, d.free); err != nil {
			return 0, err
		}
		d.left = lookRoom
	}
	n, err := d.f.Write(p)
	return n, trouble(err)
}

func trouble(err error) error {
	if err == nil {
		return nil
	}
	return &resilience.LocalError{
		Problem: words.New("trouble.file"), Err: err,
	}
}
