package datadir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Temporary makes an empty data directory whose name begins with a prefix, and returns what removes it again. It also
// removes those of the same prefix that processes left behind when they were killed.
func Temporary(prefix string) (path string, remove func() error, err error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, old := range left {
		if (Dir{Path: old}).abandoned() {
			_ = os.RemoveAll(old)
		}
	}
	path, err = os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return path, func() error { return os.RemoveAll(path) }, nil
}
