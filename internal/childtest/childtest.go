// Package childtest ends the programs that tests start with the process of the tests, however that ends: also by a
// panic, a timeout or a signal, when no clean-up runs.
package childtest

import (
	"os/exec"
	"syscall"
)

// Tie has the system send a signal to a command that is still to be started, when this process ends.
func Tie(cmd *exec.Cmd, sig syscall.Signal) *exec.Cmd {
	tie(cmd, sig)
	return cmd
}
