package observe

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// collector is a collector for one test, which speaks OTLP over HTTP.
type collector struct {
	mu    sync.Mutex
	spans []*spanpb.Span
	from  map[string]string // the resource's attributes
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in spanpb.TracesData // has the fields of an ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range in.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			c.from[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

func TestARunIsATraceAndAnAttemptASpan(t *testing.T) {
	c := &collector{from: map[string]string{}}
	srv := httptest.NewServer(c)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=home")
	tracer, err := NewTracer(t.Context(), "1.2.3", slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	ctx, end := tracer.Began(t.Context(), 7, "spotify", "listens")
	start := time.Now().Add(-time.Second)
	tracer.Attempt(ctx, transport.Attempt{
		User:     7,
		Provider: "spotify",
		Host:     "api.spotify.com",
		Endpoint: "GET /v1/me",
		Number:   1,
		Start:    start,
		Took:     250 * time.Millisecond,
		Status:   "503",
		Outcome:  transport.WasRetriable,
		Category: resilience.Upstream,
	})
	notMade := transport.Attempt{Provider: "spotify", Endpoint: "GET /v1/me", Outcome: transport.BreakerStood}
	tracer.Attempt(ctx, notMade)
	end(library.Run{Result: "retriable", Category: "upstream", Words: words.Plain("Spotify has trouble")})
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, tracer.Run(stop))

	require.Len(t, c.spans, 2)
	attempt, run := c.spans[0], c.spans[1]
	require.Equal(t, "sync spotify listens", run.Name)
	require.Empty(t, run.ParentSpanId, "a run is the root of its trace")
	require.Equal(t, "Spotify has trouble", run.Status.Message)
	require.Equal(t, "GET /v1/me", attempt.Name)
	require.Equal(t, run.SpanId, attempt.ParentSpanId)
	require.Equal(t, run.TraceId, attempt.TraceId)
	require.EqualValues(t, 250*time.Millisecond, attempt.EndTimeUnixNano-attempt.StartTimeUnixNano)
	about := map[string]string{}
	for _, a := range attempt.Attributes {
		about[a.Key] = a.Value.String()
	}
	require.Contains(t, about["http.response.status_code"], "503")
	require.Contains(t, about["outcome"], "retriable")
	require.Equal(t, "reprise", c.from["service.name"])
	require.Equal(t, "1.2.3", c.from["service.version"])
	require.Equal(t, "home", c.from["deployment.environment.name"])
}

func TestNoCollectorNoTraces(t *testing.T) {
	t.Parallel()
	require.False(t, Wanted(nil))
	require.False(t, Wanted([]string{"OTEL_EXPORTER_OTLP_ENDPOINT="}))
	require.True(t, Wanted([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"}))
	require.True(t, Wanted([]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces"}))
	require.False(t, Wanted([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318", "OTEL_SDK_DISABLED=true"}))
	var none *Tracer
	ctx, end := none.Began(t.Context(), 1, "spotify", "listens")
	require.Equal(t, t.Context(), ctx)
	end(library.Run{})
	none.Attempt(ctx, transport.Attempt{Start: time.Now()})
	require.NoError(t, none.Run(ctx))
}

func TestAMissingCollectorIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &complaints{log: slog.New(slog.NewTextHandler(&out, nil))}
	for range 5 {
		c.Handle(errors.New("connection refused"))
	}
	require.Equal(t, 1, strings.Count(out.String(), "traces cannot be sent"))
}

// spansOf returns what a collector gets of what happens in story.
func spansOf(t *testing.T, story func(*Tracer)) []*spanpb.Span {
	t.Helper()
	c := &collector{from: map[string]string{}}
	srv := httptest.NewServer(c)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	tracer, err := NewTracer(t.Context(), "1.2.3", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	story(tracer)
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, tracer.Run(stop))
	return c.spans
}

// TestADeliveryIsOneTrace: what was stored an hour ago fails, the server restarts, and the second attempt succeeds.
func TestADeliveryIsOneTrace(t *testing.T) {
	d := Delivery{ID: 41, User: 7, Provider: "listenbrainz", Kind: "submit_listens",
		Created: time.Now().Add(-time.Hour)}
	attempt := func(n int, result string, why resilience.Category) func(*Tracer) {
		return func(tracer *Tracer) {
			ctx, end := tracer.Delivering(t.Context(), d, n)
			tracer.Attempt(ctx, transport.Attempt{Start: time.Now(), Endpoint: "POST /1/submit-listens", Number: n})
			end(result, why)
		}
	}
	spans := spansOf(t, attempt(1, "retrying", resilience.Upstream))
	require.Len(t, spans, 2, "the delivery is not over")
	spans = append(spans, spansOf(t, attempt(2, "done", resilience.None))...)
	require.Len(t, spans, 5)
	root := spans[4]
	require.Equal(t, "deliver listenbrainz submit_listens", root.Name)
	require.Empty(t, root.ParentSpanId)
	require.EqualValues(t, d.Created.UnixNano(), root.StartTimeUnixNano, "from the play that caused it")
	for i, s := range spans {
		require.Equal(t, root.TraceId, s.TraceId)
		id := slices.IndexFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.Key == "delivery_id" })
		require.EqualValues(t, 41, s.Attributes[id].Value.GetIntValue())
		if i%2 == 0 && i < 4 { // a call, before the attempt that made it
			require.Equal(t, "POST /1/submit-listens", s.Name)
			require.Equal(t, spans[i+1].SpanId, s.ParentSpanId)
			require.Equal(t, root.SpanId, spans[i+1].ParentSpanId)
		}
	}
	require.Equal(t, "upstream", spans[1].Status.Message)
	d.ID = 42
	require.NotEqual(t, root.TraceId, spansOf(t, attempt(1, "done", resilience.None))[0].TraceId)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	require.Empty(t, spansOf(t, attempt(3, "done", resilience.None)))
}
