package channels

import (
	"net"
	"net/url"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/words"
)

// pasted returns the build function of a kind whose form has only its URL, in the field of that name.
func pasted(field string) func(map[string]string) (string, error) {
	return func(f map[string]string) (string, error) { return f[field], nil }
}

// server reads the address of a server as people type it, and gives it the scheme. Without http:// or https://, a
// private IP address and localhost get http://, every other host https://. It also reports whether the connection is
// unprotected.
func server(text, scheme string) (u *url.URL, plain bool, err error) {
	typed := text
	if !strings.Contains(typed, "://") {
		typed = "https://" + text
	}
	u, err = url.Parse(typed)
	if err == nil && typed != text && providers.AtHome(u.Hostname()) {
		u.Scheme = "http"
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false, wrong(words.New("reach.server"))
	}
	return &url.URL{Scheme: scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}, u.Scheme == "http", nil
}

// plainHTTP reports whether a channel's URL asks for an unprotected connection, in any of the usual ways.
func plainHTTP(u *url.URL) bool {
	q := u.Query()
	for name := range q {
		if strings.EqualFold(name, "disabletls") && strings.EqualFold(q.Get(name), "yes") {
			return true
		}
	}
	return strings.EqualFold(q.Get("scheme"), "http")
}

// web returns the address of a path at a channel's server.
func web(u *url.URL, path string) string {
	scheme := "https"
	if plainHTTP(u) {
		scheme = "http"
	}
	return (&url.URL{Scheme: scheme, Host: u.Host, Path: path}).String()
}

// keepPlain notes in a URL that its connection is unprotected, for plainHTTP.
func keepPlain(u url.URL, plain bool) *url.URL {
	if plain {
		u.RawQuery = "scheme=http"
	}
	return &u
}

// lastSegment splits a path at its last slash.
func lastSegment(path string) (before, last string) {
	cut := strings.LastIndexByte(path, '/')
	return path[:max(cut, 0)], path[cut+1:]
}

// lastFour returns the end of a secret, enough for its owner to recognise it.
func lastFour(secret string) string {
	if len(secret) < 8 {
		return "…"
	}
	return "…" + secret[len(secret)-4:]
}

// private reports whether a host is in a private network, where connections need no protection.
func private(host string) bool {
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	for _, home := range []string{".local", ".lan", ".internal", ".home.arpa", ".localhost"} {
		if strings.HasSuffix(host, home) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
