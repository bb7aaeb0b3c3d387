package resilience

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostsThatNeedAContact(t *testing.T) {
	t.Parallel()
	p := HostPolicy{NeedContact: []string{"listenbrainz.org", "musicbrainz.org"}}
	for host, lacks := range map[string]bool{"api.listenbrainz.org": true, "MusicBrainz.org:443": true,
		"listenbrainz.org.example": false, "notlistenbrainz.org": false, "127.0.0.1:8000": false} {
		require.Equal(t, lacks, p.LacksContact(host), host)
		with := p
		with.Contact = "me@example.org"
		require.False(t, with.LacksContact(host), host)
	}
}
