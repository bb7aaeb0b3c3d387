package spotify

import (
	"sync"
	"time"
)

const (
	// mostPages limits the memory. When it is reached, the memory is cleared.
	mostPages = 1000
	// memoryAge is the maximum age of a remembered page. Spotify's ETags have failed to change with the playlists
	// before, see https://github.com/spotify/web-api/issues/28.
	memoryAge = 24 * time.Hour
)

// memory stores pages with ETags for all connections, so that unchanged pages are not sent again. It is safe for
// concurrent use.
type memory struct {
	mu    sync.Mutex
	pages map[string]remembered // by account and request
}

// remembered is a page with its ETag. It is immutable.
type remembered struct {
	etag string
	read time.Time
	page page[playlist]
}

func newMemory() *memory { return &memory{pages: map[string]remembered{}} }

// page returns the remembered page; it has no ETag when there is none.
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
