package test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// export returns the archive that Spotify would send to somebody with that many plays.
func export(t testing.TB, plays int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, demo.WriteSpotifyExport(&out, 1, plays, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)))
	return out.Bytes()
}

// upload sends a file by a form, and returns the page that it leads to.
func (v *person) upload(path, provider, name string, file []byte, want int) string {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if provider != "" {
		require.NoError(v.t, form.WriteField("provider", provider))
	}
	part, err := form.CreateFormFile("file", name)
	require.NoError(v.t, err)
	_, err = part.Write(file)
	require.NoError(v.t, err)
	require.NoError(v.t, form.Close())
	resp, err := v.Post(v.base+path, form.FormDataContentType(), &body)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

// sendFile sends a file by the API.
func (v *person) sendFile(query string, file io.Reader) *http.Response {
	v.t.Helper()
	resp, err := v.Post(v.base+"/api/v1/imports?"+query, "application/octet-stream", file)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// lastImport returns the latest import.
func (v *person) lastImport() object {
	v.t.Helper()
	return v.call("GET", "/imports", nil, 200)["imports"].([]any)[0].(object)
}

// Promise: A process that is killed during an import doubles nothing, and goes on.
func TestAKillDuringAnImportDoublesNothing(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	const plays = 30_000
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	file := export(t, plays)
	require.Equal(t, 201, v.sendFile("provider=spotify&name=my_spotify_data.zip", bytes.NewReader(file)).StatusCode)
	for i := range 3 {
		v.eventually("rows are read", func() bool { return v.lastImport()["rows"].(float64) > float64(3000*(i+1)) })
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"))
	}
	v.eventually("it is done", func() bool { return v.lastImport()["state"] == "done" })
	done := v.lastImport()
	require.InDelta(t, plays, done["added"], 0.1, "%v", done)
	require.Zero(t, done["known"])
	require.Contains(t, v.page("/listens", 200), "30,000 listens")

	require.Contains(t, v.upload("/imports", "spotify", "again.zip", file, 200), "again.zip is being imported.")
	v.eventually("it is done once more", func() bool { return v.lastImport()["state"] == "done" })
	require.Zero(t, v.lastImport()["added"])
	require.Contains(t, v.page("/listens", 200), "30,000 listens")
	left, err := os.ReadDir(dir + "/imports")
	require.NoError(t, err)
	require.Empty(t, left, "files go when they have been read")
}

func TestFilesThatCannotBeImported(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	page := v.upload("/imports", "lastfm", "photo.jpg", []byte("\xff\xd8\xff"), 422)
	require.Contains(t, page, "Choose a file from a Last.fm exporter")
	require.Contains(t, v.upload("/imports", "", "photo.jpg", []byte("\xff\xd8\xff"), 422),
		"doesn&#39;t know this kind of file")
	require.Contains(t, v.upload("/imports?provider=spotify", "", "", nil, 422), "Choose a file first.")
	require.Equal(t, 400, v.sendFile("provider=nobody", strings.NewReader("x")).StatusCode)
	require.Equal(t, 422, v.sendFile("provider=spotify", bytes.NewReader(make([]byte, 3<<20))).StatusCode,
		"larger than other requests may be")
	huge, err := http.NewRequest("POST", v.base+"/api/v1/imports?provider=spotify", io.LimitReader(endless{}, 3<<30))
	require.NoError(t, err)
	huge.ContentLength = 3 << 30
	resp, err := v.Do(huge)
	if err == nil { // otherwise the server has closed the connection
		require.Equal(t, 413, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
	resp, err = p.visitor().Post(v.base+"/api/v1/imports?provider=spotify", "application/zip", strings.NewReader("x"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 401, resp.StatusCode)
	v.call("DELETE", "/imports/7", nil, 404)
	require.Empty(t, v.call("GET", "/imports", nil, 200)["imports"])
	require.NotContains(t, p.log.String(), "panic")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Promise: A play that both the API and a file contain is stored once, whichever comes first.
func TestAnImportAndAConnectionShareTheirPlays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 300})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	tb, _ := v.open()
	const line = `{"listened_at":%d,"track_metadata":` +
		`{"track_name":%q,"artist_name":%q,"recording_msid":%q}}` + "\n"
	var lines strings.Builder
	listens := v.call("GET", "/listens?limit=1000", nil, 200)["listens"].([]any)
	for _, l := range listens {
		l := l.(object)
		at, err := time.Parse(time.RFC3339, l["played_at"].(string))
		require.NoError(t, err)
		id := l["sources"].([]any)[0].(object)["source_id"].(string)
		_, msid, _ := strings.Cut(id, ":")
		fmt.Fprintf(&lines, line, at.Unix(), l["track"], l["artist"], msid)
	}
	fmt.Fprintf(&lines, line, 1_500_000_000, "Long ago", "Nobody", "m")
	require.Contains(t, v.page("/connections/listenbrainz", 200), `action="/imports?provider=listenbrainz"`)
	require.Contains(t, v.upload("/imports?provider=listenbrainz", "", "1.jsonl", []byte(lines.String()), 200),
		"1.jsonl is being imported.")
	tb.next("imports", func(d object) bool { return d["provider"] == "listenbrainz" })
	tb.next("progress", func(d object) bool { return d["stream"] == "import" && d["provider"] == "listenbrainz" })
	v.eventually("it is done", func() bool { return v.lastImport()["state"] == "done" })
	require.InDelta(t, 1, v.lastImport()["added"], 0.1)
	require.InDelta(t, len(listens), v.lastImport()["known"], 0.1)
	require.Contains(t, v.page("/connections/listenbrainz", 200), "1 listen is new, 300 were here already")
	v.call("DELETE", "/imports/"+v.lastImport()["id"].(string), nil, 204)
	require.Empty(t, v.call("GET", "/imports", nil, 200)["imports"])
}
