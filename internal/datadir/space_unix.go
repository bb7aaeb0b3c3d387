//go:build linux || darwin || freebsd

package datadir

import "syscall"

// FreeSpace returns how many bytes this user may still write on the disk of a folder.
func FreeSpace(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// Writable returns the reason why this user may not write into a folder, or nil. It writes nothing.
func Writable(dir string) error {
	const write, enter = 2, 1
	return syscall.Access(dir, write|enter)
}
