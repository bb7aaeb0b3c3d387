package edge

import (
	"cmp"
	"net"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Machine is what others know of this machine in the network.
type Machine struct {
	Name      string // as other machines find it; empty if they do not
	Addresses []Address
	Contained bool // it is a container: its own network may be out of reach for others
}

// Address is an IP address of the machine.
type Address struct {
	Interface string // such as "eth0"
	IP        netip.Addr
}

// mostLinks is how many addresses [Machine.Links] returns at most.
const mostLinks = 4

// ThisMachine returns what the system says of itself. What it does not say is missing.
func ThisMachine() (m Machine) {
	m.Name, _ = os.Hostname()
	if exists("/run/avahi-daemon/socket") && !strings.Contains(m.Name, ".") {
		m.Name += ".local" // the name that Avahi answers for, whatever the router knows
	}
	m.Contained = exists("/.dockerenv") || exists("/run/.containerenv") || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	all, _ := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				m.Addresses = append(m.Addresses, Address{Interface: i.Name, IP: p.Addr().Unmap()})
			}
		}
	}
	return m
}

// OwnNames returns the names of this machine: the one on which a server listens, and the system's.
func OwnNames(listen string) (all []string) {
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		all = append(all, host)
	}
	if host, err := os.Hostname(); err == nil {
		all = append(all, host)
	}
	return all
}

func exists(path string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// Reach returns how browsers reach a server that listens at this address: the links, the most useful first. The last
// one is here, for those on this machine. within reports that it is a container which knows no address of its machine.
func (m Machine) Reach(listen net.Addr, here string) (links []string, within bool) {
	at, ok := listen.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return []string{here}, false
	}
	links = m.Links(strconv.Itoa(at.Port))
	return append(links, here), m.Contained && len(links) == 0
}

// Links returns the addresses at which the browsers of others reach a server that listens everywhere on this port: the
// machine's own in the household first, then its name. They are empty if the machine does not know any, as in a
// container.
func (m Machine) Links(port string) (links []string) {
	var four, six []Address
	for _, a := range m.Addresses {
		switch {
		case !m.reachable(a):
		case a.IP.Is4():
			four = append(four, a)
		default:
			six = append(six, a)
		}
	}
	if len(four) == 0 { // IPv6 addresses change and are hard to type
		four = six
	}
	slices.SortStableFunc(four, func(a, b Address) int { return cmp.Compare(nearness(a.IP), nearness(b.IP)) })
	hosts := make([]string, 0, mostLinks)
	for _, a := range four[:min(len(four), mostLinks-1)] {
		hosts = append(hosts, a.IP.String())
	}
	if m.named() {
		hosts = append(hosts, m.Name)
	}
	for _, host := range hosts {
		links = append(links, "http://"+net.JoinHostPort(host, port))
	}
	return links
}

// inner matches the interfaces that lead to containers and virtual machines on this one.
var inner = regexp.MustCompile(`^(docker|br-|veth|virbr|cni|flannel|cali|podman|lxc|lxd|vmnet|vboxnet|kube)`)

// bridges are the networks that Docker and Podman give to containers.
var bridges = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("10.88.0.0/16"),
	netip.MustParsePrefix("10.0.2.0/24")}

// reachable says whether others may reach an address.
func (m Machine) reachable(a Address) bool {
	if a.IP.IsLoopback() || a.IP.IsLinkLocalUnicast() || !a.IP.IsGlobalUnicast() || inner.MatchString(a.Interface) {
		return false
	}
	return !m.Contained || !slices.ContainsFunc(bridges, func(p netip.Prefix) bool { return p.Contains(a.IP) })
}

// nearness orders addresses: those of the household's network, then those of others.
func nearness(ip netip.Addr) int {
	switch {
	case ip.Is4() && ip.As4()[0] == 192:
		return 0
	case ip.IsPrivate():
		return 1
	}
	return 2
}

// random matches the names that Docker gives to containers.
var random = regexp.MustCompile(`^[0-9a-f]{12}$`)

// named says whether others may know the machine by its name.
func (m Machine) named() bool {
	name := strings.ToLower(m.Name)
	if name == "" || strings.HasPrefix(name, "localhost") || m.Contained && random.MatchString(name) {
		return false
	}
	// A container has its network's addresses if it shares that of its machine, and then its name, too.
	return !m.Contained || slices.ContainsFunc(m.Addresses, m.reachable)
}
