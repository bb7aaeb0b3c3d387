package resilience

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReservedAddressesAreNeverCalled(t *testing.T) {
	t.Parallel()
	client := NewClient(&Transport{Base: HostPolicy{AllowPrivate: true, Contact: "me@example.org"}.NewBase()})
	for _, host := range []string{"169.254.169.254", "169.254.1.1:8080", "[fe80::1]", "100.100.100.200",
		"[fd00:ec2::254]", "168.63.129.16", "0.0.0.0:4533", "[::]:4533", "0.1.2.3", "224.0.0.1", "[ff02::1]",
		"255.255.255.255", "240.0.0.1",
		"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::169.254.169.254]"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
		require.NoError(t, err)
		_, err = Call{Client: client}.Send(req, Endpoint{Name: "GET /"})
		var refused *SettingError
		require.ErrorAs(t, err, &refused, host)
		require.Equal(t, hostReserved, refused.Problem, host)
	}
	for _, host := range []string{"127.0.0.1", "192.168.1.7", "10.0.0.1", "100.64.0.1", "fd00::1", "203.0.113.9", "::1",
		"2001:db8::1", "64:ff9b::c0a8:107"} {
		require.False(t, isReserved(netip.MustParseAddr(host)), host)
	}
}

func TestServerDoesNotCallItself(t *testing.T) {
	t.Parallel()
	itself := httptest.NewServer(http.NotFoundHandler())
	defer itself.Close()
	port := itself.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	dial := HostPolicy{AllowPrivate: true, OwnPort: port}.Dial()
	_, err := dial(t.Context(), "tcp", itself.Listener.Addr().String())
	require.ErrorIs(t, err, errOwn)
	conn, err := HostPolicy{AllowPrivate: true, OwnPort: port + 1}.Dial()(t.Context(), "tcp",
		itself.Listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// A proxy resolves names itself, and may be nearer to a cloud's machinery than we are.
func TestProxyIsNotAskedForMetadata(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:3128")
	for host, want := range map[string]bool{"169.254.169.254": true, "Metadata.Google.Internal": true,
		"metadata.google.internal.": true, "music.example.org": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
		require.NoError(t, err)
		_, err = NewHosts(HostPolicy{AllowPrivate: true}).proxy(req)
		require.Equal(t, want, err != nil, host)
	}
}
