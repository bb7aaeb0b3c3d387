package core

import (
	"bytes"
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// Base is the address at which browsers reach this server. Routes and handlers don't know its path: it is taken off
// requests, and put in front of the addresses in answers. It may change while requests are answered.
type Base struct {
	url      atomic.Pointer[url.URL]
	sections map[string]bool // the first parts of the paths of routes; nil for all
}

// NewBase returns a Base with an address.
func NewBase(address string) (*Base, error) {
	u, err := url.Parse(address)
	b := &Base{}
	b.url.Store(u)
	return b, err
}

// Loopback says whether a host, with or without a port, is the machine itself.
func Loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// BaseURL returns the address, without a trailing slash.
func (b *Base) BaseURL() string { return b.URL().String() }

// URL returns the address, which must not be changed.
func (b *Base) URL() *url.URL { return b.url.Load() }

// Path returns the path of the address, such as "/music"; empty without one.
func (b *Base) Path() string { return b.url.Load().Path }

// Below notes the routes below the path, so that Local can tell them from the path itself.
func (b *Base) Below(routes []*echo.Route) {
	b.sections = map[string]bool{}
	for _, r := range routes {
		b.sections[section(r.Path)] = true
	}
}

// section returns the first part of a path: "music" of "/music/artist/1".
func section(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// Local returns an address of ours as the routes know it, without the path. A proxy may have removed that
// path, and a page may have the same one: with base_url https://example.org/music, /music/artist/1 is an artist's page,
// because there is nothing at /artist.
func (b *Base) Local(u *url.URL) *url.URL {
	base := b.Path()
	rest, below := strings.CutPrefix(u.Path, base)
	if base == "" || !below || rest != "" && rest[0] != '/' || b.sections != nil && !b.sections[section(rest)] {
		return u
	}
	local := *u
	local.Path, local.RawPath = cmp.Or(rest, "/"), strings.TrimPrefix(u.RawPath, base)
	return &local
}

// Point puts the path in front of the addresses in the header of an answer.
func (b *Base) Point(h http.Header) {
	base := b.Path()
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

// point puts the path in front of the addresses in a page. Text and the values of attributes have no bare
// quote, so what is found is an attribute.
func (b *Base) point(page []byte) []byte {
	base := b.Path()
	if base == "" {
		return page
	}
	for _, name := range addresses {
		page = bytes.ReplaceAll(page, []byte(" "+name+`="/`), []byte(" "+name+`="`+base+"/"))
	}
	return page
}
