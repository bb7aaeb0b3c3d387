package tracing

import (
	"context"
	"time"
)

// batch says how spans are gathered.
type batch struct {
	queue, size    int
	delay, timeout time.Duration
}

// stopTime limits the wait for a collector to take the last spans.
const stopTime = 3 * time.Second

// Run sends spans until ctx ends, and then the remaining ones. While there are none it does nothing.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	defer t.exporter.client.CloseIdleConnections()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopTime, cancel) })()
	for {
		spans := t.gather(ctx)
		if len(spans) == 0 {
			return nil
		}
		if err := t.send(work, spans); err != nil {
			t.complain.about(err)
		}
	}
}

// gather waits for spans until there is a batch of them, or its delay is over. After ctx has ended it waits for none.
func (t *Tracer) gather(ctx context.Context) (spans []message) {
	var over <-chan time.Time
	for len(spans) < t.batch.size {
		select {
		case s := <-t.ended:
			if spans = append(spans, s); over == nil {
				over = time.After(t.batch.delay)
			}
		case <-over:
			return spans
		case <-ctx.Done():
			if len(t.ended) == 0 {
				return spans
			}
		}
	}
	return spans
}

func (t *Tracer) send(ctx context.Context, spans []message) error {
	ctx, cancel := context.WithTimeout(ctx, t.batch.timeout)
	defer cancel()
	return t.exporter.export(ctx, message{{1, "resourceSpans", []message{{
		{1, "resource", message{{1, "attributes", t.from}}},
		{2, "scopeSpans", []message{{
			{1, "scope", message{{1, "name", "reprise"}}},
			{2, "spans", spans},
		}}},
	}}}})
}
