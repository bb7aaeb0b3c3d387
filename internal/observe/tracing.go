package observe

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// Tracer makes spans. A nil Tracer makes none. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
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

// NewTracer returns a Tracer that sends to the collector of the process's environment, by OTLP over HTTP. A variable
// that OpenTelemetry's SDK cannot read has its default, and a line in the log.
func NewTracer(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	otel.SetErrorHandler(&complaints{log: log})
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces cannot be sent: %w", err)
	}
	service := resource.WithAttributes(
		attribute.String("service.name", "reprise"),
		attribute.String("service.version", version),
	)
	about, err := resource.New(ctx, service, resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about), sdk.WithIDGenerator(ids{}))
	return &Tracer{provider: p, tracer: p.Tracer("reprise")}, nil
}

// stopTime limits the wait for a collector to take the last spans.
const stopTime = 3 * time.Second

// Run sends spans until ctx ends, and then the remaining ones.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	<-ctx.Done()
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := t.provider.Shutdown(rest); err != nil {
		otel.Handle(err)
	}
	return nil
}

// Began starts the trace of a run. The function that it returns ends it.
func (t *Tracer) Began(
	ctx context.Context, user int64, provider, stream string,
) (context.Context, func(library.Run)) {
	if t == nil {
		return ctx, func(library.Run) {}
	}
	ctx, span := t.tracer.Start(ctx, "sync "+provider+" "+stream, trace.WithNewRoot(), trace.WithAttributes(
		attribute.Int64("user_id", user), attribute.String("provider", provider), attribute.String("stream", stream)))
	return ctx, func(r library.Run) {
		if r.Result == "" {
			r.Result = "not let in"
		}
		span.SetAttributes(attribute.String("result", r.Result), attribute.Int("rows", r.Rows))
		if !r.Words.IsZero() {
			span.SetAttributes(attribute.String("category", r.Category))
			span.SetStatus(codes.Error, r.Words.String())
		}
		span.End()
	}
}

// Attempt makes the span of an attempt that has ended. A call that was not made, because of an open breaker, has none.
func (t *Tracer) Attempt(ctx context.Context, a transport.Attempt) {
	if t == nil || a.Start.IsZero() {
		return
	}
	method, route, _ := strings.Cut(a.Endpoint, " ")
	_, span := t.tracer.Start(ctx, a.Endpoint,
		trace.WithTimestamp(a.Start),
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.Int64("user_id", a.User),
			attribute.String("provider", a.Provider),
			attribute.String("endpoint", a.Endpoint),
			attribute.Int("attempt", a.Number),
			attribute.String("outcome", string(a.Outcome)),
			attribute.String("server.address", a.Host),
			attribute.String("http.request.method", method),
			attribute.String("http.route", route),
		),
	)
	span.SetAttributes(deliveryOf(ctx)...)
	if a.Key != "" {
		span.SetAttributes(attribute.String("key", a.Key))
	}
	if status, err := strconv.Atoi(a.Status); err == nil {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if a.Outcome != transport.Success && a.Outcome != transport.WasCanceled {
		span.SetAttributes(attribute.String("category", a.Category.String()))
		span.SetStatus(codes.Error, a.Status)
	}
	span.End(trace.WithTimestamp(a.Start.Add(a.Took)))
}

// complaints logs what OpenTelemetry's SDK reports, at most one line an hour.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64
}

const complainEvery = time.Hour

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	now := time.Now().UnixNano()
	if last := c.last.Load(); now-last >= int64(complainEvery) && c.last.CompareAndSwap(last, now) {
		c.log.Warn("traces cannot be sent", "err", resilience.Excerpt(err.Error()))
	}
}
