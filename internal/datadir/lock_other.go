//go:build !unix

package datadir

// Lock does nothing: this system has no such locks.
func (d Dir) Lock() (unlock func(), err error) { return func() {}, nil }

// InUse returns false: without locks it is not known.
func (d Dir) InUse() bool { return false }

// lockBackups does nothing.
func (d Dir) lockBackups() (done func()) { return func() {} }

// lockNoBackups reports false: without locks it is not known whether a backup is under way.
func (d Dir) lockNoBackups() (unlock func(), ok bool) { return func() {}, false }

// abandoned returns false: without locks it is not known.
func (d Dir) abandoned() bool { return false }
