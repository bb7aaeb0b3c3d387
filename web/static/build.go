package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// set is the files that are served, and the service worker that knows them.
type set struct {
	named   map[string]*file    // by the names of the sources
	hashed  map[string]*file    // by the names that addresses have
	imports map[string][]string // of a module: the names of all that it needs, those that need nothing first
	worker  []byte
}

// file is one that is served.
type file struct {
	name, hash, kind string
	body             []byte
	// packed are the smaller forms, made when first asked for; nil for one that would not become smaller.
	packed map[string]func() []byte
}

// kinds are the types of files by the endings of their names.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
	".txt": "text/plain; charset=utf-8",
}

// exported are the vendored scripts and what they become as modules: they define a variable each.
var exported = map[string]struct{ source, export string }{
	"idiomorph.js": {"vendored/idiomorph.min.js", "\nexport { Idiomorph };\n"},
	"uplot.js":     {"vendored/uPlot.iife.min.js", "\nexport { uPlot };\n"},
}

// whole are the other files that are served as they are, by their names in addresses.
var whole = map[string]string{
	"icon.svg":   "icon.svg",
	"sprite.svg": "vendored/sprite.svg",
	"chart.css":  "vendored/uPlot.min.css",
	// Licences of what is in vendored/, which asks to go with every copy.
	"licences.txt": "vendored/LICENCES.txt",
}

// build makes the files that are served from their sources.
func build(from fs.FS) (*set, error) {
	s := &set{named: map[string]*file{}, hashed: map[string]*file{}, imports: map[string][]string{}}
	for name, source := range whole {
		b, err := fs.ReadFile(from, source)
		if err != nil {
			return nil, err
		}
		s.add(name, b)
	}
	for name, p := range pictures {
		s.add(name, picture(p))
	}
	style, err := joined(from, "css")
	if err != nil {
		return nil, err
	}
	s.add("app.css", bare(style))
	modules, err := scripts(from)
	if err != nil {
		return nil, err
	}
	for name := range modules {
		if err := s.addModule(modules, name, nil); err != nil {
			return nil, err
		}
	}
	worker, err := fs.ReadFile(from, "sw.js")
	if err != nil {
		return nil, err
	}
	s.worker, err = s.shell(worker)
	return s, err
}

// joined returns the files of a folder in the order of their names.
func joined(from fs.FS, folder string) ([]byte, error) {
	entries, err := fs.ReadDir(from, folder)
	var all bytes.Buffer
	for _, e := range entries {
		var b []byte
		if b, err = fs.ReadFile(from, path.Join(folder, e.Name())); err != nil {
			break
		}
		all.Write(b)
	}
	return all.Bytes(), err
}

// remarks are comments at the beginning of a line.
var remarks = regexp.MustCompile(`(?m)^[ \t]*(//.*|/\*(?s:.*?)\*/)`)

var indents = regexp.MustCompile(`(?m)^\s+`)

// bare returns a source without what only its readers need, which is an eighth of what browsers would load.
func bare(source []byte) []byte {
	return indents.ReplaceAll(remarks.ReplaceAll(source, nil), nil)
}

// scripts returns the sources of all modules by their names.
func scripts(from fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	entries, err := fs.ReadDir(from, "js")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := fs.ReadFile(from, path.Join("js", e.Name()))
		if err != nil {
			return nil, err
		}
		all[e.Name()] = bare(b)
	}
	for name, v := range exported {
		b, err := fs.ReadFile(from, v.source)
		if err != nil {
			return nil, err
		}
		all[name] = append(slices.Clip(b), v.export...)
	}
	return all, nil
}

// named matches what a module says of another file: "./times.js".
var named = regexp.MustCompile(`"\./([\w.-]+\.\w+)"`)

// addModule adds a module after those that it imports, whose addresses it has in its text. outer are the modules that
// wait for this one.
func (s *set) addModule(sources map[string][]byte, name string, outer []string) error {
	if s.named[name] != nil {
		return nil
	}
	if slices.Contains(outer, name) {
		return fmt.Errorf("modules import each other in a circle: %s", strings.Join(append(outer, name), ", "))
	}
	text := sources[name]
	for _, m := range named.FindAllSubmatch(text, -1) {
		other := string(m[1])
		if _, ok := sources[other]; ok {
			if err := s.addModule(sources, other, append(outer, name)); err != nil {
				return err
			}
			for _, needed := range append(slices.Clone(s.imports[other]), other) {
				if !slices.Contains(s.imports[name], needed) {
					s.imports[name] = append(s.imports[name], needed)
				}
			}
		}
		f := s.named[other]
		if f == nil {
			return fmt.Errorf("%s names %s, which does not exist", name, other)
		}
		text = bytes.ReplaceAll(text, m[0], []byte(`"./`+path.Base(f.address())+`"`))
	}
	s.add(name, text)
	return nil
}

// shell puts the addresses of what every page needs into the service worker.
func (s *set) shell(worker []byte) ([]byte, error) {
	names := append([]string{"app.css", "app.js", "icon.svg", "sprite.svg"}, s.imports["app.js"]...)
	addresses := make([]string, 0, len(names))
	for _, name := range names {
		f := s.named[name]
		if f == nil {
			return nil, fmt.Errorf("every page needs %s, which does not exist", name)
		}
		addresses = append(addresses, f.address())
	}
	list, err := json.Marshal(addresses)
	return bytes.Replace(worker, []byte("[/* shell */]"), list, 1), err
}

func (s *set) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	f := &file{name: name, hash: hex.EncodeToString(sum[:6]), kind: kinds[path.Ext(name)], body: body}
	f.packed = map[string]func() []byte{}
	for coding, writer := range codings {
		f.packed[coding] = sync.OnceValue(func() []byte { return pack(body, writer) })
	}
	s.named[name], s.hashed[path.Base(f.address())] = f, f
}

// address returns where the file is served: /static/app.3f2a9c01d4e5.css.
func (f *file) address() string {
	ending := path.Ext(f.name)
	return Prefix + strings.TrimSuffix(f.name, ending) + "." + f.hash + ending
}

var oldHash = regexp.MustCompile(`\.[0-9a-f]{12}(\.\w+)$`)

// find returns the file with a name that has its hash, no hash or another version's; nil for none. exact says whether
// the name has the hash of what is returned.
func (s *set) find(name string) (f *file, exact bool) {
	if f := s.hashed[name]; f != nil {
		return f, true
	}
	if f := s.named[name]; f != nil {
		return f, false
	}
	return s.named[oldHash.ReplaceAllString(name, "$1")], false
}

// codings are how files are compressed, by the names that HTTP has for it.
var codings = map[string]func(io.Writer) io.WriteCloser{
	"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotliLevel) },
	"gzip": func(w io.Writer) io.WriteCloser {
		z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
		return z
	},
}

// brotliLevel is the highest at which nobody notices the wait for the first file after a start: 25 ms for the largest,
// where the best level takes 150 ms and saves 6 % more.
const brotliLevel = 9

// pack returns a compressed body; nil if it would not be smaller.
func pack(body []byte, writer func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := writer(&b)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	if b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}
