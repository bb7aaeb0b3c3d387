package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cage is a control group of its own whose processes have to do with a limit of memory, swap included.
type cage struct {
	dir  string
	peak func() int // bytes used at most, the kernel's for it included; 0 where the kernel does not say
}

// setting is what is written to a control group's file.
type setting struct {
	file   string
	value  int
	needed bool // kernels have it
}

const cgroups = "/sys/fs/cgroup"

// newCage makes a control group, or says why none can be had.
func newCage(t *testing.T, limit int) (*cage, error) {
	t.Helper()
	if os.Getuid() != 0 {
		return nil, errors.New("only root can make control groups")
	}
	c := &cage{}
	parent, peak := filepath.Join(cgroups, "memory"), "memory.max_usage_in_bytes"
	limits := []setting{{"memory.limit_in_bytes", limit, true}, {"memory.memsw.limit_in_bytes", limit, false}}
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err == nil { // version 2
		parent, peak = cgroups, "memory.peak"
		limits = []setting{{"memory.max", limit, true}, {"memory.swap.max", 0, false}}
	}
	dir, err := os.MkdirTemp(parent, "reprise-test-")
	if err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	c.dir = dir
	t.Cleanup(c.remove)
	for _, l := range limits {
		err := os.WriteFile(filepath.Join(dir, l.file), []byte(strconv.Itoa(l.value)), 0o644)
		if err != nil && l.needed {
			return nil, fmt.Errorf("limit a control group: %w", err)
		}
	}
	c.peak = func() int {
		b, err := os.ReadFile(filepath.Join(dir, peak))
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return n
	}
	return c, nil
}

// command returns a command that moves into the control group before it becomes the program.
func (c *cage) command(program string, args ...string) *exec.Cmd {
	script := `echo $$ >"$0/cgroup.procs" && exec "$@"`
	return exec.Command("/bin/sh", append([]string{"-c", script, c.dir, program}, args...)...)
}

// serve starts a server in the control group. Its files are on a disk: in memory they would count as the server's.
func (c *cage) serve(t *testing.T, env ...string) *process {
	t.Helper()
	dir := onDisk(t)
	args := []string{"-data-dir", filepath.Join(dir, "data"), "-listen", "127.0.0.1:0"}
	return launch(t, c.command(built, args...), append(env, "TMPDIR="+dir)...)
}

// killed returns how many processes the kernel has ended for want of memory, where it says.
func (c *cage) killed() int {
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		b, err := os.ReadFile(filepath.Join(c.dir, name))
		for line := range bytes.Lines(b) {
			if n, ok := strings.CutPrefix(string(line), "oom_kill "); ok && err == nil {
				count, _ := strconv.Atoi(strings.TrimSpace(n))
				return count
			}
		}
	}
	return 0
}

// remove removes the control group when the last process is gone.
func (c *cage) remove() {
	for range 100 {
		if os.Remove(c.dir) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// metric returns the value of one of the server's own metrics without labels.
func (p *process) metric(name string) float64 {
	p.t.Helper()
	resp, err := p.visitor().Get(p.url + "/metrics")
	require.NoError(p.t, err)
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	require.NoError(p.t, err)
	for line := range bytes.Lines(b.Bytes()) {
		if value, ok := strings.CutPrefix(string(line), name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(p.t, err)
			return n
		}
	}
	require.FailNow(p.t, "no such metric", name)
	return 0
}

// Promise: The memory limit is that of the container.
func TestTheMemoryLimitIsTheContainers(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	c, err := newCage(t, 128*mib)
	if err != nil {
		t.Skip(err)
	}
	run := func(env ...string) float64 {
		p := c.serve(t, env...)
		limit := p.metric("go_gc_gomemlimit_bytes")
		require.NoError(t, p.stop(syscall.SIGTERM))
		return limit
	}
	require.InDelta(t, 80*mib, run(), mib)
	require.InDelta(t, 70*mib, run("GOMEMLIMIT=70MiB"), 1, "an explicit limit wins")
}
