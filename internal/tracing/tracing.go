// Package tracing sends runs and attempts as OpenTelemetry traces. A run is a trace, and each of its attempts at an
// upstream is a span. An attempt outside a run, such as that of a delivery or a sign-in, is a trace of its own.
//
// Tracing is off unless the standard environment variables of OpenTelemetry name a collector
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). All its settings are such variables: headers,
// sampling, the service's name. When the collector does not answer, spans are lost and a line is logged.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Tracer makes spans. A nil Tracer makes none. It is safe for concurrent use.
type Tracer struct {
	exporter *exporter
	from     []message // attributes of this process
	sampled  func(trace id) bool
	limits   limits
	batch    batch
	ended    chan message // spans that wait to be sent
	complain complaints
}

// Wanted reports whether the environment, as os.Environ returns it, names a collector.
func Wanted(environ []string) bool {
	env := func(name string) string {
		for _, line := range environ {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(env("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// New returns a Tracer that sends to the collector of the process's environment, by OTLP over HTTP.
func New(version string, log *slog.Logger) (*Tracer, error) {
	e := variables{}
	t := &Tracer{
		exporter: e.exporter(version), from: e.resource(version), sampled: e.sampler(), limits: e.limits(),
		batch: e.batch(), complain: complaints{log: log},
	}
	t.ended = make(chan message, t.batch.queue)
	if e.err != nil {
		return nil, fmt.Errorf("traces cannot be sent: %w", e.err)
	}
	return t, nil
}

// Began starts the trace of a run. The function that it returns ends it.
func (t *Tracer) Began(
	ctx context.Context, user int64, provider, stream string,
) (context.Context, func(library.Run)) {
	if t == nil {
		return ctx, func(library.Run) {}
	}
	s := t.start(nil, "sync "+provider+" "+stream, internalKind, time.Now())
	ctx = context.WithValue(ctx, spanKey{}, s)
	if s == nil {
		return ctx, func(library.Run) {}
	}
	s.number("user_id", user)
	s.text("provider", provider)
	s.text("stream", stream)
	return ctx, func(r library.Run) {
		if r.Result == "" {
			r.Result = "not let in"
		}
		s.text("result", r.Result)
		s.number("rows", int64(r.Rows))
		if !r.Words.IsZero() {
			s.text("category", r.Category)
			s.fail(r.Words.String())
		}
		t.end(s, time.Now())
	}
}

// Attempt makes the span of an attempt that has ended. A call that was not made, because of an open breaker, has none.
func (t *Tracer) Attempt(ctx context.Context, a resilience.Attempt) {
	if t == nil || a.Start.IsZero() {
		return
	}
	run, within := ctx.Value(spanKey{}).(*span)
	if within && run == nil {
		return
	}
	s := t.start(run, a.Endpoint, clientKind, a.Start)
	if s == nil {
		return
	}
	method, route, _ := strings.Cut(a.Endpoint, " ")
	s.number("user_id", a.User)
	s.text("provider", a.Provider)
	s.text("endpoint", a.Endpoint)
	s.number("attempt", int64(a.Number))
	s.text("outcome", string(a.Outcome))
	s.text("server.address", a.Host)
	s.text("http.request.method", method)
	s.text("http.route", route)
	if a.Key != "" {
		s.text("key", a.Key)
	}
	if status, err := strconv.Atoi(a.Status); err == nil {
		s.number("http.response.status_code", int64(status))
	}
	if a.Outcome != resilience.Success && a.Outcome != resilience.WasCanceled {
		s.text("category", a.Category.String())
		s.fail(a.Status)
	}
	t.end(s, a.Start.Add(a.Took))
}

// complaints logs errors of the collector, at most one an hour.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64
}

const complainEvery = time.Hour

func (c *complaints) about(err error) {
	now := time.Now().UnixNano()
	if last := c.last.Load(); now-last >= int64(complainEvery) && c.last.CompareAndSwap(last, now) {
		c.log.Warn("traces cannot be sent", "err", resilience.Excerpt(err.Error()))
	}
}
