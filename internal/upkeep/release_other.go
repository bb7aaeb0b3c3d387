//go:build !linux

package upkeep

// releaseProgram does nothing: only Linux counts a file's pages as the process's.
func releaseProgram() error { return nil }
