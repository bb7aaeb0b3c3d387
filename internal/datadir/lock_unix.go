//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock reserves the directory for this process until unlock is called or the process ends, in whatever way. Two servers
// on one directory would each keep to every service's pace, but together exceed it.
func (d Dir) Lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.Path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory %s can't be written to: %w. "+
			"Free up space or fix its permissions, or choose another with -data-dir", d.Path, plain(err))
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close()
		return nil, fmt.Errorf("another Reprise is running with the data directory %s. "+
			"Stop it first, or choose another directory with -data-dir", d.Path)
	}
	// Any other error means that the file system has no locks.
	return func() { release(f) }, nil
}

// release ends a lock. Closing the file is not enough: a child process that is just being started has the file open as
// well, and holds the lock until it executes its program.
func release(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // fails if the file system has no locks
	_ = f.Close()
}

// lockBackups notes that a backup is under way until done is called. It waits while killed ones are cleaned up after.
// The lock is one of the folder itself; where the file system has none, nothing is noted.
func (d Dir) lockBackups() (done func()) {
	done, _ = d.lockFolder(syscall.LOCK_SH)
	return done
}

// lockNoBackups keeps backups from beginning until unlock is called. It reports false if one is under way, or if that
// is not known.
func (d Dir) lockNoBackups() (unlock func(), ok bool) {
	return d.lockFolder(syscall.LOCK_EX | syscall.LOCK_NB)
}

func (d Dir) lockFolder(how int) (unlock func(), ok bool) {
	f, err := os.Open(d.Path)
	if err != nil {
		return func() {}, false
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return func() {}, false
	}
	return func() { release(f) }, true
}

// abandoned reports whether a process that used the directory has ended without removing it.
func (d Dir) abandoned() bool {
	_, err := os.Stat(filepath.Join(d.Path, lockFile))
	return err == nil && !d.InUse()
}

// InUse reports whether another process has locked the directory. It changes nothing.
func (d Dir) InUse() bool {
	f, err := os.Open(filepath.Join(d.Path, lockFile))
	if err != nil {
		return false
	}
	defer release(f)
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
