// Package web is the browser's side: templates, style, scripts, and the description of the API. All of it is in the
// binary, and nothing is fetched from another host.
package web

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"strings"
	"sync"
)

//go:embed templates
var files embed.FS

//go:embed openapi.yaml
var openAPI string

// OpenAPI returns the description of the JSON API, with the names of the providers that people connect, and of those
// whose exports can be imported.
func OpenAPI(connections, exports []string) []byte {
	names := strings.NewReplacer("'{connections}'", strings.Join(connections, ", "),
		"'{exports}'", strings.Join(exports, ", "))
	return []byte(names.Replace(openAPI))
}

// Pages are the templates, one set per page, each with the layout and the partials. A set is parsed when its page is
// shown for the first time. Safe for concurrent use.
type Pages struct {
	sets map[string]func() (*template.Template, error)
}

// Load finds the pages. nameOf returns the display name of a provider.
func Load(nameOf func(provider string) string) (*Pages, error) {
	names, err := fs.Glob(files, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	all := maps.Clone(functions)
	all["service"], all["isolated"], all["isolatedPlain"] = nameOf, isolated, isolatedPlain
	p := &Pages{sets: map[string]func() (*template.Template, error){}}
	for _, path := range names {
		name := strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".html")
		p.sets[name] = sync.OnceValues(func() (*template.Template, error) { return load(path, all) })
	}
	return p, nil
}

func load(path string, functions template.FuncMap) (*template.Template, error) {
	set := template.New("layout.html").Option("missingkey=error").Funcs(functions)
	set, err := set.ParseFS(files, "templates/layout.html", "templates/partials.html", path)
	if err == nil {
		err = isolate(set)
	}
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return set, nil
}

// Render writes a page.
func (p *Pages) Render(w io.Writer, name string, data any) error {
	page, ok := p.sets[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	set, err := page()
	if err != nil {
		return err
	}
	return set.Execute(w, data)
}
