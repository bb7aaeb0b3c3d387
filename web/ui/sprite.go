package ui

import (
	"reprise/web"
	"reprise/web/static"
)

// drawn returns the address of a drawing of the sprite. It panics if there is none, which is a mistake in the program.
func drawn(name string) string {
	if !static.Drawn(name) {
		panic("ui: the sprite has no " + name)
	}
	return web.Asset("sprite.svg") + "#" + name
}

// marked says whether there is a mark of a service.
func marked(provider string) bool { return static.Drawn("mark-" + provider) }
