// Package art keeps pictures on the disk: a bounded cache whose files are named by their content.
//
// A picture's name is the SHA-256 of its bytes, so equal pictures are kept once and a name never changes its meaning.
// The bytes alone decide whether something is a picture, not the type that its server claims. A file is complete or
// absent. When the cache is full, the least recently used picture goes first. No other data depends on the cache: pages
// are shown without the pictures that it lacks.
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
	"reprise/internal/words"
)

// maxPicture is the size limit of one picture, in bytes.
const maxPicture = 5 << 20

// seenEvery is how often the last use of a picture is written down.
const seenEvery = 24 * time.Hour

// kinds lists the media types that are kept.
var kinds = []string{"image/jpeg", "image/png", "image/webp", "image/gif"}

// Cache is a folder of pictures. It is safe for concurrent use.
type Cache struct {
	dir   string
	hosts func() []string

	mu     sync.Mutex
	most   int64 // bytes of all pictures together
	kept   map[string]*file
	size   int64
	remote bool // another server fetches pictures, and shows them
}

// file describes a picture in the cache.
type file struct {
	size int64
	seen time.Time // when it was last used: the file's modification time
}

// Options shape a Cache.
type Options struct {
	Dir  string // made for the first picture
	Most int64  // bytes of all pictures together
	// Hosts returns where pictures may come from. A host with a port allows exactly that address, one without a port
	// allows the domain and its subdomains. nil allows none.
	Hosts func() []string
}

// Open returns the cache in a folder. It removes incomplete files that an earlier process has left behind.
func Open(o Options) (*Cache, error) {
	if o.Hosts == nil {
		o.Hosts = func() []string { return nil }
	}
	c := &Cache{dir: o.Dir, most: o.Most, hosts: o.Hosts, kept: map[string]*file{}}
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

// Resize changes how many bytes all pictures may have together; with 0 none is kept.
func (c *Cache) Resize(most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
	c.makeRoomLocked("")
}

// largest returns the size limit of one picture in this cache, in bytes.
func (c *Cache) largest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.largestLocked()
}

// Keeps reports whether there is room for any picture.
func (c *Cache) Keeps() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most > 0
}

// partial is the prefix of files that are being written.
const partial = ".new-"

func isName(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

func trouble(err error) error {
	return &resilience.LocalError{
		Problem: words.New("trouble.pictures"), Err: err,
	}
}

// Keep stores a picture and returns its name. Bytes that are no picture, or too many, are an error. A failure of the
// disk is a *resilience.LocalError.
func (c *Cache) Keep(picture []byte) (name string, err error) {
	size := int64(len(picture))
	sum := sha256.Sum256(picture)
	name = hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if kindOf(picture) == "" || size > c.largestLocked() {
		return "", errors.New("keep picture: not a picture that can be kept")
	}
	if c.kept[name] != nil {
		c.sawLocked(name)
		return name, nil
	}
	if err := write(c.dir, name, picture); err != nil {
		return "", trouble(fmt.Errorf("keep picture: %w", err))
	}
	c.kept[name] = &file{size: size, seen: time.Now()}
	c.size += size
	c.makeRoomLocked(name) // last, so that a failure of the disk costs no other picture
	return name, nil
}

func (c *Cache) largestLocked() int64 { return min(maxPicture, c.most) }

// write makes a file in one step: after a crash it is complete or absent.
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

// makeRoomLocked removes the least recently used pictures until the rest fits, but never the one of that name.
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
	_ = os.Remove(filepath.Join(c.dir, name)) // a file that stays is counted at the next start
	c.size -= c.kept[name].size
	delete(c.kept, name)
}

// sawLocked notes that a picture was used.
func (c *Cache) sawLocked(name string) {
	now := time.Now()
	if f := c.kept[name]; now.Sub(f.seen) >= seenEvery {
		f.seen = now
		_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // on failure the picture is removed a little early
	}
}

// Remote has the cache take every picture for one that another server has.
func (c *Cache) Remote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remote = true
}

// Has reports whether a picture is in the cache. It is cheap and does not count as a use.
func (c *Cache) Has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[name] != nil || c.remote
}

// Missing returns which of these pictures are not in the cache, but no more than certainly fit, so that fetching them
// removes no other picture.
func (c *Cache) Missing(names []string) (missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fit := 0
	if largest := c.largestLocked(); largest > 0 {
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

// Read returns a picture and its media type, and counts as a use. It returns fs.ErrNotExist if the picture is not in
// the cache.
func (c *Cache) Read(name string) (picture []byte, kind string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[name] == nil {
		return nil, "", fs.ErrNotExist
	}
	picture, err = os.ReadFile(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) { // removed by somebody else
		c.dropLocked(name)
		return nil, "", fs.ErrNotExist
	}
	if err != nil {
		return nil, "", trouble(fmt.Errorf("read picture: %w", err))
	}
	c.sawLocked(name)
	return picture, kindOf(picture), nil
}

// kindOf returns the media type of a picture, going by its bytes; empty when it is not among kinds.
func kindOf(b []byte) string {
	if kind := http.DetectContentType(b); slices.Contains(kinds, kind) {
		return kind
	}
	return ""
}
