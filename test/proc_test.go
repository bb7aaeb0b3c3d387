package test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// memory returns a field of /proc/PID/status in bytes: VmRSS for what a process uses, VmHWM for its peak.
func (p *process) memory(field string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	for line := range bytes.Lines(b) {
		if value, ok := strings.CutPrefix(string(line), field+":"); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			require.NoError(p.t, err)
			return kib << 10
		}
	}
	require.FailNow(p.t, "no such field", field)
	return 0
}

// cpu returns the processor time that a process has used.
func (p *process) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(f)
		require.NoError(p.t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// hasOpen reports whether a process has a file open.
func (p *process) hasOpen(file string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	open, err := os.ReadDir(dir)
	require.NoError(p.t, err)
	return slices.ContainsFunc(open, func(d os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(dir, d.Name())) // it may be closed by now
		return err == nil && to == file
	})
}

// errors returns the log's lines about errors, without those of the queue about choosing a leader: on a busy machine
// its database may answer too late, and it tries again.
func (p *process) errors() []string {
	all := slices.Collect(strings.Lines(p.log.String()))
	return slices.DeleteFunc(all, func(line string) bool {
		return !strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"msg":"leadership.Elector: `)
	})
}

// from returns a visitor who comes from the n-th network of loopback, 127.0.n.0/24.
func (p *process) from(n int) *person {
	v := p.visitor()
	dialer := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(n), 1)}}
	v.Transport = &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 10}
	return v
}

// memberFrom adds a member who signs in from the n-th network of loopback.
func (v *person) memberFrom(p *process, n int, name string) *person {
	v.t.Helper()
	v.call("POST", "/admin/users", object{"name": name, "password": password, "role": "member"}, 201)
	m := p.from(n)
	status := http.StatusTooManyRequests // the limit of all networks together passes in no time
	m.eventually("a sign-in", func() bool {
		resp, _ := m.send("POST", "/session", object{"name": name, "password": password})
		status = resp.StatusCode
		return status != http.StatusTooManyRequests
	})
	require.Equal(v.t, http.StatusCreated, status)
	return m
}
