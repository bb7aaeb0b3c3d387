package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reprise/internal/demo"
)

// Promise: A collector named in the environment receives each run, and each delivery, with its attempts.
func TestTracesReachACollector(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var spans []*spanpb.Span
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in spanpb.TracesData // has the fields of an ExportTraceServiceRequest
		if proto.Unmarshal(body, &in) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range in.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}))
	defer collector.Close()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_BSP_SCHEDULE_DELAY=100")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.eventually("a run with an attempt in it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		runs := map[string]bool{}
		for _, s := range spans {
			if s.Name == "sync listenbrainz listens" {
				runs[string(s.SpanId)] = true
			}
		}
		for _, s := range spans {
			if s.Name == "GET /1/user/{name}/listens" && runs[string(s.ParentSpanId)] {
				return true
			}
		}
		return false
	})
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	v.call("PUT", "/connections/navidrome/forwarding", object{"earlier": true}, 200)
	v.eventually("a delivery, with an attempt and its calls in it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		by := map[string]*spanpb.Span{}
		for _, s := range spans {
			by[string(s.SpanId)] = s
		}
		return slices.ContainsFunc(spans, func(call *spanpb.Span) bool {
			attempt := by[string(call.ParentSpanId)]
			if attempt == nil || attempt.Name != "attempt navidrome scrobble" {
				return false
			}
			delivery := by[string(attempt.ParentSpanId)]
			return delivery != nil && delivery.Name == "deliver navidrome scrobble" &&
				delivery.StartTimeUnixNano < attempt.StartTimeUnixNano
		})
	})
	require.NoError(t, p.stop(syscall.SIGTERM))
}
