// Package static holds the files that browsers keep: style, scripts, icons. Their addresses contain a hash of their
// content, so a browser asks for each version once, and each is compressed once.
//
// Sources are small and become few files: css/*.css is one stylesheet, in the order of its parts, and the modules of
// js/*.js import each other by their hashed addresses. What comes from others is in vendored/, with its licences.
package static

import (
	"bytes"
	"embed"
	"net/http"
	"strings"
	"sync"
	"time"
)

// vendored/update.sh fetches what is in vendored/ from npm and makes the sprite of icons and marks from it.
//
//go:generate ./vendored/update.sh

//go:embed css js vendored/*.js vendored/*.css vendored/*.svg vendored/*.txt icon.svg sw.js
var files embed.FS

// all are the built files. They are built when the first one is needed.
var all = sync.OnceValue(func() *set {
	s, err := build(files)
	if err != nil {
		panic("static: " + err.Error()) // a mistake in the sources, which a test excludes
	}
	return s
})

// Prefix is where [Handler] is served.
const Prefix = "/static/"

// URL returns the address of a file, with the hash of its content; false if there is no such file.
func URL(name string) (string, bool) {
	f, ok := all().named[name]
	if !ok {
		return "", false
	}
	return f.address(), true
}

// Imports returns the addresses of the modules that a script imports, directly or not, so that a page can name them and
// the browser fetches them at once.
func Imports(name string) []string {
	var addresses []string
	for _, imported := range all().imports[name] {
		addresses = append(addresses, all().named[imported].address())
	}
	return addresses
}

// Drawn says whether the sprite has a drawing: "icon-bell", "mark-spotify".
func Drawn(name string) bool {
	return bytes.Contains(all().named["sprite.svg"].body, []byte(`<symbol id="`+name+`"`))
}

// Lettered says whether a drawing of the sprite is a letter.
func Lettered(name string) bool {
	_, rest, _ := bytes.Cut(all().named["sprite.svg"].body, []byte(`<symbol id="`+name+`"`))
	drawing, _, _ := bytes.Cut(rest, []byte("</symbol>"))
	return bytes.Contains(drawing, []byte("<text"))
}

// Worker returns the service worker's script. It has the addresses of the files that are kept for pages without a
// network.
func Worker() []byte { return all().worker }

// Exact reports whether a path names a file with its hash, so that every program that has it answers the same.
func Exact(path string) bool {
	name, below := strings.CutPrefix(path, Prefix)
	if !below {
		return false
	}
	_, exact := all().find(name)
	return exact
}

// policy is what a file may load when it is opened by itself.
const policy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the files below [Prefix]. One that is asked for with its hash may be kept for a year; without one, or
// with another version's, it must be asked for again. Their headers are fewer than those of a page, because a first
// visit loads many files.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, exact := all().find(strings.TrimPrefix(r.URL.Path, Prefix))
		if f == nil {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		for _, ofPages := range []string{"Permissions-Policy", "Cross-Origin-Opener-Policy"} {
			h.Del(ofPages)
		}
		h.Set("Cache-Control", "no-cache")
		if exact {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		h.Set("Content-Type", f.kind)
		h.Add("Vary", "Accept-Encoding")
		body, tag := f.body, f.hash
		for _, coding := range []string{"br", "gzip"} { // the smaller one first
			if !takes(r.Header.Values("Accept-Encoding"), coding) {
				continue
			}
			if packed := f.packed[coding](); packed != nil {
				h.Set("Content-Encoding", coding)
				body, tag = packed, tag+"-"+coding
			}
			break
		}
		h.Set("ETag", `"`+tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}

// takes reports whether a browser takes what is compressed by a coding.
func takes(accepted []string, coding string) bool {
	takes := false
	for part := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(name, coding) {
			takes = weight == "" || strings.TrimRight(strings.TrimPrefix(weight, "q="), "0.") != ""
		}
	}
	return takes
}
