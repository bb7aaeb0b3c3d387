//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps a data directory for this process until unlock is called or the process ends, however it ends. Two servers
// on one directory would each keep to every service's pace, and together to none.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w. Make room or fix its permissions, or choose another with -data-dir", dir, plain(err))
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("another Reprise is running with the data directory %s. Stop it first, or choose another directory with -data-dir", dir)
	}
	// Any other error is of a file system that knows no locks.
	return func() { _ = f.Close() }, nil
}

// locked says whether another process keeps the data directory, and changes nothing.
func locked(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer f.Close() // which lets go of it
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
