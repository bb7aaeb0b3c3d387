package spotify

import (
	"sync"
	"time"
)

const (
	// mostPages limits the memory. When it is reached, everything is forgotten and asked for again.
	mostPages = 1000
	// memoryAge is how long a page is believed to be told apart by its ETag. Spotify's has been wrong before: it did
	// not change with the playlists (spotify/web-api, issue 28).
	memoryAge = 24 * time.Hour
)

// memory keeps the listings of all connections that came with an ETag, so as not to have them sent again. Safe for
// concurrent use.
type memory struct {
	mu    sync.Mutex
	pages map[string]remembered // by account and request
}

// remembered is a page with its ETag. Nobody changes it.
type remembered struct {
	etag string
	read time.Time
	page page[playlist]
}

func newMemory() *memory { return &memory{pages: map[string]remembered{}} }

// page is what was read last; without an ETag when there is nothing to be asked about.
func (m *memory) page(key string) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.pages[key]; time.Since(r.read) < memoryAge {
		return r
	}
	return remembered{}
}

func (m *memory) keep(key string, r remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.pages[key]; !known && len(m.pages) >= mostPages {
		clear(m.pages)
	}
	m.pages[key] = r
}
