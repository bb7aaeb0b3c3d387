package navidrome

import (
	"net/netip"
	"net/url"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// normalise is [providers.ServerAddress] without the paths of the API and of the pages of Navidrome and gonic.
func normalise(typed string) (*url.URL, error) {
	base, err := providers.ServerAddress(credURL, typed)
	if err != nil {
		return nil, err
	}
	base.Path = basePath(base.Path)
	return base, nil
}

// basePath removes the paths of the API (/rest/ping.view), of Navidrome's pages (/app/) and of gonic's (/admin/home)
// from a copied address.
func basePath(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	n := len(parts)
	switch {
	case n > 1 && (parts[n-2] == "rest" || parts[n-2] == "admin"):
		parts = parts[:n-2]
	case n > 0 && (parts[n-1] == "rest" || parts[n-1] == "app" || parts[n-1] == "admin"):
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return ""
	}
	return "/" + strings.Join(parts, "/")
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func badAddress(problem words.Text) error {
	return &resilience.SettingError{Setting: credURL, Problem: problem}
}
