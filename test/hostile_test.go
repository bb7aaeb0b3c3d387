package test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

const (
	// smallMemory is what the server has to do with when everything hostile comes at once.
	smallMemory = 128 << 20
	tmpfs       = 0x01021994 // the kernel's number of a file system in memory
)

// released builds the server as it is released, with passwords that are expensive to hash.
func released(t *testing.T) string {
	t.Helper()
	path := built + "-released"
	cmd := exec.Command("go", "build", "-o", path, "reprise/cmd/server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// onDisk returns a folder that is not in memory, where files would count as the server's.
func onDisk(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.Getenv("GOTMPDIR"), os.TempDir(), "/var/tmp"} {
		var fs syscall.Statfs_t
		if parent == "" || syscall.Statfs(parent, &fs) != nil || fs.Type == tmpfs {
			continue
		}
		dir, err := os.MkdirTemp(parent, "reprise-disk-")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Skip("there is no folder on a disk")
	return ""
}

// small is a server with little memory.
type small struct {
	*process
	cage   *cage // nil where there is none
	launch func() *process
}

// startSmall starts a server in a control group with smallMemory, or else with a limit for Go alone.
func startSmall(t *testing.T, program string, env ...string) *small {
	t.Helper()
	dir := onDisk(t)
	args := []string{"-data-dir", filepath.Join(dir, "data"), "-listen", "127.0.0.1:0"}
	env = append(env, "TMPDIR="+dir)
	s := &small{}
	var err error
	if s.cage, err = newCage(t, smallMemory); err != nil {
		t.Logf("measured without a control group: %v", err)
		env = append(env, "GOMEMLIMIT=96MiB")
	}
	s.launch = func() *process {
		if s.cage != nil {
			return launch(t, s.cage.command(program, args...), env...)
		}
		return launch(t, exec.Command(program, args...), env...)
	}
	s.process = s.launch()
	return s
}

// requireAlive requires that the server has not ended, for want of memory or otherwise.
func (s *small) requireAlive() {
	s.t.Helper()
	select {
	case err := <-s.exited:
		killed := 0
		if s.cage != nil {
			killed = s.cage.killed()
		}
		log := s.log.String()
		require.FailNow(s.t, "the server ended", "%v; killed for want of memory: %d\n%s", err, killed,
			log[max(0, len(log)-3000):])
	default:
	}
}

// report logs the peak of the memory, and without a control group requires that it would have fitted into one.
func (s *small) report(when string) {
	s.t.Helper()
	own := s.memory("VmHWM") - s.memory("RssFile") - s.memory("RssShmem") // the program's own file
	if s.cage != nil {
		s.t.Logf("%s: at most %d MiB resident, %d MiB without files, %d MiB in the control group with its file cache, "+
			"%d killed", when, s.memory("VmHWM")>>20, own>>20, s.cage.peak()>>20, s.cage.killed())
		return
	}
	s.t.Logf("%s: at most %d MiB resident, %d MiB without files", when, s.memory("VmHWM")>>20, own>>20)
	require.Less(s.t, own, smallMemory)
}

// connectHome connects a person's ListenBrainz and Navidrome, at a hostile server if there is one.
func (v *person) connectHome(w *demo.World, account string, at *hostile) {
	v.t.Helper()
	brainz := object{"token": w.ListenBrainz.Token(account)}
	home := object{"url": w.Navidrome.URL, "username": account, "password": w.Navidrome.Password(account)}
	if at != nil {
		brainz["url"], home["url"] = at.url, at.url
	}
	v.call("PUT", "/connections/listenbrainz", brainz, 200)
	v.call("PUT", "/connections/navidrome", home, 200)
}

// served requires that healthy people's pages answer and that what they play arrives.
func (s *small) served(w *demo.World, healthy []*person, within time.Duration) (slowest time.Duration) {
	s.t.Helper()
	last := w.Play()
	for deadline := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		s.requireAlive()
		missing := ""
		for i, v := range healthy {
			began := time.Now()
			resp, err := v.Get(s.url + "/listens")
			if err != nil {
				time.Sleep(time.Second) // until its end is known
				s.requireAlive()
			}
			require.NoError(s.t, err)
			page := v.text(resp, 200)
			slowest = max(slowest, time.Since(began))
			if i == 0 && !strings.Contains(page, escaped(last.Title)) {
				missing = last.Title
			}
		}
		if missing == "" {
			return slowest
		}
		require.True(s.t, time.Now().Before(deadline), "what a healthy person played does not arrive")
	}
}

// escaped returns a text as it is in a page.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "'", "&#39;", `"`, "&#34;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// TestHostileServersAndFilesStopNobody lets members' servers answer with everything that is meant to exhaust memory,
// while as hostile files are imported, on a server with 128 MiB. It stays alive, and the others are served.
func TestHostileServersAndFilesStopNobody(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	rounds, names, files := 2, []string{"empty objects", "many keys", "zip bomb"}, badFiles()[:3]
	program := built
	if soak.All() {
		rounds, files = 60, badFiles()
		names = slices.Sorted(func(yield func(string) bool) {
			maps.Keys(attacks)(yield)
			maps.Keys(strikes)(yield)
		})
		program = released(t)
	}
	w := newWorld(t, demo.Options{Plays: 300})
	s := startSmall(t, program, append(worldEnv(w), "REPRISE_LOG_LEVEL=warn")...)
	healthy := []*person{s.newcomer()}
	healthy[0].consent(agree(), 200)
	healthy[0].connectHome(w, demo.Alice, nil)
	healthy = append(healthy, healthy[0].member(s.process, "Bob"))
	healthy[1].connectHome(w, demo.Bob, nil)

	together := &gate{open: make(chan struct{})}
	var hosts []*hostile
	var members []*person
	for _, name := range names {
		h := newHostile(t, w, together, name)
		v := healthy[0].memberFrom(s.process, len(members)+1, "Mallory "+name)
		v.connectHome(w, demo.Bob, h)
		hosts, members = append(hosts, h), append(members, v)
	}
	healthy[0].open()
	s.report("before")

	for _, h := range hosts {
		h.armed.Store(true)
	}
	var sending sync.WaitGroup
	for i, f := range files {
		sending.Go(func() {
			resp, err := members[i].Post(s.url+"/api/v1/imports?provider="+f.provider+"&name="+f.name,
				"application/octet-stream", f.content(t))
			if err == nil {
				resp.Body.Close()
			}
		})
	}
	var slowest time.Duration
	for range rounds {
		slowest = max(slowest, s.served(w, healthy, patience))
	}
	sending.Wait()
	for i, h := range hosts {
		members[i].eventually("an attack by every server", func() bool { s.requireAlive(); return h.struck.Load() > 0 })
	}
	for i, f := range files {
		members[i].eventually(f.name+" to be done with", func() bool {
			s.requireAlive()
			all := members[i].call("GET", "/imports", nil, 200)["imports"].([]any)
			return len(all) == 0 || all[0].(object)["ended_at"] != nil
		})
	}
	s.served(w, healthy, patience)
	for _, name := range []string{"spotify", "listenbrainz", "navidrome"} {
		healthy[0].becomes(name, "healthy", "syncing")
	}
	for _, name := range []string{"listenbrainz", "navidrome"} {
		healthy[1].becomes(name, "healthy", "syncing")
	}
	t.Logf("slowest page of a healthy person: %v", slowest)
	s.report("after everything")

	require.NoError(t, s.stop(syscall.SIGTERM))
	base := s.url
	s.process = s.launch()
	for _, v := range append(healthy, members...) {
		require.Equal(t, base, v.base)
		v.base = s.url
	}
	again := []*person{s.returning()}
	s.served(w, again, patience)
	s.report("after a restart")
}
