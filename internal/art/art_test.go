package art

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
)

// dot returns a small picture, a different one for each n. All have the same size.
func dot(t *testing.T, n uint8) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 4, 4))
	m.SetGray(1, 1, color.Gray{Y: n})
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, m))
	return b.Bytes()
}

func nameOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func open(t *testing.T, dir string, most int64) *Cache {
	t.Helper()
	c, err := Open(Options{Dir: dir, Most: most})
	require.NoError(t, err)
	return c
}

func keep(t *testing.T, c *Cache, b []byte) string {
	t.Helper()
	name, err := c.Keep(b)
	require.NoError(t, err)
	return name
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

func TestPicturesAreNamedByTheirContent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "art")
	c := open(t, dir, 1<<20)
	b := dot(t, 1)
	name := keep(t, c, b)
	require.Equal(t, nameOf(b), name)
	require.Equal(t, name, keep(t, c, b))
	require.Equal(t, []string{name}, files(t, dir))
	info, err := os.Stat(filepath.Join(dir, name))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	for _, c := range []*Cache{c, open(t, dir, 1<<20)} {
		require.True(t, c.Has(name), "also after a restart")
		got, kind, err := c.Read(name)
		require.NoError(t, err)
		require.Equal(t, b, got)
		require.Equal(t, "image/png", kind)
	}
	for _, no := range []string{"", "..", "../art/" + name, nameOf([]byte("another")), name + "/", "%2e%2e"} {
		require.False(t, c.Has(no))
		_, _, err := c.Read(no)
		require.ErrorIs(t, err, fs.ErrNotExist, no)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, name)))
	_, _, err = c.Read(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.False(t, c.Has(name), "somebody has removed the file")
}

func TestOnlyPicturesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir, 1<<30)
	var jpg, anim bytes.Buffer
	m := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	require.NoError(t, jpeg.Encode(&jpg, m, nil))
	require.NoError(t, gif.Encode(&anim, m, nil))
	for kind, b := range map[string][]byte{
		"image/png":  dot(t, 1),
		"image/jpeg": jpg.Bytes(),
		"image/gif":  anim.Bytes(),
		"image/webp": []byte("RIFF\x04\x00\x00\x00WEBPVP8 "),
	} {
		_, got, err := c.Read(keep(t, c, b))
		require.NoError(t, err)
		require.Equal(t, kind, got)
	}
	before := files(t, dir)
	for what, b := range map[string][]byte{
		"page":      []byte("<!doctype html><script>alert(1)</script>"),
		"script":    []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`),
		"nothing":   nil,
		"text":      []byte("hello"),
		"bitmap":    []byte("BM0000"),
		"too large": append(dot(t, 2), make([]byte, maxPicture)...),
	} {
		_, err := c.Keep(b)
		require.Error(t, err, what)
	}
	require.Equal(t, before, files(t, dir))
}

func TestTheLeastRecentlyUsedPictureMakesRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	size := int64(len(dot(t, 0)))
	c := open(t, dir, 10*size)
	var names []string
	for i := range 3 {
		names = append(names, keep(t, c, dot(t, uint8(i))))
		then := time.Now().Add(time.Duration(i-10) * 24 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, names[i]), then, then))
	}
	c = open(t, dir, 3*size+size/2)
	_, _, err := c.Read(names[0])
	require.NoError(t, err)
	c = open(t, dir, 3*size+size/2) // which remembers the use
	names = append(names, keep(t, c, dot(t, 3)))
	for i, want := range []bool{true, false, true, true} {
		require.Equal(t, want, c.Has(names[i]), i)
	}
	require.Len(t, files(t, dir), 3)

	c = open(t, dir, size) // a smaller limit holds from the start
	require.Len(t, files(t, dir), 1)
	_, err = c.Keep(dot(t, 4))
	require.NoError(t, err)
	require.Len(t, files(t, dir), 1)
}

func TestOnlyMissingPicturesThatFitAreNamed(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir(), 3*maxPicture+1000)
	kept := keep(t, c, dot(t, 1))
	all := []string{nameOf(dot(t, 2)), kept, nameOf(dot(t, 3)), nameOf(dot(t, 4)), nameOf(dot(t, 5))}
	require.Equal(t, []string{all[0], all[2], all[3]}, c.Missing(all))
	require.Empty(t, c.Missing([]string{kept}))
	c.size = c.most - maxPicture
	require.Equal(t, all[:1], c.Missing(all))
	c.size++
	require.Empty(t, c.Missing(all), "no kept picture makes room for it")
}

func TestAUseIsWrittenDownOnceADay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := keep(t, open(t, dir, 1<<20), dot(t, 1))
	for ago, noted := range map[time.Duration]bool{time.Hour: false, 25 * time.Hour: true} {
		then := time.Now().Add(-ago)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), then, then))
		_, _, err := open(t, dir, 1<<20).Read(name)
		require.NoError(t, err)
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, noted, time.Since(info.ModTime()) < time.Minute, ago)
	}
}

func TestADiskFailureCostsNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "art")
	size := int64(len(dot(t, 0)))
	c := open(t, dir, size)
	first := keep(t, c, dot(t, 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, partial+"1"), []byte("half"), 0o600))
	require.NoError(t, os.Rename(dir, dir+"-away"))
	require.NoError(t, os.WriteFile(dir, nil, 0o600)) // a file where the folder should be
	_, err := c.Keep(dot(t, 2))
	e, ok := errors.AsType[*resilience.LocalError](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, e.Problem.String(), "Make room on its disk")
	_, err = Open(Options{Dir: dir, Most: 1})
	require.Error(t, err)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+"-away", dir))
	require.True(t, c.Has(first), "no other picture had to go")
	require.True(t, open(t, dir, size).Has(first))
	require.Equal(t, []string{first}, files(t, dir), "incomplete files are removed")
}

// server answers requests by their address.
type server map[string]func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := s[r.URL.String()]
	if answer == nil {
		return nil, fmt.Errorf("asked for %s", r.URL)
	}
	return answer(r)
}

func answer(status int, body []byte) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode:    status,
			Header:        http.Header{"Content-Type": {"application/octet-stream"}},
			Body:          io.NopCloser(bytes.NewReader(body)),
			ContentLength: int64(len(body)),
			Request:       r,
		}, nil
	}
}

// fetching opens a cache, and returns it with a call that fetches pictures from the server.
func fetching(t *testing.T, s server, most int64) (*Cache, resilience.Call) {
	t.Helper()
	hosts := []string{"fanart.tv", "127.0.0.1:81"}
	c, err := Open(Options{Dir: t.TempDir(), Most: most, Hosts: func() []string { return hosts }})
	require.NoError(t, err)
	return c, resilience.Call{Client: transport.NewClient(&transport.Transport{Base: s}), Turn: &turns.Turn{}}
}

func TestPicturesAreFetchedFromTheirHosts(t *testing.T) {
	t.Parallel()
	b := dot(t, 1)
	urls := []string{"https://assets.fanart.tv/a.jpg", "http://fanart.tv/a.jpg", "http://127.0.0.1:81/a.jpg"}
	s := server{}
	for _, url := range urls {
		s[url] = answer(http.StatusOK, b)
	}
	c, call := fetching(t, s, 1<<20)
	for _, url := range urls {
		got, err := c.Fetch(t.Context(), call, url)
		require.NoError(t, err)
		require.Equal(t, b, got)
	}
	for _, url := range []string{
		"", "fanart.tv/a.jpg", "ftp://fanart.tv/a.jpg", "file:///etc/passwd", "http://127.0.0.1/a.jpg",
		"http://127.0.0.1:82/a.jpg", "http://localhost:81/a.jpg", "https://evilfanart.tv/a.jpg",
		"https://fanart.tv.evil.example/a.jpg", "https://fanart.tv:8443/a.jpg", "https://fanart.tv@evil.example/a.jpg",
		"https://user:secret@fanart.tv/a.jpg", "https://[::1]/a.jpg", "https://fanart.tv/\x7f",
	} {
		_, err := c.Fetch(t.Context(), call, url)
		require.Equal(t, resilience.ScopeItem, resilience.VerdictOf(err).Scope, "%q: %v", url, err)
		require.NotContains(t, err.Error(), "secret")
	}
	c, call = fetching(t, s, int64(len(b))-1)
	_, err := c.Fetch(t.Context(), call, "http://fanart.tv/a.jpg")
	require.Equal(t, resilience.ScopeItem, resilience.VerdictOf(err).Scope, "larger than the whole cache: %v", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Fetch(ctx, call, "https://fanart.tv/never")
	require.ErrorIs(t, err, context.Canceled)
}

func TestMeaningOfAnswersWithoutAPicture(t *testing.T) {
	t.Parallel()
	away := func(r *http.Request) (*http.Response, error) {
		resp, err := answer(http.StatusFound, nil)(r)
		resp.Header.Set("Location", "http://192.168.1.1/admin")
		return resp, err
	}
	page := []byte("<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1></body></html>")
	const item, upstream, limited = "fatal item", "retriable upstream", "retriable rate_limit"
	for name, row := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		want   string
	}{
		"gone":        {answer(404, nil), item},
		"nginx":       {answer(404, page), item},
		"removed":     {answer(410, page), item},
		"page":        {answer(200, []byte("just text")), item},
		"large":       {answer(200, append(dot(t, 1), make([]byte, maxPicture)...)), item},
		"maintenance": {answer(503, page), upstream},
		"challenge":   {answer(403, page), upstream},
		"fast":        {answer(429, page), limited},
		"broken":      {answer(502, nil), upstream},
		"portal":      {answer(200, []byte("<html>Sign in</html>")), upstream},
		"away":        {away, upstream},
	} {
		url := "https://fanart.tv/" + name
		c, call := fetching(t, server{url: row.answer}, 1<<20)
		_, err := c.Fetch(t.Context(), call, url)
		v := resilience.VerdictOf(err)
		require.Equal(t, row.want, v.Class.String()+" "+v.Category.String(), "%s: %v", name, err)
		if row.want == item {
			require.Equal(t, resilience.ScopeItem, v.Scope, name)
		}
	}
}
