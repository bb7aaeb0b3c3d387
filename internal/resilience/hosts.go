package resilience

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// HostPolicy says which hosts may be called.
type HostPolicy struct {
	AllowPrivate bool     // addresses of private networks
	OwnPort      uint16   // on which this server listens: it does not call itself; 0 when that is not known
	Contact      string   // how the administrator is reached
	NeedContact  []string // domains that must not be called without a Contact; they block unknown callers
}

// ContactMissing is the problem of a host that needs a contact when there is none.
const ContactMissing = "This service wants to know whom to write to when something goes wrong. " +
	"The administrator has to set contact to an e-mail or web address, and start Reprise again."

// NewBase returns the connection pool below every Transport, within the policy.
func (p HostPolicy) NewBase() http.RoundTripper {
	base := NewBase(p.Dial())
	if p.AllowPrivate { // else no proxy is used, since it would hide the address
		base.Proxy = p.proxy
	}
	if p.Contact == "" {
		return withoutContact{base, p}
	}
	return base
}

// Dial returns a function that connects to no address that the policy forbids. It looks at the address that a name
// resolves to, so that no name and no redirect leads around it.
func (p HostPolicy) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	private := ssrf.New(ssrf.WithAnyPort()).Safe
	control := func(network, address string, raw syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		switch {
		case err != nil || isReserved(at.Addr()):
			return errReserved
		case p.OwnPort != 0 && at.Port() == p.OwnPort && isOwn(at.Addr()):
			return errOwn
		case p.AllowPrivate:
			return nil
		}
		return private(network, address, raw)
	}
	dialer := &net.Dialer{Timeout: ConnectTimeout, Control: control}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, ssrf.ErrProhibitedIP) {
			return nil, &SettingError{Setting: "allow_private_upstreams",
				Problem: "This server does not call addresses of private networks."}
		}
		if e, ok := errors.AsType[*SettingError](err); ok {
			return nil, e
		}
		return conn, err
	}
}

// proxy returns the proxy of the environment for a request. The proxy looks names up itself, so that only addresses and
// known names can be refused here.
func (p HostPolicy) proxy(req *http.Request) (*url.URL, error) {
	to, err := http.ProxyFromEnvironment(req)
	if to == nil || err != nil {
		return to, err
	}
	name := strings.TrimSuffix(strings.ToLower(req.URL.Hostname()), ".")
	if ip, err := netip.ParseAddr(name); err == nil && isReserved(ip) || slices.Contains(metadataNames, name) {
		return nil, errReserved
	}
	return to, nil
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
