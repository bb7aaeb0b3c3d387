package main

import (
	"bytes"
	"regexp"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for something that has to come. It is long because it is only reached when
// something is wrong.
const patience = 2 * time.Minute

// link is the address that a server prints when it serves.
var link = regexp.MustCompile(`(http://[0-9.:]+)(?:/setup\?code=(\w+))?\n`)

// takesLong skips a test with -short, with which `make check` runs the tests under the race detector.
func takesLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// buffer is a bytes.Buffer for one writer and one reader.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
