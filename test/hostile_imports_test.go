package test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/postgrestest"
	"reprise/internal/soak"
)

// hostileFile is an export file that grows by far when it is decoded at once. It begins with a good row, so that it is
// accepted.
type hostileFile struct {
	provider, begin, unit string
	n                     int
	end                   string
}

func (f hostileFile) bytes() []byte { return []byte(f.begin + strings.Repeat(f.unit, f.n) + f.end) }

const (
	goodPlay   = `{"artist":"Nobody","name":"Nothing","date":"1709661600"}`
	goodListen = `{"listened_at":1709661600,"track_metadata":{"artist_name":"Nobody","track_name":"Nothing"}}`
)

var hostileFiles = []hostileFile{
	{"lastfm", "artist,album,track,date\nNobody,,Nothing,1709661600\nA,B", ",", 8_000_000, "\n"},
	{"lastfm", `[{"track":[` + goodPlay, `,{}`, 2_700_000, `]}]`},
	{"listenbrainz", `[` + goodListen + `,{"payload":{"listens":[{}`, `,{}`, 2_700_000, `]}}]`},
	{"listenbrainz", goodListen + "\n" + `{"track_metadata":{"additional_info":{"duration":[`, `[],`, 2_700_000,
		`[]]}}}`},
	{"lastfm", `[` + goodPlay + `,{"name":"`, "x", 100_000_000, `"}]`},
	{"lastfm", `[` + goodPlay + `,`, `[`, 8_000_000, ``},
}

// packed returns an archive with the file, as its provider names it.
func (f hostileFile) packed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	part, err := w.Create("listens/1.json")
	require.NoError(t, err)
	_, err = io.Copy(part, bytes.NewReader(f.bytes()))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Promise: Hostile files, also in archives, end no server with 128 MiB.
func TestHostileFilesKillNoSmallServer(t *testing.T) {
	takesLong(t)
	t.Parallel()
	if !soak.All() {
		t.Skip("the soak runs it; TestHostileServersAndFilesStopNobody is its short form")
	}
	const mib = 1 << 20
	whole, packed := hostileFiles, hostileFiles
	c, err := newCage(t, 128*mib)
	if err != nil {
		t.Skip(err)
	}
	p := c.serve(t)
	v := p.newcomer()
	other, friend := v.member(p, "Other"), v.member(p, "Friend")
	var sending sync.WaitGroup
	send := func(one *person, f hostileFile, file []byte) {
		status := one.sendFile("provider="+f.provider, bytes.NewReader(file)).StatusCode
		if status != http.StatusCreated && status != http.StatusUnprocessableEntity {
			t.Errorf("%s %.40s: %d", f.provider, f.begin, status)
		}
		one.eventually("it has ended", func() bool { return one.lastImport()["ended_at"] != nil })
	}
	sending.Go(func() {
		for _, f := range whole {
			send(v, f, f.bytes())
		}
	})
	sending.Go(func() {
		for _, f := range packed {
			send(other, f, f.packed(t))
		}
	})
	require.Equal(t, 201, friend.sendFile("provider=spotify", bytes.NewReader(export(t, 5000))).StatusCode)
	friend.eventually("the friend's file has been read", func() bool { return friend.lastImport()["state"] == "done" })
	sending.Wait()
	require.Zero(t, c.killed())
	for _, one := range []*person{v, other} {
		require.Contains(t, one.page("/listens", 200), "1 listen")
		for _, i := range one.call("GET", "/imports", nil, 200)["imports"].([]any) {
			require.Contains(t, []any{"done", "failed"}, i.(object)["state"])
		}
	}
	require.NoError(t, p.stop(syscall.SIGTERM))
	t.Logf("the group used %d MiB at the most", c.peak()/mib)
}

// smallDisk returns a folder on a disk of its own, of that many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skip("this user cannot mount anything:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill writes a file until its disk is full.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	_, err = io.Copy(f, endless{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, f.Close())
}

// ready returns what those who watch the server hear.
func (v *person) ready() (status int, text string) {
	v.t.Helper()
	resp, err := v.Get(v.base + "/readyz")
	require.NoError(v.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	return resp.StatusCode, string(b)
}

// Promise: Those who watch the server hear why nobody can sign in, and when it's over.
func TestAFullDiskIsToldUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("the database is on another disk")
	}
	const full = "The disk is full. Make room on it; nothing that was stored is lost."
	disk := smallDisk(t, "24m")
	data, ballast := filepath.Join(disk, "data"), filepath.Join(disk, "ballast")
	p := start(t, data)
	v := p.newcomer()
	v.eventually("ready", func() bool { status, _ := v.ready(); return status == 200 })
	fill(t, ballast)
	v.eventually("nobody can sign in", func() bool {
		resp, _ := p.visitor().send("POST", "/session", object{"name": "alice", "password": password})
		return resp.StatusCode == 503
	})
	v.eventually("told", func() bool {
		status, text := v.ready()
		return status == 503 && text == "database: "+full+"\n"
	})
	require.NoError(t, os.Remove(ballast))
	v.eventually("ready by itself", func() bool { status, _ := v.ready(); return status == 200 })
	p.returning()

	fill(t, ballast)
	require.NoError(t, p.stop(syscall.SIGTERM))
	require.Contains(t, refuses(t, nil, "-data-dir", data, "-listen", "127.0.0.1:0"), "can't be used. "+full)
	require.NoError(t, os.Remove(ballast))
	start(t, data).returning()
}

