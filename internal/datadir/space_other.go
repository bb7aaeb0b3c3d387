//go:build !linux && !darwin && !freebsd

package datadir

// FreeSpace is not known on this system.
func FreeSpace(string) (bytes int64, known bool) { return 0, false }

// Writable returns nil: on this system only a write would show it.
func Writable(string) error { return nil }
