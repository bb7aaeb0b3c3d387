// Package hosts says which addresses may be called, makes the connections to them, and hides from a person what is at
// an address that is not theirs to look at.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"

	"reprise/internal/resilience"
)

// Policy says which hosts may be called.
type Policy struct {
	AllowPrivate bool     // addresses of private networks
	Only         []string // addresses, as host:port, beside which nothing is called; nil for no such limit
	OwnPort      uint16   // on which this server listens: it does not call itself; 0 when that is not known
	Contact      string   // how the administrator is reached
	NeedContact  []string // domains that must not be called without a Contact; they block unknown callers
}

// hostCause is why a host is not called.
type hostCause uint8

// Why hosts are not called.
const (
	hostReserved hostCause = iota // no service of a person's has its address, whatever the settings allow
	hostOwn                       // it is this server itself
	hostOnly                      // the demo doesn't call it
	hostPrivate                   // its network is private, and the settings allow none
	hostContact                   // it needs a contact, and there is none
)

var hostCauses = [...]string{"host.reserved", "host.own", "host.demo", "host.private", "host.contact"}

func (c hostCause) String() string { return hostCauses[c] }

// Hosts is the policy that holds now. It is safe for concurrent use.
type Hosts struct {
	policy atomic.Pointer[Policy]
	fence  atomic.Pointer[func(context.Context) bool] // nil: always open
	mu     sync.Mutex
	pools  []*http.Transport
}

// New returns Hosts with a policy.
func New(p Policy) *Hosts {
	h := &Hosts{}
	h.policy.Store(&p)
	return h
}

// Configure changes the policy. Connections that no call uses are closed, since the new policy may forbid their
// addresses.
func (h *Hosts) Configure(p Policy) {
	h.policy.Store(&p)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, pool := range h.pools {
		pool.CloseIdleConnections()
	}
}

// ErrFenced is the error of a call that this process may not make now. It counts as a canceled context: the upstream
// has not been asked, so that nothing is learned.
var ErrFenced = fmt.Errorf("this server may make no calls now: %w", context.Canceled)

// Fence has every call, and every connection made by Dial, ask first whether it may still go out, with its context. It
// is for servers that share a database: each service is called by one of them.
func (h *Hosts) Fence(open func(context.Context) bool) { h.fence.Store(&open) }

func (h *Hosts) fenced(ctx context.Context) error {
	if open := h.fence.Load(); open != nil && !(*open)(ctx) {
		return ErrFenced
	}
	return nil
}

// Policy returns the policy that holds now.
func (h *Hosts) Policy() Policy { return *h.policy.Load() }

// NewBase returns the connection pool below every transport, within the policy.
func (h *Hosts) NewBase() http.RoundTripper {
	base := NewBase(h.Dial())
	base.Proxy = h.proxy
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pools = append(h.pools, base)
	return withinPolicy{base, h}
}

// Dial returns a function that connects to no address that the policy forbids. It looks at the address that a name
// resolves to, so that no name and no redirect leads around it.
func (h *Hosts) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	private := ssrf.New(ssrf.WithAnyPort()).Safe
	control := func(network, address string, raw syscall.RawConn) error {
		p := h.policy.Load()
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
		if err := h.fenced(ctx); err != nil {
			return nil, err
		}
		// before a name is looked up
		if only := h.policy.Load().Only; only != nil && !slices.Contains(only, address) {
			return nil, errOnly
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, ssrf.ErrProhibitedIP) {
			return nil, &resilience.SettingError{Setting: "allow_private_upstreams", Problem: hostPrivate}
		}
		if e, ok := errors.AsType[*resilience.SettingError](err); ok {
			return nil, e
		}
		return conn, err
	}
}

// NewBase returns the connection pool below every transport, within a policy that stays.
func (p Policy) NewBase() http.RoundTripper { return New(p).NewBase() }

// Dial is [Hosts.Dial] for a policy that stays.
func (p Policy) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	return New(p).Dial()
}

// proxy returns the proxy of the environment for a request. The proxy looks names up itself, so that only addresses and
// known names can be refused here. Where private networks are forbidden no proxy is used, since it would hide the
// address.
func (h *Hosts) proxy(req *http.Request) (*url.URL, error) {
	if !h.policy.Load().AllowPrivate {
		return nil, nil
	}
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
func (p Policy) LacksContact(host string) bool {
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

// withinPolicy refuses calls to hosts that need a contact while there is none, and all calls behind a closed fence.
type withinPolicy struct {
	http.RoundTripper
	hosts *Hosts
}

// RoundTrip implements http.RoundTripper.
func (w withinPolicy) RoundTrip(req *http.Request) (*http.Response, error) {
	err := w.hosts.fenced(req.Context())
	if err == nil && !w.hosts.policy.Load().LacksContact(req.URL.Host) {
		return w.RoundTripper.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	return nil, &resilience.SettingError{Setting: "contact", Problem: hostContact}
}

// IsPublic reports whether a host is reached over the internet: it is neither an address of a private network nor a
// name that is known only there.
func IsPublic(host string) bool {
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

// Of returns the host of an address, with its port if it names one.
func Of(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
