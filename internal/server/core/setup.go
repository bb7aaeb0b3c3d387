package core

import "sync"

// setupCode is the right to make the first account. It is safe for concurrent use.
type setupCode struct {
	mu   sync.Mutex
	code string
}

// Open says whether the first account is still to be made.
func (c *setupCode) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != ""
}

// Is says whether code is the right one.
func (c *setupCode) Is(code string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// of equal length, so the time taken says nothing
	return c.code != "" && fingerprint(c.code) == fingerprint(code)
}

// Use ends the right.
func (c *setupCode) Use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = ""
}
