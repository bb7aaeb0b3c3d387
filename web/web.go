// Package web is the browser's side: templates, style, the one small script, and the description of the API. All of it
// is in the binary, and nothing is fetched from another host.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

//go:embed templates static
var files embed.FS

// OpenAPI describes the JSON API.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Pages are the parsed templates, one set per page, each with the layout and the partials. Safe for concurrent use.
type Pages struct{ sets map[string]*template.Template }

// Load parses the templates.
func Load() (*Pages, error) {
	names, err := fs.Glob(files, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	p := &Pages{sets: map[string]*template.Template{}}
	for _, path := range names {
		name := strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".html")
		set, err := template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/partials.html", path)
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		p.sets[name] = set
	}
	return p, nil
}

// Render writes a page.
func (p *Pages) Render(w io.Writer, name string, data any) error {
	set, ok := p.sets[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	return set.Execute(w, data)
}

// Static serves the style, the script and the pictures. Their addresses carry a fingerprint of their content, so
// browsers may keep them.
func Static() http.Handler {
	sub, _ := fs.Sub(files, "static") // the folder is embedded above
	serve := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("v") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		serve.ServeHTTP(w, r)
	})
}

var functions = template.FuncMap{
	"asset":   asset,
	"when":    func(t any) template.HTML { return timeElement(t, "ago") },
	"until":   func(t any) template.HTML { return timeElement(t, "until") },
	"date":    func(t any) template.HTML { return timeElement(t, "date") },
	"length":  length,
	"count":   count,
	"state":   func(name string) stateWord { return stateWords[name] },
	"dict":    dict,
	"service": service,
}

// asset is the address of a static file, with its fingerprint.
func asset(name string) (string, error) {
	b, err := fs.ReadFile(files, "static/"+name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return "/static/" + name + "?v=" + hex.EncodeToString(sum[:6]), nil
}

// timeElement writes a time so that it can be read without JavaScript, and shown in the reader's own zone and relative
// to now with it. t is an RFC 3339 text, or a pointer to one; nil gives nothing.
func timeElement(t any, kind string) template.HTML {
	var text string
	switch v := t.(type) {
	case string:
		text = v
	case *string:
		if v == nil {
			return ""
		}
		text = *v
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	plain := at.UTC().Format("2 Jan 2006, 15:04 UTC")
	if kind == "date" {
		plain = at.UTC().Format("2 January 2006")
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-time="%s" title="%s">%s</time>`, at.UTC().Format(time.RFC3339), kind, plain, plain))
}

// length writes a track's length as minutes and seconds.
func length(ms *int64) string {
	if ms == nil {
		return ""
	}
	s := (*ms + 500) / 1000
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// count writes a whole number with separators, and its noun: count 1200 "listen" "listens" is "1,200 listens".
func count(n int, one, many string) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n == 1 {
		return digits + " " + one
	}
	return digits + " " + many
}

// stateWord is a state in words, and the shape that stands beside it.
type stateWord struct{ Word, Shape string }

var stateWords = map[string]stateWord{
	"healthy":         {"In order", "✓"},
	"syncing":         {"Reading", "↻"},
	"waiting":         {"Waiting", "◔"},
	"held":            {"On hold", "◷"},
	"needs_reconnect": {"Needs you", "!"},
	"needs_admin":     {"Needs the administrator", "!"},
	"paused":          {"Paused", "‖"},
	"new":             {"New", "•"},
}

// service is a provider's name as people write it.
func service(name string) string {
	names := map[string]string{"spotify": "Spotify", "listenbrainz": "ListenBrainz", "navidrome": "Navidrome", "lastfm": "Last.fm", "youtube": "YouTube"}
	if n, ok := names[name]; ok {
		return n
	}
	return name
}

// dict builds the argument of a partial from names and values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a name without a value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}
