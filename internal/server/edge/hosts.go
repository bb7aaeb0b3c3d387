package edge

import (
	"net"
	"net/netip"
	"strings"

	"reprise/internal/resilience/hosts"
)

// AnyHost is the name that means all.
const AnyHost = "*"

// Hosts are the names by which browsers may ask this server. A page elsewhere can point a name of its own at this
// machine, and would then read here what its visitor may read (DNS rebinding); it cannot do so with the names that
// are always allowed: IP addresses, names without a dot, and names that only exist in private networks.
type Hosts struct {
	any   bool
	names map[string]bool
}

// NewHosts returns the names that are allowed beside those that always are. AnyHost allows all; empty ones are ignored.
func NewHosts(names ...string) Hosts {
	h := Hosts{names: map[string]bool{}}
	for _, name := range names {
		h.any = h.any || name == AnyHost
		if name = plain(name); name != "" {
			h.names[name] = true
		}
	}
	return h
}

// Allow reports whether a request may name this host, with or without a port. Browsers always name one; old monitors
// name none.
func (h Hosts) Allow(host string) bool {
	if h.any || host == "" {
		return true
	}
	name := plain(host)
	if ip := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"); ip != "" {
		if _, err := netip.ParseAddr(strings.ReplaceAll(ip, "%25", "%")); err == nil {
			return true
		}
	}
	return h.names[name] || name != "" && !strings.ContainsAny(name, "[]@/%<> ") && !hosts.IsPublic(name)
}

// plain returns a host in lower case, without its port and the dot of the root.
func plain(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
