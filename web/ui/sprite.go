package ui

import (
	"slices"

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

// lettered says whether a service has a letter for its mark, for want of a drawing.
func lettered(provider string) bool {
	if iconic := []string{"email", "webhook", "hook", "url", "webpush"}; slices.Contains(iconic, provider) {
		return false
	}
	return !marked(provider) || static.Lettered("mark-"+provider)
}
