//go:build !unix

package main

// lock does nothing where the system has no such locks.
func lock(string) (unlock func(), err error) { return func() {}, nil }

// locked cannot be told.
func locked(string) bool { return false }
