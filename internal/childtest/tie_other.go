//go:build !linux

package childtest

import (
	"os/exec"
	"syscall"
)

// tie does nothing: no other system offers it to Go.
func tie(*exec.Cmd, syscall.Signal) {}
