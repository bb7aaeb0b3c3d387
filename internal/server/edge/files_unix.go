//go:build unix

package edge

import "syscall"

// openFiles returns how many files this process may open; 0 if that is not known.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return uint64(l.Cur)
}
