package navidrome

import (
	"net/netip"
	"net/url"
	"strings"

	"reprise/internal/resilience"
)

// normalise turns a typed or copied server address into the base URL: scheme, host in lower case, path without a
// trailing slash. Its error is a [resilience.SettingError] that does not contain the input.
func normalise(typed string) (*url.URL, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return nil, badAddress("Enter the address of your server, for example https://music.example.org.")
	}
	guess := !strings.Contains(typed, "://")
	if guess {
		typed = "https://" + typed
	}
	u, err := url.Parse(typed)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " ,;<>\"'\\|@") || u.Opaque != "" {
		return nil, badAddress("This is not a web address. Enter it as you open it in the browser, for example " +
			"https://music.example.org.")
	}
	if u.User != nil {
		return nil, badAddress("Leave the user name and password out of the address; they have fields of their own.")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, badAddress("The address must begin with https:// or http://.")
	}
	if guess && atHome(u.Hostname()) {
		u.Scheme = "http"
	}
	base := &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: basePath(u.Path)}
	if p := u.Port(); p == "" || p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		base.Host = strings.TrimSuffix(strings.TrimSuffix(base.Host, p), ":")
	}
	return base, nil
}

func badAddress(problem string) error {
	return &resilience.SettingError{Setting: credURL, Problem: problem}
}

// basePath removes the paths of the API (/rest/ping.view) and of Navidrome's pages (/app/) from a copied address.
func basePath(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	n := len(parts)
	switch {
	case n > 1 && parts[n-2] == "rest":
		parts = parts[:n-2]
	case n > 0 && (parts[n-1] == "rest" || parts[n-1] == "app"):
		parts = parts[:n-1]
	}
	if len(parts) == 0 {
		return ""
	}
	return "/" + strings.Join(parts, "/")
}

// atHome reports whether host is this machine or a literal address of a private network, where TLS is unlikely.
func atHome(host string) bool {
	ip, err := netip.ParseAddr(host)
	return loopback(host) || err == nil && (ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
