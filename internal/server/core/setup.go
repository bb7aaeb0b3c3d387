package core

import "sync"

// SetupCode is the right to make the first account. It is safe for concurrent use.
type SetupCode struct {
	mu   sync.Mutex
	code string
}

// Open says whether the first account is still to be made.
func (c *SetupCode) Open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != ""
}

// Is says whether code is the right one.
func (c *SetupCode) Is(code string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// of equal length, so the time taken says nothing
	return c.code != "" && fingerprint(c.code) == fingerprint(code)
}

// Use ends the right.
func (c *SetupCode) Use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = ""
}
