// Package art keeps pictures on the disk: a bounded cache whose files are named by their content.
//
// A picture's name is the SHA-256 of its bytes, so the same one is kept once and a name never stands for anything else.
// What is kept is a picture by its own bytes, whatever its server calls it. A file is there whole or not at all. When
// there is no room, what was looked at least recently goes first. Nothing that is kept depends on it: what is missing
// is a page without that picture.
package art

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/resilience"
)

// MaxPicture is how many bytes a picture may have, if the cache may have as many.
const MaxPicture = 5 << 20

// seenEvery is how exactly the cache knows when a picture was looked at last.
const seenEvery = 24 * time.Hour

// kinds are the types of pictures that browsers are given.
var kinds = []string{"image/jpeg", "image/png", "image/webp", "image/gif"}

// Cache is a folder of pictures. Safe for concurrent use.
type Cache struct {
	dir    string
	most   int64 // bytes
	client *http.Client
	hosts  []string

	mu   sync.Mutex
	kept map[string]*file
	size int64
}

// file is what is known of a picture that is kept.
type file struct {
	size int64
	seen time.Time // as its modification time says
}

// Options shape a Cache.
type Options struct {
	Dir    string // made when the first picture is kept
	Most   int64  // bytes of all pictures together
	Client *http.Client
	// Hosts are those that pictures are fetched from: with a port this very one, without that domain and all below it.
	Hosts []string
}

// Open returns the cache of a folder, with what is in it. Beginnings of pictures that an earlier process has left
// behind are removed.
func Open(o Options) (*Cache, error) {
	c := &Cache{dir: o.Dir, most: o.Most, client: o.Client, hosts: o.Hosts, kept: map[string]*file{}}
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, trouble(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case isName(e.Name()):
			c.kept[e.Name()] = &file{size: info.Size(), seen: info.ModTime()}
			c.size += info.Size()
		case strings.HasPrefix(e.Name(), partial):
			_ = os.Remove(filepath.Join(o.Dir, e.Name()))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoomLocked("")
	return c, nil
}

// partial begins the name of a file that is being written.
const partial = ".new-"

func isName(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

func trouble(err error) error {
	return &resilience.LocalError{Problem: "Pictures cannot be kept in the data directory. Make room on its disk, or check its permissions; nothing else is lost.", Err: err}
}

// Keep stores a picture and returns its name. What is no picture, or too large, is an error; so is trouble with the disk,
// a *resilience.LocalError.
func (c *Cache) Keep(picture []byte) (name string, err error) {
	size := int64(len(picture))
	if kindOf(picture) == "" || size > c.largest() {
		return "", errors.New("keep picture: not a picture that can be kept")
	}
	sum := sha256.Sum256(picture)
	name = hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[name] != nil {
		c.sawLocked(name)
		return name, nil
	}
	if err := write(c.dir, name, picture); err != nil {
		return "", trouble(fmt.Errorf("keep picture: %w", err))
	}
	c.kept[name] = &file{size: size, seen: time.Now()}
	c.size += size
	c.makeRoomLocked(name) // last, so that trouble with the disk costs no other picture
	return name, nil
}

// largest is how many bytes a picture may have here.
func (c *Cache) largest() int64 { return min(MaxPicture, c.most) }

// write makes a file that is there whole or not at all.
func write(dir, name string, b []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, partial+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// makeRoomLocked removes what was looked at least recently, but not the picture that it is for, until the rest fits.
func (c *Cache) makeRoomLocked(name string) {
	if c.size <= c.most {
		return
	}
	names := make([]string, 0, len(c.kept))
	for other := range c.kept {
		if other != name {
			names = append(names, other)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return c.kept[a].seen.Compare(c.kept[b].seen) })
	for _, other := range names {
		if c.size <= c.most {
			return
		}
		c.dropLocked(other)
	}
}

func (c *Cache) dropLocked(name string) {
	_ = os.Remove(filepath.Join(c.dir, name)) // what stays is counted at the next start
	c.size -= c.kept[name].size
	delete(c.kept, name)
}

// sawLocked notes that a picture was looked at.
func (c *Cache) sawLocked(name string) {
	now := time.Now()
	if f := c.kept[name]; now.Sub(f.seen) >= seenEvery {
		f.seen = now
		_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // it may be removed a little too early then
	}
}

// Has says whether a picture is kept. It costs nothing, and is no looking at it.
func (c *Cache) Has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[name] != nil
}

// Missing returns those of these pictures that are not kept, but no more than certainly fit beside what is: getting them
// anew drives nothing else out.
func (c *Cache) Missing(names []string) (missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fit := 0
	if largest := c.largest(); largest > 0 {
		fit = int(max(c.most-c.size, 0) / largest)
	}
	for _, name := range names {
		if len(missing) == fit {
			break
		}
		if c.kept[name] == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// Read returns a picture that somebody looks at, and its type; fs.ErrNotExist when it is not kept.
func (c *Cache) Read(name string) (picture []byte, kind string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[name] == nil {
		return nil, "", fs.ErrNotExist
	}
	picture, err = os.ReadFile(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) { // somebody has removed it
		c.dropLocked(name)
		return nil, "", fs.ErrNotExist
	}
	if err != nil {
		return nil, "", trouble(fmt.Errorf("read picture: %w", err))
	}
	c.sawLocked(name)
	return picture, kindOf(picture), nil
}

// kindOf is the type of a picture by its bytes; empty when it is none that is kept.
func kindOf(b []byte) string {
	if kind := http.DetectContentType(b); slices.Contains(kinds, kind) {
		return kind
	}
	return ""
}
