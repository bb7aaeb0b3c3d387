package core

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// Path returns the path of base_url, such as "/music"; empty without one. Routes and handlers don't know it: it is
// taken off requests, and put in front of the addresses in answers.
func (k *Core) Path() string { return k.base.Load().Path }

// Below notes the routes below the path of base_url, so that Local can tell them from the path itself.
func (k *Core) Below(routes []*echo.Route) {
	k.sections = map[string]bool{}
	for _, r := range routes {
		k.sections[section(r.Path)] = true
	}
}

// section returns the first part of a path: "music" of "/music/artist/1".
func section(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// Local returns an address of ours as the routes know it, without the path of base_url. A proxy may have removed that
// path, and a page may have the same one: with base_url https://example.org/music, /music/artist/1 is an artist's page,
// because there is nothing at /artist.
func (k *Core) Local(u *url.URL) *url.URL {
	base := k.Path()
	rest, below := strings.CutPrefix(u.Path, base)
	if base == "" || !below || rest != "" && rest[0] != '/' || !k.sections[section(rest)] {
		return u
	}
	local := *u
	local.Path, local.RawPath = cmp.Or(rest, "/"), strings.TrimPrefix(u.RawPath, base)
	return &local
}

// Point puts the path of base_url in front of the addresses in the header of an answer.
func (k *Core) Point(h http.Header) {
	base := k.Path()
	if base == "" {
		return
	}
	if to := h.Get("Location"); strings.HasPrefix(to, "/") {
		h.Set("Location", base+to)
	}
	if when, to, ok := strings.Cut(h.Get("Refresh"), "url=/"); ok {
		h.Set("Refresh", when+"url="+base+"/"+to)
	}
}

// addresses are the attributes that hold an address.
var addresses = []string{"href", "src", "action", "srcset", "formaction", "data-chart"}

// point puts the path of base_url in front of the addresses in a page. Text and the values of attributes have no bare
// quote, so what is found is an attribute.
func (k *Core) point(page []byte) []byte {
	base := k.Path()
	if base == "" {
		return page
	}
	for _, name := range addresses {
		page = bytes.ReplaceAll(page, []byte(" "+name+`="/`), []byte(" "+name+`="`+base+"/"))
	}
	return page
}
