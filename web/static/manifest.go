package static

import (
	"encoding/json"
	"strings"
)

// Manifest returns the description by which browsers install Reprise as an application. description says what it is, in
// the reader's language. Its addresses are relative to its own.
func Manifest(language, description string) []byte {
	type icon struct {
		Src     string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose,omitempty"`
	}
	address := func(name string) string {
		a, _ := URL(name) // build adds each of them
		return strings.TrimPrefix(a, "/")
	}
	b, _ := json.Marshal(map[string]any{
		"name": "Reprise", "short_name": "Reprise", "description": description, "lang": language,
		"start_url": "./", "scope": "./", "display": "standalone",
		"background_color": "#fbfaf8", "theme_color": "#0b6354",
		"icons": []icon{
			{address("icon-192.png"), "192x192", "image/png", ""},
			{address("icon-512.png"), "512x512", "image/png", ""},
			{address("icon-maskable.png"), "512x512", "image/png", "maskable"},
			{address("icon.svg"), "any", "image/svg+xml", ""},
		},
	}) // strings only
	return b
}
