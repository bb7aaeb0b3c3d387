package hosts

import (
	"net"
	"net/netip"
	"slices"

	"reprise/internal/resilience"
)

// errReserved and errOwn refuse addresses that no service of a person's has, whatever the settings allow. errOnly
// refuses what the demo doesn't call.
var (
	errReserved = &resilience.SettingError{Setting: "address", Problem: hostReserved}
	errOwn      = &resilience.SettingError{Setting: "address", Problem: hostOwn}
	errOnly     = &resilience.SettingError{Setting: "address", Problem: hostOnly}
)

// metadata are the addresses at which clouds tell a machine its secrets, as far as they are not link-local: of Alibaba,
// Azure, Oracle, AWS, Google and Scaleway, from their documentation.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("fd00:42::42"),
}

// metadataNames are names that lead there.
var metadataNames = []string{"metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// translated are networks whose addresses translate to IPv4 addresses, with the first byte of these: NAT64
// (RFC 6052 and RFC 8215), 6to4 (RFC 3056) and IPv4-compatible addresses (RFC 4291).
var translated = []struct {
	network netip.Prefix
	first   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::/96"), 12},
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	future      = netip.MustParsePrefix("240.0.0.0/4") // with the broadcast address
)

// isReserved reports whether no service can have this address: link-local, multicast, unspecified, broadcast, or that
// of a cloud's metadata.
func isReserved(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() && !ip.IsUnspecified() {
		for _, t := range translated {
			if t.network.Contains(ip) {
				b := ip.As16()
				return isReserved(netip.AddrFrom4([4]byte(b[t.first : t.first+4])))
			}
		}
	}
	return ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || thisNetwork.Contains(ip) ||
		future.Contains(ip) || slices.Contains(metadata, ip)
}

// isOwn reports whether an address is one of this machine's.
func isOwn(ip netip.Addr) bool {
	ip = ip.Unmap()
	if ip.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == ip
	})
}
