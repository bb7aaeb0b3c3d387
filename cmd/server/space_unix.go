//go:build linux || darwin || freebsd

package main

import "syscall"

// freeSpace is how many bytes this user may still write on the disk of a folder.
func freeSpace(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// writable says why this user may not write into a folder, without trying.
func writable(dir string) error {
	const write, enter = 2, 1
	return syscall.Access(dir, write|enter)
}
