package hosts_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

func TestReservedAddressesAreNeverCalled(t *testing.T) {
	t.Parallel()
	client := transport.NewClient(&transport.Transport{Base: hosts.Policy{AllowPrivate: true,
		Contact: "me@example.org"}.NewBase()})
	for _, host := range []string{"169.254.169.254", "169.254.1.1:8080", "[fe80::1]", "100.100.100.200",
		"[fd00:ec2::254]", "168.63.129.16", "0.0.0.0:4533", "[::]:4533", "0.1.2.3", "224.0.0.1", "[ff02::1]",
		"255.255.255.255", "240.0.0.1",
		"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::169.254.169.254]"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
		require.NoError(t, err)
		_, err = resilience.Call{Client: client}.Send(req, resilience.Endpoint{Name: "GET /"})
		var refused *resilience.SettingError
		require.ErrorAs(t, err, &refused, host)
		require.Equal(t, "host.reserved", refused.Problem.String(), host)
	}
}

func TestServerDoesNotCallItself(t *testing.T) {
	t.Parallel()
	itself := httptest.NewServer(http.NotFoundHandler())
	defer itself.Close()
	port := itself.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	dial := hosts.Policy{AllowPrivate: true, OwnPort: port}.Dial()
	_, err := dial(t.Context(), "tcp", itself.Listener.Addr().String())
	var refused *resilience.SettingError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "host.own", refused.Problem.String())
	conn, err := hosts.Policy{AllowPrivate: true, OwnPort: port + 1}.Dial()(t.Context(), "tcp",
		itself.Listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
