package resilience

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"code.dny.dev/ssrf"
)

// HostPolicy says which hosts may be called.
type HostPolicy struct {
	AllowPrivate bool     // addresses of private networks
	Contact      string   // how the administrator is reached
	NeedContact  []string // domains that must not be called without a Contact; they block unknown callers
}

// ContactMissing is the problem of a host that needs a contact when there is none.
const ContactMissing = "This service wants to know whom to write to when something goes wrong. " +
	"The administrator has to set contact to an e-mail or web address, and start Reprise again."

// NewBase returns the connection pool below every Transport, within the policy.
func (p HostPolicy) NewBase() http.RoundTripper {
	base := NewBase(p.Dial())
	if p.Contact == "" {
		return withoutContact{base, p}
	}
	return base
}

// Dial returns a function that connects to no address of a private network, or nil when the policy allows them.
func (p HostPolicy) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if p.AllowPrivate {
		return nil
	}
	dialer := &net.Dialer{Timeout: ConnectTimeout, Control: ssrf.New(ssrf.WithAnyPort()).Safe}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, ssrf.ErrProhibitedIP) {
			return nil, &SettingError{Setting: "allow_private_upstreams",
				Problem: "This server does not call addresses of private networks."}
		}
		return conn, err
	}
}

// LacksContact reports whether a host, with or without a port, needs a contact and there is none.
func (p HostPolicy) LacksContact(host string) bool {
	if p.Contact != "" {
		return false
	}
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	for _, domain := range p.NeedContact {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// withoutContact refuses calls to hosts that need a contact.
type withoutContact struct {
	http.RoundTripper
	policy HostPolicy
}

// RoundTrip implements http.RoundTripper.
func (w withoutContact) RoundTrip(req *http.Request) (*http.Response, error) {
	if !w.policy.LacksContact(req.URL.Host) {
		return w.RoundTripper.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, &SettingError{Setting: "contact", Problem: ContactMissing}
}

// IsPublicHost reports whether a host is reached over the internet: it is neither an address of a private network nor a
// name that is known only there.
func IsPublicHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if ip := net.ParseIP(strings.Trim(name, "[]")); ip != nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
	}
	for _, home := range []string{".local", ".lan", ".internal", ".home.arpa", ".localhost"} {
		if strings.HasSuffix(name, home) {
			return false
		}
	}
	return strings.Contains(name, ".")
}

// HostOf returns the host of an address, with its port if it names one.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
