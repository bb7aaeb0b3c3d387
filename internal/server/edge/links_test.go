package edge

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func at(name, ip string) Address { return Address{Interface: name, IP: netip.MustParseAddr(ip)} }

func TestLinksAreThoseThatOthersReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine Machine
		want    []string
	}{
		"a NAS with Docker": {
			Machine{Name: "nas", Addresses: []Address{at("lo", "127.0.0.1"), at("lo", "::1"),
				at("docker0", "172.17.0.1"), at("br-1f2e", "172.18.0.1"),
				at("tailscale0", "100.101.102.103"), at("eth0", "192.168.1.20"),
				at("eth0", "fe80::1"), at("eth0", "fd00::20")}},
			[]string{"http://192.168.1.20:8420", "http://100.101.102.103:8420", "http://nas:8420"}},
		"a VPS": {
			Machine{Name: "vps.example.org", Addresses: []Address{at("eth0", "203.0.113.7"),
				at("eth0", "2001:db8::7")}},
			[]string{"http://203.0.113.7:8420", "http://vps.example.org:8420"}},
		"a machine with IPv6 alone": {
			Machine{Name: "localhost.localdomain", Addresses: []Address{at("eth0", "fd00::20"), at("eth0", "fe80::1")}},
			[]string{"http://[fd00::20]:8420"}},
		"a container": {
			Machine{Name: "0123456789ab", Contained: true, Addresses: []Address{at("lo", "127.0.0.1"),
				at("eth0", "172.17.0.2")}}, nil},
		"a container with a name": {
			Machine{Name: "reprise", Contained: true, Addresses: []Address{at("eth0", "10.88.0.3")}}, nil},
		"a container in the machine's network": {
			Machine{Name: "nas", Contained: true, Addresses: []Address{at("docker0", "172.17.0.1"),
				at("eth0", "192.168.1.20")}}, []string{"http://192.168.1.20:8420", "http://nas:8420"}},
		"a machine with many": {
			Machine{Name: "big", Addresses: []Address{at("a", "10.0.0.1"), at("b", "10.0.0.2"), at("c", "10.0.0.3"),
				at("d", "192.168.0.4")}},
			[]string{"http://192.168.0.4:8420", "http://10.0.0.1:8420", "http://10.0.0.2:8420", "http://big:8420"}},
	} {
		require.Equal(t, c.want, c.machine.Links("8420"), name)
	}
}

// The links that are printed are those by which others reach the machine.
func TestPrintedLinksLeadHereFromElsewhere(t *testing.T) {
	t.Parallel()
	nas := Machine{Name: "nas", Addresses: []Address{at("docker0", "172.17.0.1"), at("eth0", "192.168.1.20")}}
	const here = "http://127.0.0.1:8420"
	for _, ip := range []net.IP{net.IPv6unspecified, net.IPv4zero} {
		links, within := nas.Reach(&net.TCPAddr{IP: ip, Port: 8420}, here)
		require.Equal(t, []string{"http://192.168.1.20:8420", "http://nas:8420", here}, links)
		require.False(t, within)
	}
	links, within := nas.Reach(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420}, here)
	require.Equal(t, []string{here}, links)
	require.False(t, within)

	container := Machine{Name: "0123456789ab", Contained: true}
	links, within = container.Reach(&net.TCPAddr{IP: net.IPv6unspecified, Port: 8420}, here)
	require.Equal(t, []string{here}, links)
	require.True(t, within)
}
