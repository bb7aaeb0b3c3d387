package core

import (
	"context"
	"sync"
)

// setupCode is the right to make the first account, once: which one that is, the database decides, because each of
// several servers gives the right. It is safe for concurrent use.
type setupCode struct {
	store Store

	mu   sync.Mutex
	code string // empty when the right has ended
}

// Open says whether the first account is still to be made.
func (c *setupCode) Open(ctx context.Context) (bool, error) {
	if !c.given() {
		return false, nil
	}
	exists, err := c.store.HasUsers(ctx)
	if err == nil && exists {
		c.Use()
	}
	return err == nil && !exists, err
}

func (c *setupCode) given() bool {
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
