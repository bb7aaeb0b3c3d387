package sync

import (
	"context"
	"log/slog"
	"sync"

	"reprise/internal/alerts"
	"reprise/internal/library"
	"reprise/internal/resilience/turns"
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
// run is marked in the store before the first one since the start, and not at all once a run of its stream has survived
// that. However the run ends, the mark is taken off: only a process that was ended leaves it. New listens take it off,
// too, until the next large answer: the run after a restart goes on behind them.
type perils struct {
	store perilStore
	log   *slog.Logger

	mu       sync.Mutex
	crashes  map[Key]int  // before this start, and in no run since
	marked   map[Key]bool // runs under way with a large answer, and whether they are marked in the store
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
	p.crashes, p.marked, p.survived = map[Key]int{}, map[Key]bool{}, map[Key]bool{}
	for _, c := range all {
		p.crashes[Key{c.User, c.Connection, c.Stream}] = c.Times
	}
	return nil
}

// reload is load for streams that another server has read until now.
func (p *perils) reload(ctx context.Context, these map[Key]bool) error {
	all, err := p.store.Crashes(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		if k := (Key{c.User, c.Connection, c.Stream}); these[k] {
			p.crashes[k] = c.Times
			delete(p.survived, k)
		}
	}
	return nil
}

// enter begins a run, whose end calls leave. The error is a *alerts.SetAsideError if the process has ended in each
// of the latest runs of the stream; the next one may try again.
func (p *perils) enter(ctx context.Context, turn *turns.Turn, k Key) (leave func(), err error) {
	p.mu.Lock()
	times, safe := p.crashes[k], p.survived[k]
	p.mu.Unlock()
	leave = func() { p.unmark(ctx, k, true) }
	if times >= mostCrashes {
		leave()
		return nil, &alerts.SetAsideError{Times: times}
	}
	if !safe {
		p.watch(turn, k)
	}
	return leave, nil
}

// watch marks the run before its next large answer.
func (p *perils) watch(turn *turns.Turn, k Key) {
	turn.BeforeLarge(func(ctx context.Context) error {
		p.mu.Lock()
		p.marked[k] = true
		p.mu.Unlock()
		return p.store.MarkRun(ctx, k.User, k.Connection, k.Stream)
	})
}

// progress notes that a run has stored something new.
func (p *perils) progress(ctx context.Context, turn *turns.Turn, k Key) {
	if p.unmark(ctx, k, false) {
		p.watch(turn, k)
	}
}

// unmark takes off the mark of a run, and forgets the crashes before it if it has ended or was marked; it reports
// whether it was.
func (p *perils) unmark(ctx context.Context, k Key, ended bool) (marked bool) {
	p.mu.Lock()
	marked, large := p.marked[k]
	some := marked || ended && p.crashes[k] > 0
	p.mu.Unlock()
	if some {
		if err := p.store.UnmarkRun(context.WithoutCancel(ctx), k.User, k.Connection, k.Stream); err != nil {
			p.log.Error("mark of a run cannot be removed", "user_id", k.User, "provider", k.Connection,
				"stream", k.Stream, "err", err)
			return marked
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if some {
		delete(p.crashes, k)
	}
	if large {
		p.marked[k] = false
	}
	if large && ended {
		delete(p.marked, k)
		p.survived[k] = true
	}
	return marked
}
