package tracing

import (
	"crypto/rand"
	"time"
	"unicode/utf8"
)

// The values of OTLP for kinds and outcomes.
const (
	internalKind small = 1
	clientKind   small = 3
	failed       small = 2
)

// span is one that has begun. A nil span is not sampled: it is not sent, nor is what happens within it.
type span struct {
	trace, id, parent id
	name              string
	kind              small
	start             time.Time
	about             []message // attributes
	problem           message   // the status of a failure
}

// spanKey is the key of the span in a context.
type spanKey struct{}

// start begins a span within another one, or a trace of its own. It returns nil for a trace that is not sampled.
func (t *Tracer) start(within *span, name string, kind small, at time.Time) *span {
	s := &span{id: make(id, 8), name: name, kind: kind, start: at}
	rand.Read(s.id)
	if within != nil {
		s.trace, s.parent = within.trace, within.id
		return s
	}
	s.trace = make(id, 16)
	rand.Read(s.trace)
	if !t.sampled(s.trace) {
		return nil
	}
	return s
}

// text adds an attribute.
func (s *span) text(key, value string) { s.about = append(s.about, text(key, value)) }

func text(key, value string) message {
	return message{{1, "key", key}, {2, "value", message{{1, "stringValue", value}}}}
}

// number adds an attribute.
func (s *span) number(key string, value int64) {
	s.about = append(s.about, message{{1, "key", key}, {2, "value", message{{3, "intValue", integer(value)}}}})
}

func (s *span) fail(why string) { s.problem = message{{2, "message", why}, {3, "code", failed}} }

// end queues a span to be sent. It drops it when the queue is full.
func (t *Tracer) end(s *span, at time.Time) {
	about, dropped := t.limits.cut(s.about)
	m := message{
		{1, "traceId", s.trace},
		{2, "spanId", s.id},
		{5, "name", s.name},
		{6, "kind", s.kind},
		{7, "startTimeUnixNano", nanos(s.start.UnixNano())},
		{8, "endTimeUnixNano", nanos(at.UnixNano())},
		{9, "attributes", about},
		{10, "droppedAttributesCount", small(dropped)},
		{15, "status", s.problem},
		{16, "flags", flags(1)}, // sampled
	}
	if s.parent != nil {
		m = append(m, field{4, "parentSpanId", s.parent})
	}
	select {
	case t.ended <- m:
	default:
	}
}

// limits bound the attributes of a span.
type limits struct {
	count  int
	length int // of a text, in characters; negative for none
}

// cut returns the attributes that are within the limits, and how many are not.
func (l limits) cut(about []message) (kept []message, dropped int) {
	kept = about[:min(len(about), l.count)]
	for _, a := range kept {
		value := a[1].value.(message)
		if v, ok := value[0].value.(string); ok && l.length >= 0 && utf8.RuneCountInString(v) > l.length {
			value[0].value = string([]rune(v)[:l.length])
		}
	}
	return kept, len(about) - len(kept)
}
