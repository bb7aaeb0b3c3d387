package main

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/server/edge"
)

// The links that are printed are those by which others reach the machine.
func TestPrintedLinksLeadHereFromElsewhere(t *testing.T) {
	t.Parallel()
	nas := edge.Machine{Name: "nas", Addresses: []edge.Address{
		{Interface: "docker0", IP: netip.MustParseAddr("172.17.0.1")},
		{Interface: "eth0", IP: netip.MustParseAddr("192.168.1.20")}}}
	everywhere := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8420}
	for _, at := range []net.Addr{everywhere, &net.TCPAddr{IP: net.IPv4zero, Port: 8420}} {
		require.Equal(t, []string{"http://192.168.1.20:8420", "http://nas:8420", "http://127.0.0.1:8420"},
			reachOf(at, "http://127.0.0.1:8420", nas).links)
	}
	require.Equal(t, []string{"http://127.0.0.1:8420"},
		reachOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420}, "http://127.0.0.1:8420", nas).links)

	var out, logged bytes.Buffer
	announce(config.Config{BaseURL: "http://127.0.0.1:8420", Listen: ":8420", Contact: "me@example.org"},
		reachOf(everywhere, "http://127.0.0.1:8420", nas), "CODE", slog.New(slog.NewJSONHandler(&logged, nil)), &out)
	require.Equal(t, `
Reprise is ready. Create the first account here:

  http://192.168.1.20:8420/setup?code=CODE
  http://nas:8420/setup?code=CODE
  http://127.0.0.1:8420/setup?code=CODE  (on this machine)

`, out.String())
	require.Contains(t, logged.String(),
		`"links":["http://192.168.1.20:8420","http://nas:8420","http://127.0.0.1:8420"]`)
	require.NotContains(t, logged.String(), "CODE", "it is a secret")

	out.Reset()
	within := reachOf(everywhere, "http://127.0.0.1:8420", edge.Machine{Name: "0123456789ab", Contained: true})
	announce(config.Config{Contact: "me@example.org"}, within, "", slog.New(slog.DiscardHandler), &out)
	require.Contains(t, out.String(), "\n  http://127.0.0.1:8420\n")
	require.Contains(t, out.String(), "the machine that runs this container")
}
