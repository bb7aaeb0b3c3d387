package providers

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// ServerAddress turns a typed or copied server address into the base URL: scheme, host in lower case, path without a
// trailing slash. Its error is a [resilience.SettingError] about the field that does not contain the input.
func ServerAddress(field, typed string) (*url.URL, error) {
	problem := func(id string) (*url.URL, error) {
		return nil, &resilience.SettingError{Setting: field, Problem: words.Each("field.", id)}
	}
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return problem("server.empty")
	}
	guess := !strings.Contains(typed, "://")
	if guess {
		typed = "https://" + typed
	}
	u, err := url.Parse(typed)
	if err != nil || u.Hostname() == "" || strings.ContainsFunc(u.Hostname(), unlikely) || u.Opaque != "" {
		return problem("server.unfit")
	}
	if u.User != nil {
		return problem("server.user")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return problem("scheme")
	}
	if guess && AtHome(u.Hostname()) {
		u.Scheme = "http"
	}
	path := strings.Trim(u.Path, "/")
	if path != "" {
		path = "/" + path
	}
	base := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: path}
	if p := u.Port(); p == "" || p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		base.Host = strings.TrimSuffix(strings.TrimSuffix(base.Host, p), ":")
	}
	return base, nil
}

// unlikely reports whether a rune is never in the name of a host.
func unlikely(r rune) bool {
	return strings.ContainsRune(" ,;<>\"'\\|@", r) || r == utf8.RuneError || !unicode.IsPrint(r)
}

// AtHome reports whether host is this machine or a literal address of a private network, where TLS is unlikely.
func AtHome(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}
