package static

import (
	"encoding/json"
	"strings"
)

// App is what the manifest says in the reader's language.
type App struct {
	Language    string
	Description string
	Shortcuts   []Shortcut
	Share       string // the page that takes what others share, by the parameters title, text and url
}

// Shortcut is a page that the icon of the installed application leads to.
type Shortcut struct {
	Name string
	Path string // of the page, relative to base_url
	Icon string // the name of its file: a PNG of 96 by 96 pixels
}

// Manifest returns the description by which browsers install Reprise as an application. Its addresses are relative to
// its own.
func Manifest(app App) []byte {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	type shortcut struct {
		Name  string `json:"name"`
		URL   string `json:"url"`
		Icons []icon `json:"icons"`
	}
	address := func(name string) string {
		a, _ := URL(name) // build adds each of them
		return strings.TrimPrefix(a, "/")
	}
	shortcuts := make([]shortcut, len(app.Shortcuts))
	for i, s := range app.Shortcuts {
		shortcuts[i] = shortcut{s.Name, s.Path, []icon{{address(s.Icon), "96x96", "image/png", ""}}}
	}
	b, _ := json.Marshal(map[string]any{
		"name": "Reprise", "short_name": "Reprise", "description": app.Description, "lang": app.Language,
		"start_url": "./", "scope": "./", "display": "standalone",
		"background_color": "#fbfaf8", "theme_color": "#0b6354",
		"icons": []icon{
			{address("icon-192.png"), "192x192", "image/png", ""},
			{address("icon-512.png"), "512x512", "image/png", ""},
			{address("icon-maskable.png"), "512x512", "image/png", "maskable"},
			{address("icon.svg"), "any", "image/svg+xml", ""},
		},
		"shortcuts": shortcuts,
		"share_target": map[string]any{
			"action": app.Share, "method": "GET",
			"params": map[string]string{"title": "title", "text": "text", "url": "url"},
		},
	}) // strings only
	return b
}
