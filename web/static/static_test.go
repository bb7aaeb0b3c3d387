package static

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"
)

func ask(path, coding string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", coding)
	Handler().ServeHTTP(w, r)
	return w
}

func TestFilesAreKeptForAYear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app.css", "app.js", "icon.svg", "sprite.svg", "idiomorph.js", "uplot.js",
		"licences.txt"} {
		address, ok := URL(name)
		require.True(t, ok, name)
		require.Regexp(t, `^/static/[a-z-]+\.[0-9a-f]{12}\.(css|js|svg|txt)$`, address)
		w := ask(address, "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, "public, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
		require.NotEmpty(t, w.Header().Get("Content-Type"))
	}
	_, ok := URL("nothing.css")
	require.False(t, ok)
	require.Equal(t, http.StatusNotFound, ask("/static/nothing.css", "").Code)
	// A page from before an update finds its style, and the browser asks again.
	for _, other := range []string{"/static/app.css", "/static/app.0123456789ab.css"} {
		w := ask(other, "")
		require.Equal(t, http.StatusOK, w.Code, other)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), other)
	}
}

func TestFilesAreSmallOnTheWire(t *testing.T) {
	t.Parallel()
	address, _ := URL("app.css")
	whole := ask(address, "").Body.String()
	plain := func(r io.Reader) io.Reader { return r }
	unzip := func(r io.Reader) io.Reader {
		z, err := gzip.NewReader(r)
		require.NoError(t, err)
		return z
	}
	unbrotli := func(r io.Reader) io.Reader { return brotli.NewReader(r) }
	for coding, reader := range map[string]func(io.Reader) io.Reader{
		"gzip, deflate, br":   unbrotli,
		"br;q=1, gzip;q=0.5":  unbrotli,
		"br,gzip;q=0.":        unbrotli,
		"gzip, br;q=0":        unzip,
		"gzip, deflate":       unzip,
		"identity;q=1, *;q=0": plain,
	} {
		w := ask(address, coding)
		if said := w.Header().Get("Content-Encoding"); said != "" {
			require.Less(t, w.Body.Len(), len(whole)/3, coding)
		}
		require.Contains(t, w.Header().Values("Vary"), "Accept-Encoding")
		b, err := io.ReadAll(reader(w.Body))
		require.NoError(t, err, coding)
		require.Equal(t, whole, string(b), coding)
	}
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Header.Set("If-None-Match", ask(address, "gzip").Header().Get("ETag"))
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusNotModified, w.Code)
}

// Modules name each other by their hashed addresses, so that a new version of one is a new version of all above it.
func TestModulesImportByHash(t *testing.T) {
	t.Parallel()
	sources := fstest.MapFS{}
	for path, text := range map[string]string{
		"js/app.js": `import { a } from "./a.js"; import "./b.js";`, "js/a.js": `import "./b.js";`, "js/b.js": `b`,
		"css/10.css": "one\n", "css/20.css": "two\n", "sw.js": `const shell = [/* shell */];`, "icon.svg": "<svg/>",
		"vendored/sprite.svg": "<svg/>", "vendored/uPlot.min.css": "", "vendored/LICENCES.txt": "free",
		"vendored/idiomorph.min.js": "", "vendored/uPlot.iife.min.js": "",
	} {
		sources[path] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := build(sources)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(s.named["app.css"].body))
	require.Equal(t, []string{"b.js", "a.js"}, s.imports["app.js"])
	require.Contains(t, string(s.named["app.js"].body), `from "./`+path.Base(s.named["a.js"].address())+`"`)
	require.Contains(t, string(s.worker), s.named["b.js"].address())
	before := s.named["app.js"].hash
	sources["js/b.js"].Data = []byte("changed")
	s, err = build(sources)
	require.NoError(t, err)
	require.NotEqual(t, before, s.named["app.js"].hash)

	sources["js/b.js"].Data = []byte(`import "./app.js"`)
	_, err = build(sources)
	require.ErrorContains(t, err, "circle")
	sources["js/b.js"].Data = []byte(`import "./missing.js"`)
	_, err = build(sources)
	require.ErrorContains(t, err, "missing.js, which does not exist")
}

