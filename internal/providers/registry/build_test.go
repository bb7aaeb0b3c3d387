package registry_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/transport"
)

// sink keeps the last body that was sent, and says that all is well.
type sink struct{ body string }

func (s *sink) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	s.body = string(b)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"status":"ok"}`)), ContentLength: -1, Request: req}, err
}

// ListenBrainz hears by its domain which streaming service a play is from.
func TestStreamingServicesAreNamedToOthers(t *testing.T) {
	t.Parallel()
	far := &sink{}
	client := transport.NewClient(&transport.Transport{Base: far})
	d := registry.Describe("listenbrainz")
	settings, err := d.Read(nil)
	require.NoError(t, err)
	p, err := registry.Builder{Client: client}.Build(t.Context(), d, settings, "", backoff.Options{})
	require.NoError(t, err)
	taker := p.Open(resilience.Call{Client: client},
		library.Credentials{"token": "t", "user": "geoff"}).(providers.ListenTaker)
	for source, domain := range map[library.ConnectionID]string{"spotify": "spotify.com", "youtube": "youtube.com"} {
		_, err = taker.Submit(t.Context(), []library.StoredListen{{Listen: library.Listen{PlayedAt: time.Now(),
			Track: library.Track{Title: "Jóga", Artist: "Björk"}}, Sources: []library.Source{{Connection: source}}}})
		require.NoError(t, err)
		require.Contains(t, far.body, `"music_service":"`+domain+`"`)
	}
}
