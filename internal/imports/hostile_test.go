package imports

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/soak"
)

// repeated is a text that is made while it is read: begin, then unit n times, then end.
type repeated struct {
	begin, unit string
	n           int
	end         string
}

func (r repeated) size() int64 { return int64(len(r.begin) + len(r.unit)*r.n + len(r.end)) }

func (r repeated) reader() io.Reader {
	block := strings.Repeat(r.unit, 1000)
	parts := []io.Reader{strings.NewReader(r.begin)}
	for range r.n / 1000 {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(append(parts, strings.NewReader(r.end))...)
}

// peak returns how many bytes the heap grew by at the most while f ran.
func peak(f func()) int64 {
	// Garbage does not count: a busy machine has more of it. It is collected often, so that peaks are seen.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	sample := func() int64 {
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	runtime.GC()
	before := sample()
	most, stop, stopped := before, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(200 * time.Microsecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				most = max(most, sample())
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return most - before
}

const million = 1_000_000

// hostile has files that would take hundreds of megabytes if their rows or pages were read at once.
var hostile = []struct {
	name, provider string
	text           repeated
	why            string // the words for the person; empty when its rows are counted as bad ones
}{
	{"8 million commas", "lastfm", repeated{"A,B,C,1\nA,B,", ",", 8 * million, "\n"}, tooLong},
	{"8 million semicolons", "lastfm", repeated{"A;B;", ";", 8 * million, "\n"}, tooLong},
	{"quotes that never close", "lastfm", repeated{"A,B,\"", "\n", 8 * million, ""}, tooLong},
	{"half a million empty tracks", "lastfm", repeated{`[{"track":[{}`, `,{}`, 500 * 1000, `]}]`}, ""},
	{"empty tracks in an answer", "lastfm",
		repeated{`{"recenttracks":{"track":[{}`, `,{}`, 500 * 1000, `]}}`}, ""},
	{"a member with 2 million lists", "lastfm",
		repeated{`{"recenttracks":{"x":[`, `[],`, 2 * million, `[]],"track":[]}}`}, ""},
	{"pages in pages", "lastfm", repeated{"", `[{"track":`, 500 * 1000, ""}, ""},
	{"lists in lists", "spotify", repeated{"[", "[", 8 * million, ""}, ""},
	{"objects in objects", "listenbrainz", repeated{"", `{"payload":`, 700 * 1000, ""}, ""},
	{"one string", "spotify", repeated{`[{"ts":"`, "x", 8 * million, ``}, ""},
	{"one name of a member", "spotify", repeated{`[{"`, "x", 8 * million, `":1}]`}, ""},
	{"one number", "spotify", repeated{`[`, "1", 8 * million, `]`}, ""},
	{"many members", "spotify", repeated{`[{"x":1`, `,"x":1`, million, `}]`}, ""},
	{"many empty listens", "listenbrainz", repeated{`{"payload":{"listens":[{}`, `,{}`, 500 * 1000, `]}}`}, ""},
	{"lists as a length", "listenbrainz",
		repeated{`[{"track_metadata":{"additional_info":{"duration":[`, `[],`, 500 * 1000, `[]]}}}]`}, ""},
	{"one line", "listenbrainz", repeated{`{"listened_at":1`, " ", 8 * million, ``}, ""},
	{"nothing but spaces", "spotify", repeated{"", " ", 8 * million, `[]`}, ""},
}

const tooLong = "the next row is too long"

// maxHeap is how much memory reading a file may take, in bytes.
const maxHeap = 8 << 20

func TestNoFileTakesMoreThanALittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for _, c := range hostile {
		if !soak.Part(t, c.name) {
			continue
		}
		var err error
		good := 0
		grown := peak(func() {
			err = formats[c.provider].read(newMeter(c.text.reader(), c.text.size()), Answers{}, func(v row) bool {
				if v.bad.IsZero() {
					good++
				}
				return true
			})
		})
		t.Logf("%-30s %7.1f MiB, %d good rows, %v", c.name, float64(grown)/(1<<20), good, err)
		if grown > maxHeap {
			t.Errorf("%s: the heap grew by %.1f MiB", c.name, float64(grown)/(1<<20))
		}
		assert.Zero(t, good, c.name)
		if c.why != "" {
			assert.Equal(t, c.why, inWords(err).String(), c.name)
		}
	}
}

// A first look at an archive of many files takes a little memory, most of it for their names.
func TestManyFilesInAnArchiveAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	soak.Sometimes(t)
	path := filepath.Join(t.TempDir(), "many.zip")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	for i := range maxEntries {
		part, err := w.Create(fmt.Sprintf("%d.json", i))
		require.NoError(t, err)
		_, err = part.Write([]byte(`[{"name":"x"}]`))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	dir, name := filepath.Split(path)
	sent, err := Folder{Path: dir}.Open(t.Context(), name)
	require.NoError(t, err)
	defer sent.Close()
	grown := peak(func() { _, err = check(sent, "many.zip", lastFM, Answers{}) })
	require.ErrorContains(t, err, "0.json, row 1: no time.")
	t.Logf("%.1f MiB", float64(grown)/(1<<20))
	require.Less(t, grown, int64(4*maxHeap))
}