// The sprite has every icon that its lists name, and the licences name everything that comes from others.
func TestVendoredFilesAreWhole(t *testing.T) {
	t.Parallel()
	sprite := string(all().named["sprite.svg"].body)
	require.NotRegexp(t, `<symbol[^>]*></symbol>`, sprite, "an icon is empty: its name is wrong")
	var listed, drawn []string
	for _, m := range regexp.MustCompile(`<symbol id="([a-z0-9-]+)"`).FindAllStringSubmatch(sprite, -1) {
		drawn = append(drawn, m[1])
	}
	for _, kind := range []string{"icon", "mark"} {
		b, err := os.ReadFile("vendored/" + kind + "s.list")
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			listed = append(listed, kind+"-"+strings.Fields(line)[0])
		}
	}
	require.Equal(t, listed, drawn)
	licences := string(all().named["licences.txt"].body)
	for _, of := range []string{"idiomorph 0.8.0", "uPlot 1.6.32", "lucide-static 1.62.0", "simple-icons 16.37.0"} {
		require.True(t, strings.Contains(licences, of), of)
	}
}

// Browsers look for what the manifest names beside the manifest, wherever that is.
func TestTheManifestNamesNoPlace(t *testing.T) {
	t.Parallel()
	var m struct {
		Start string `json:"start_url"`
		Scope string
		Icons []struct{ Src string }

		Shortcuts []struct {
			Name, URL string
			Icons     []struct{ Src, Sizes string }
		}
		Share struct{ Action string } `json:"share_target"`
	}
	require.NoError(t, json.Unmarshal(Manifest(App{Language: "en", Description: "Music", Share: "share",
		Shortcuts: []Shortcut{{"Search", "search", "icon-search.png"}}}), &m))
	require.Equal(t, "./", m.Start)
	require.Equal(t, "./", m.Scope)
	require.Equal(t, "share", m.Share.Action)
	require.Equal(t, "search", m.Shortcuts[0].URL)
	require.Equal(t, "96x96", m.Shortcuts[0].Icons[0].Sizes)
	require.Len(t, m.Icons, 4)
	m.Icons = append(m.Icons, struct{ Src string }{m.Shortcuts[0].Icons[0].Src})
	for _, icon := range m.Icons {
		require.Regexp(t, `^static/icon`, icon.Src)
	}
}

// Comments and indentation are for readers of the source. No string goes over several lines, where it would be changed.
func TestSourcesAreServedBare(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a { b: c; } /* d */\nlet e = 1; // f\n",
		string(bare([]byte("/* one\n   two */\na { b: c; } /* d */\n\n  // three\n\tlet e = 1; // f\n"))))
	sources, err := fs.Glob(files, "js/*.js")
	require.NoError(t, err)
	for _, name := range sources {
		b, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		for line := range bytes.Lines(b) {
			require.Zero(t, bytes.Count(line, []byte("`"))%2, "%s: %s", name, line)
		}
	}
}

// The style of a page leaves the other pages alone: what two of them call the same differs by more than its class.
func TestPagesStyleTheirOwnParts(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("css"), "[6-9]*.css") // the others are of all pages
	require.NoError(t, err)
	require.NotEmpty(t, files)
	alone := regexp.MustCompile(`(?m)^\s*(\.[a-z-]+) \{`)
	by := map[string]string{}
	for _, name := range files {
		style, err := os.ReadFile(path.Join("css", name))
		require.NoError(t, err)
		for _, m := range alone.FindAllStringSubmatch(string(style), -1) {
			if by[m[1]] == "" {
				by[m[1]] = name
			}
			require.Equal(t, by[m[1]], name, m[1])
		}
	}
}
