package tracing

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// sent lets a Tracer of the environment send a run, and returns the request that a collector gets.
func sent(t *testing.T, srv *httptest.Server, got chan *http.Request) *http.Request {
	t.Helper()
	defer srv.Close()
	tracer, err := New("1.2.3", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, end := tracer.Began(t.Context(), 7, "spotify", "listens")
	end(library.Run{Result: "ok", Rows: 3})
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, tracer.Run(stop))
	require.NotEmpty(t, got)
	return <-got
}

// listening returns a handler that keeps the requests it gets, with their bodies.
func listening() (http.Handler, chan *http.Request) {
	got := make(chan *http.Request, 1)
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		got <- r
	}), got
}

func TestTracesInJSONWithHeaders(t *testing.T) {
	handler, got := listening()
	srv := httptest.NewServer(handler)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://nowhere.invalid")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", srv.URL+"/traces/of/mine")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=se%20cret, tenant = home")
	r := sent(t, srv, got)
	require.Equal(t, "/traces/of/mine", r.URL.Path)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Equal(t, "se cret", r.Header.Get("Api-Key"))
	require.Equal(t, "home", r.Header.Get("Tenant"))
	body, err := gzip.NewReader(r.Body)
	require.NoError(t, err)
	var in struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID           string `json:"traceId"`
					Name              string
					Kind              int
					StartTimeUnixNano string
					Attributes        []struct {
						Key   string
						Value map[string]string
					}
				}
			}
		}
	}
	require.NoError(t, json.NewDecoder(body).Decode(&in))
	span := in.ResourceSpans[0].ScopeSpans[0].Spans[0]
	require.Regexp(t, "^[0-9a-f]{32}$", span.TraceID)
	require.Equal(t, "sync spotify listens", span.Name)
	require.Equal(t, 1, span.Kind)
	require.Regexp(t, `^\d{19}$`, span.StartTimeUnixNano)
	require.Equal(t, map[string]string{"intValue": "7"}, span.Attributes[0].Value)
	require.Equal(t, map[string]string{"stringValue": "spotify"}, span.Attributes[1].Value)
}

// A timeout of 0 is none: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
func TestTracesWithoutATimeout(t *testing.T) {
	handler, got := listening()
	srv := httptest.NewServer(handler)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "0")
	require.Equal(t, "/v1/traces", sent(t, srv, got).URL.Path)
}

func TestTracesToACollectorWithItsOwnCA(t *testing.T) {
	handler, got := listening()
	srv := httptest.NewTLSServer(handler)
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, ca, 0o600))
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL+"/otlp/")
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
	require.Equal(t, "/otlp/v1/traces", sent(t, srv, got).URL.Path)
}

func TestBrokenVariablesAreNamed(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "localhost:4318",
		"OTEL_EXPORTER_OTLP_TIMEOUT":         "10s",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":  "se cret",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":     "/does/not/exist",
		"OTEL_RESOURCE_ATTRIBUTES":           "home",
		"OTEL_EXPORTER_OTLP_COMPRESSION":     "zstd",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
		"OTEL_TRACES_SAMPLER":                "sometimes",
		"OTEL_BSP_MAX_QUEUE_SIZE":            "-1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:4318")
			t.Setenv(name, value)
			_, err := New("1.2.3", slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), "se cret")
		})
	}
}

// The sampler decides for a run and its attempts together, and limits hold for each attribute.
func TestSamplersAndLimits(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "2")
	for sampler, share := range map[string]float64{"": 1, "always_off": 0, "parentbased_always_on": 1,
		"parentbased_traceidratio": .5} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
		tracer, err := New("1.2.3", slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		for range 1000 {
			ctx, end := tracer.Began(t.Context(), 7, "spotify", "listens")
			tracer.Attempt(ctx, resilience.Attempt{Start: time.Now(), Endpoint: "GET /v1/me"})
			end(library.Run{Result: "ok"})
		}
		require.InDelta(t, 2000*share, len(tracer.ended), 200, sampler)
		require.Zero(t, len(tracer.ended)%2, "a run without its attempt: %s", sampler)
		if share > 0 {
			<-tracer.ended
			var span spanpb.Span
			require.NoError(t, proto.Unmarshal((<-tracer.ended).appendTo(nil), &span))
			require.Equal(t, "spo", span.Attributes[1].Value.GetStringValue())
			require.Len(t, span.Attributes, 2)
			require.EqualValues(t, 3, span.DroppedAttributesCount)
		}
	}
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// exporterTo returns an exporter to a collector that answers so, and a request.
func exporterTo(a answering) (*exporter, message) {
	return &exporter{url: "http://collector", headers: http.Header{}, client: &http.Client{Transport: a}},
		message{{1, "resourceSpans", []message{{}}}}
}

func answer(status int, header http.Header, body string) *http.Response {
	return &http.Response{Status: http.StatusText(status), StatusCode: status, Header: header,
		Body: io.NopCloser(strings.NewReader(body))}
}

func TestABusyCollectorIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		e, spans := exporterTo(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			require.NoError(t, proto.Unmarshal(body, &spanpb.TracesData{}))
			if at = append(at, time.Now()); len(at) < 3 {
				return answer(503, http.Header{"Retry-After": {"20"}}, "soon"), nil
			}
			return answer(200, nil, ""), nil
		})
		require.NoError(t, e.export(t.Context(), spans))
		require.Len(t, at, 3)
		require.Equal(t, 20*time.Second, at[1].Sub(at[0]))
	})
}

func TestACollectorThatStaysBusyIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e, spans := exporterTo(func(*http.Request) (*http.Response, error) {
			return answer(429, http.Header{}, "too many"), nil
		})
		require.ErrorContains(t, e.export(t.Context(), spans), "too many")
		require.LessOrEqual(t, time.Since(began), time.Minute)
		require.Greater(t, time.Since(began), 20*time.Second)
	})
}

func TestWhatACollectorDoesNotTakeIsAnError(t *testing.T) {
	t.Parallel()
	// an ExportTraceServiceResponse with partial_success {rejected_spans: 4, error_message: "full"}
	refused := string(message{{1, "", message{{1, "", integer(4)}, {2, "", "full"}}}}.appendTo(nil))
	for name, respond := range map[string]answering{
		"in protobuf": func(*http.Request) (*http.Response, error) { return answer(200, nil, refused), nil },
		"in JSON": func(*http.Request) (*http.Response, error) {
			return answer(200, nil, `{"partialSuccess":{"rejectedSpans":"4","errorMessage":"full"}}`), nil
		},
	} {
		e, spans := exporterTo(respond)
		e.json = name == "in JSON"
		require.EqualError(t, e.export(t.Context(), spans), "the collector has not taken 4 spans: full", name)
	}
	calls := 0
	e, spans := exporterTo(func(*http.Request) (*http.Response, error) {
		calls++
		return answer(400, nil, "what is this?"), nil
	})
	require.ErrorContains(t, e.export(t.Context(), spans), "what is this?")
	require.Equal(t, 1, calls)
	e, spans = exporterTo(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
	require.ErrorContains(t, e.export(t.Context(), spans), "no route")
}
