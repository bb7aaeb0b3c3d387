package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reprise/internal/demo"
)

// A collector named in the environment receives each run with its attempts.
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
	require.NoError(t, p.stop(syscall.SIGTERM))
}
