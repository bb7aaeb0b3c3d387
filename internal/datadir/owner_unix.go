//go:build unix

package datadir

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user that runs the server.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
