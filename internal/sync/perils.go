package sync

import (
	"context"
	"log/slog"
	"sync"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// mostCrashes is how many times in a row the process may end in the runs of a stream before the stream is set aside.
const mostCrashes = 3

// perilStore keeps in which runs the process has ended.
type perilStore interface {
	Crashes(context.Context) ([]library.Crash, error)
	MarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error
	UnmarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error
}

// perils knows the runs in which the process has ended. Only what has to do with a large answer can end it, so that a
// run is marked in the store while it has its first one since the start, and not at all once a run of its stream has
// survived that. However the run ends, the mark is taken off: only a process that was ended leaves it.
type perils struct {
	store perilStore
	log   *slog.Logger

	mu       sync.Mutex
	crashes  map[Key]int  // before this start, and in no run since
	survived map[Key]bool // streams that had a large answer since the start
}

// load reads which runs have ended the process before.
func (p *perils) load(ctx context.Context) error {
	all, err := p.store.Crashes(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashes, p.survived = map[Key]int{}, map[Key]bool{}
	for _, c := range all {
		p.crashes[Key{c.User, c.Connection, c.Stream}] = c.Times
	}
	return nil
}

// enter begins a run, whose end calls leave. The error is a *resilience.SetAsideError if the process has ended in each
// of the latest runs of the stream; the next one may try again.
func (p *perils) enter(ctx context.Context, k Key) (leave func(), err error) {
	p.mu.Lock()
	times, safe := p.crashes[k], p.survived[k]
	p.mu.Unlock()
	large := false
	leave = func() {
		if large || times > 0 {
			p.unmark(ctx, k, large)
		}
	}
	if times >= mostCrashes {
		leave()
		return nil, &resilience.SetAsideError{Times: times}
	}
	if !safe {
		resilience.BeforeLarge(ctx, func(ctx context.Context) error {
			large = true
			return p.store.MarkRun(ctx, k.User, k.Connection, k.Stream)
		})
	}
	return leave, nil
}

func (p *perils) unmark(ctx context.Context, k Key, large bool) {
	if err := p.store.UnmarkRun(context.WithoutCancel(ctx), k.User, k.Connection, k.Stream); err != nil {
		p.log.Error("mark of a run cannot be removed", "user_id", k.User, "provider", k.Connection, "stream", k.Stream,
			"err", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.crashes, k)
	if large {
		p.survived[k] = true
	}
}
