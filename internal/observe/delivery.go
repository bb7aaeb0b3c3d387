package observe

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"reprise/internal/resilience"
)

// Delivery is a delivery, as its trace shows it.
type Delivery struct {
	ID, User int64
	Provider string
	Kind     string
	Created  time.Time // when what it sends was stored: there its trace begins
}

// deliveryKey is the key of the Delivery in the context of its attempts.
type deliveryKey struct{}

// deliveryOf returns the attribute of the delivery that ctx is about, if any.
func deliveryOf(ctx context.Context) []attribute.KeyValue {
	if d, ok := ctx.Value(deliveryKey{}).(Delivery); ok {
		return []attribute.KeyValue{attribute.Int64("delivery_id", d.ID)}
	}
	return nil
}

// ids generates random ids, except for the root of a delivery's trace. Its ids follow from the delivery, so that its
// attempts belong together over any number of restarts, and nothing has to be stored.
type ids struct{}

// NewIDs implements sdk.IDGenerator for the root of a trace.
func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if d, ok := ctx.Value(deliveryKey{}).(Delivery); ok {
		sum := sha256.Sum256(fmt.Appendf(nil, "delivery %d %d", d.ID, d.Created.Unix()))
		copy(s[:], sum[copy(t[:], sum[:]):])
		return t, s
	}
	rand.Read(t[:])
	rand.Read(s[:])
	return t, s
}

// NewSpanID implements sdk.IDGenerator for a span within a trace.
func (ids) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	rand.Read(s[:])
	return s
}

// Delivering starts the span of an attempt at a delivery, from 1. The function that it returns ends it, with its result
// (see metrics.DeliveryResults) and why it failed. A delivery is a trace: its root begins when it was stored, and is
// sent when it is done or dead.
func (t *Tracer) Delivering(
	ctx context.Context, d Delivery, attempt int,
) (context.Context, func(result string, why resilience.Category)) {
	if t == nil {
		return ctx, func(string, resilience.Category) {}
	}
	about := trace.WithAttributes(attribute.Int64("delivery_id", d.ID), attribute.Int64("user_id", d.User),
		attribute.String("provider", d.Provider), attribute.String("kind", d.Kind), attribute.Int("attempt", attempt))
	ctx = context.WithValue(ctx, deliveryKey{}, d)
	ctx, root := t.tracer.Start(ctx, "deliver "+d.Provider+" "+d.Kind, trace.WithNewRoot(),
		trace.WithTimestamp(d.Created), about)
	ctx, span := t.tracer.Start(ctx, "attempt "+d.Provider+" "+d.Kind, about)
	return ctx, func(result string, why resilience.Category) {
		ended := []trace.Span{span}
		if result == "done" || result == "dead" {
			ended = append(ended, root)
		}
		for _, s := range ended {
			s.SetAttributes(attribute.String("outcome", result))
			if why != resilience.None {
				s.SetAttributes(attribute.String("category", why.String()))
				s.SetStatus(codes.Error, why.String())
			}
			s.End()
		}
	}
}
