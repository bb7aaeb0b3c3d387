package hosts

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostsThatNeedAContact(t *testing.T) {
	t.Parallel()
	p := Policy{NeedContact: []string{"listenbrainz.org", "musicbrainz.org"}}
	for host, lacks := range map[string]bool{"api.listenbrainz.org": true, "MusicBrainz.org:443": true,
		"listenbrainz.org.example": false, "notlistenbrainz.org": false, "127.0.0.1:8000": false} {
		require.Equal(t, lacks, p.LacksContact(host), host)
		with := p
		with.Contact = "me@example.org"
		require.False(t, with.LacksContact(host), host)
	}
}

func TestOrdinaryAddressesAreNotReserved(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "192.168.1.7", "10.0.0.1", "100.64.0.1", "fd00::1", "203.0.113.9", "::1",
		"2001:db8::1", "64:ff9b::c0a8:107"} {
		require.False(t, isReserved(netip.MustParseAddr(host)), host)
	}
}

// A proxy resolves names itself, and may be nearer to a cloud's machinery than we are.
func TestProxyIsNotAskedForMetadata(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:3128")
	for host, want := range map[string]bool{"169.254.169.254": true, "Metadata.Google.Internal": true,
		"metadata.google.internal.": true, "music.example.org": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/", nil)
		require.NoError(t, err)
		_, err = New(Policy{AllowPrivate: true}).proxy(req)
		require.Equal(t, want, err != nil, host)
	}
}