// Promise: An import on a full disk says so, and goes on when there is room.
func TestAFullDiskDuringAnImport(t *testing.T) {
	takesLong(t)
	if postgrestest.On() {
		t.Skip("the database is on another disk")
	}
	const plays = 60_000
	disk := smallDisk(t, "200m")
	data, ballast := filepath.Join(disk, "data"), filepath.Join(disk, "ballast")
	p := start(t, data)
	v := p.newcomer()
	file := export(t, plays)
	require.Equal(t, 201, v.sendFile("provider=spotify&name=a.zip", bytes.NewReader(file)).StatusCode)
	v.eventually("rows are read", func() bool { return v.lastImport()["rows"].(float64) > 3000 })
	fill(t, ballast)
	v.eventually("it waits", func() bool { return v.lastImport()["trouble"] != nil })
	require.Equal(t, "running", v.lastImport()["state"])
	page := v.page("/imports", 200)
	require.Contains(t, page, "Make room on it") // there isn't enough left for imports, or nothing at all
	require.Contains(t, page, "The import continues automatically. Nothing is lost.")
	status, text := v.ready()
	require.Equal(t, 503, status)
	require.Contains(t, text, "Make room on it")
	require.Contains(t, v.upload("/imports", "spotify", "b.zip", file, 507), "There isn&#39;t enough space")
	require.NoError(t, os.Remove(ballast))
	v.eventually("it goes on by itself", func() bool { return v.lastImport()["state"] == "done" })
	require.InDelta(t, plays, v.lastImport()["added"], 0.1)
	status, _ = v.ready()
	require.Equal(t, 200, status)
	require.NotContains(t, v.page("/imports", 200), "Make room on it.")
	require.Contains(t, p.log.String(), "import waits")
	require.NoError(t, p.stop(syscall.SIGTERM))
}

// slowFile returns an archive of a few rows and six gigabytes of spaces. Reading it takes seconds, and nothing of it is
// stored before its end.
func slowFile(t *testing.T) io.Reader {
	t.Helper()
	const parts = 12
	var one, all bytes.Buffer
	sum, size := crc32.NewIEEE(), uint64(0)
	w, err := flate.NewWriter(&one, flate.BestSpeed)
	require.NoError(t, err)
	write := func(text string) {
		n, err := io.WriteString(io.MultiWriter(w, sum), text)
		require.NoError(t, err)
		size += uint64(n)
	}
	write(`[{"ts":"2024-03-05T18:04:30Z","ms_played":270000,` +
		`"master_metadata_track_name":"T","master_metadata_album_artist_name":"A"}`)
	for spaces := strings.Repeat(" ", 1<<20); size < 512<<20; {
		write(spaces + ",7")
	}
	write("]")
	require.NoError(t, w.Close())
	archive := zip.NewWriter(&all)
	for i := range parts {
		part, err := archive.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("Streaming_History_Audio_%d.json", i),
			Method: zip.Deflate, CRC32: sum.Sum32(), CompressedSize64: uint64(one.Len()), UncompressedSize64: size})
		require.NoError(t, err)
		_, err = part.Write(one.Bytes())
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return &all
}

// Promise: A file that ends the process each time before anything of it is stored is given up, and no other.
func TestKillsInAFileSetItAside(t *testing.T) {
	takesLong(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	packed := slowFile(t)
	require.Equal(t, 201, v.sendFile("provider=spotify&name=slow.zip", packed).StatusCode)
	kept, err := os.ReadDir(filepath.Join(dir, "imports"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	slow := filepath.Join(dir, "imports", kept[0].Name())
	require.Equal(t, 201, v.sendFile("provider=spotify&name=b.zip", bytes.NewReader(export(t, 10))).StatusCode)
	for range 3 {
		v.eventually("it is read", func() bool { return p.hasOpen(slow) })
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"))
	}
	v.eventually("the rest goes on", func() bool { return v.lastImport()["state"] == "done" })
	all := v.call("GET", "/imports", nil, 200)["imports"].([]any)
	require.Equal(t, "failed", all[1].(object)["state"])
	require.Contains(t, all[1].(object)["reason"], "Reprise stopped 3 times while it was reading this file")
	page := v.page("/notifications", 200)
	require.Contains(t, page, "An import couldn&#39;t continue")
	require.Contains(t, page, "slow.zip")
}
