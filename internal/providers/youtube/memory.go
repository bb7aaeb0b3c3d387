package youtube

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"reprise/internal/library"
)

// Limits of the memory. When one is reached, the memory is cleared.
const (
	mostPages   = 1000
	mostPrivate = 50_000
)

// memory stores pages, and which playlists are private, for all connections to save requests. It is safe for
// concurrent use.
type memory struct {
	mu     sync.Mutex
	pages  map[string]remembered // by owner and request
	closed map[string]bool       // the playlists that are private
}

// remembered is a page with its ETag. It is immutable.
type remembered struct {
	etag string
	page any
}

func newMemory() *memory {
	return &memory{pages: map[string]remembered{}, closed: map[string]bool{}}
}

// private reports whether a playlist was private when it was last listed. An unknown one is not.
func (m *memory) private(list string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed[list]
}

func (m *memory) keepPrivate(list string, private bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.closed) >= mostPrivate {
		clear(m.closed)
	}
	if private {
		m.closed[list] = true
	} else {
		delete(m.closed, list)
	}
}

// ownerOf returns a key for a connection from credentials that never change, or "" without such credentials.
func ownerOf(c library.Credentials) string {
	token := c["refresh_token"]
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (m *memory) page(key string) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pages[key]
}

func (m *memory) keepPage(key string, r remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pages) >= mostPages {
		clear(m.pages)
	}
	m.pages[key] = r
}
