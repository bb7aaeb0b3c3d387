package tracing

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// request returns an ExportTraceServiceRequest with spans, which are all of one Tracer.
func request(spans []sdk.ReadOnlySpan) message {
	all := make([]message, len(spans))
	for i, s := range spans {
		all[i] = span(s)
	}
	from := spans[0]
	return message{{1, "resourceSpans", []message{{
		{1, "resource", message{{1, "attributes", attributes(from.Resource().Attributes())}}},
		{2, "scopeSpans", []message{{
			{1, "scope", message{{1, "name", from.InstrumentationScope().Name}}},
			{2, "spans", all},
		}}},
		{3, "schemaUrl", from.Resource().SchemaURL()},
	}}}}
}

// A span has neither events nor links; see [Tracer].
func span(s sdk.ReadOnlySpan) message {
	about, parent := s.SpanContext(), s.Parent()
	traceID, spanID := about.TraceID(), about.SpanID()
	m := message{
		{1, "traceId", id(traceID[:])},
		{2, "spanId", id(spanID[:])},
		{5, "name", s.Name()},
		{6, "kind", small(trace.ValidateSpanKind(s.SpanKind()))},
		{7, "startTimeUnixNano", nanos(s.StartTime().UnixNano())},
		{8, "endTimeUnixNano", nanos(s.EndTime().UnixNano())},
		{9, "attributes", attributes(s.Attributes())},
		{10, "droppedAttributesCount", small(s.DroppedAttributes())},
		{15, "status", status(s.Status())},
		{16, "flags", flags(about.TraceFlags())},
	}
	if parent.HasSpanID() {
		parentID := parent.SpanID()
		m = append(m, field{4, "parentSpanId", id(parentID[:])})
	}
	return m
}

// status has numbers of its own in OTLP.
func status(s sdk.Status) message {
	number := map[codes.Code]small{codes.Ok: 1, codes.Error: 2}
	return message{{2, "message", s.Description}, {3, "code", number[s.Code]}}
}

func attributes(of []attribute.KeyValue) []message {
	all := make([]message, len(of))
	for i, a := range of {
		all[i] = message{{1, "key", string(a.Key)}, {2, "value", value(a.Value)}}
	}
	return all
}

// value returns a value. Reprise has no lists.
func value(v attribute.Value) message {
	switch v.Type() {
	case attribute.INT64:
		return message{{3, "intValue", integer(v.AsInt64())}}
	case attribute.BOOL:
		return message{{2, "boolValue", v.AsBool()}}
	case attribute.FLOAT64:
		return message{{4, "doubleValue", v.AsFloat64()}}
	}
	return message{{1, "stringValue", v.String()}}
}
