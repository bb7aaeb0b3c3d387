//go:build !unix

package datadir

// Lock does nothing: this system has no such locks.
func (d Dir) Lock() (unlock func(), err error) { return func() {}, nil }

// InUse returns false: without locks it is not known.
func (d Dir) InUse() bool { return false }
