package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/resilience"
)

// Quarter is what was counted of one endpoint in 15 minutes.
type Quarter struct {
	Start    time.Time // a full quarter of an hour, UTC
	Provider string
	Endpoint string // as in the labels of /metrics
	Attempts int    // that were made and not canceled
	Failures int    // of these
	Refused  int    // calls that an open breaker ended; no attempts
	Took     time.Duration
	Open     time.Duration // how long its breaker was not closed
}

// The roll-up's size: what a person looks back at, by the quarter of an hour.
const (
	QuarterLength = 15 * time.Minute
	KeepQuarters  = 14 * 24 * time.Hour
)

// RollupStore keeps quarters.
type RollupStore interface {
	// AddQuarters adds to what is stored of the same quarters.
	AddQuarters(context.Context, []Quarter) error
	// Quarters returns those that began at an instant or later, by their start.
	Quarters(ctx context.Context, since time.Time) ([]Quarter, error)
}

// Rollup adds attempts up by the quarter of an hour. Safe for concurrent use.
type Rollup struct {
	names map[place]string
	store RollupStore
	log   *slog.Logger

	mu    sync.Mutex
	cells map[cellKey]*Quarter // not stored yet
	open  map[cellKey]since    // breakers that are not closed; the start of their keys is zero
}

type cellKey struct {
	start              time.Time
	provider, endpoint string
}

// since is from when on the time of breakers that are not closed is not counted yet. Hosts that share a name count once.
type since struct {
	at    time.Time
	hosts map[string]bool
}

// NewRollup returns a Rollup of the catalogue's endpoints.
func NewRollup(c Catalogue, store RollupStore, log *slog.Logger) *Rollup {
	return &Rollup{names: c.names(), store: store, log: log, cells: map[cellKey]*Quarter{}, open: map[cellKey]since{}}
}

func (r *Rollup) name(provider, host, endpoint string) cellKey {
	name, ok := find(r.names, provider, host, endpoint)
	if !ok {
		name = other
	}
	return cellKey{provider: provider, endpoint: name}
}

func (r *Rollup) cellLocked(k cellKey, at time.Time) *Quarter {
	k.start = at.UTC().Truncate(QuarterLength)
	c := r.cells[k]
	if c == nil {
		c = &Quarter{Start: k.start, Provider: k.provider, Endpoint: k.endpoint}
		r.cells[k] = c
	}
	return c
}

// Attempt adds an attempt to the quarter of an hour in which it ended.
func (r *Rollup) Attempt(a resilience.Attempt) {
	if a.Outcome == resilience.WasCanceled {
		return
	}
	k, now := r.name(a.Provider, a.Host, a.Endpoint), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.cellLocked(k, now)
	if a.Start.IsZero() {
		c.Refused++
		return
	}
	c.Attempts++
	c.Took += a.Took
	if a.Outcome != resilience.Success {
		c.Failures++
	}
}

// Breaker notes a change of a breaker's state.
func (r *Rollup) Breaker(ch resilience.BreakerChange) {
	k, now := r.name(ch.Provider, ch.Host, ch.Route), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, was := r.open[k]
	switch {
	case ch.To == resilience.BreakerClosed && was:
		delete(s.hosts, ch.Host)
		if len(s.hosts) == 0 {
			r.passLocked(k, s.at, now)
			delete(r.open, k)
		}
	case ch.To != resilience.BreakerClosed && was:
		s.hosts[ch.Host] = true
	case ch.To != resilience.BreakerClosed:
		r.open[k] = since{at: now, hosts: map[string]bool{ch.Host: true}}
	}
}

// passLocked adds the time in which a breaker was not closed to the quarters that it lies in.
func (r *Rollup) passLocked(k cellKey, from, to time.Time) {
	for from.Before(to) {
		c := r.cellLocked(k, from)
		end := c.Start.Add(QuarterLength)
		if to.Before(end) {
			end = to
		}
		c.Open += end.Sub(from)
		from = end
	}
}

// Run stores what has been counted every quarter of an hour, and when ctx ends.
func (r *Rollup) Run(ctx context.Context) error {
	for {
		next := time.NewTimer(time.Until(time.Now().Truncate(QuarterLength).Add(QuarterLength)))
		select {
		case <-ctx.Done():
			next.Stop()
			r.keep(context.WithoutCancel(ctx))
			return nil
		case <-next.C:
			r.keep(ctx)
		}
	}
}

func (r *Rollup) keep(ctx context.Context) {
	if err := r.Flush(ctx); err != nil {
		r.log.Error("roll-up cannot be stored", "err", err)
	}
}

// Flush stores what has been counted. What cannot be stored now is kept for the next time.
func (r *Rollup) Flush(ctx context.Context) error {
	now := time.Now()
	r.mu.Lock()
	for k, s := range r.open {
		r.passLocked(k, s.at, now)
		r.open[k] = since{at: now, hosts: s.hosts}
	}
	cells := r.cells
	r.cells = map[cellKey]*Quarter{}
	r.mu.Unlock()
	if len(cells) == 0 {
		return nil
	}
	quarters := make([]Quarter, 0, len(cells))
	for _, c := range cells {
		quarters = append(quarters, *c)
	}
	err := r.store.AddQuarters(ctx, quarters)
	if err != nil {
		r.takeBack(quarters)
	}
	return err
}

// takeBack counts quarters again that could not be stored, unless they are older than anybody looks back.
func (r *Rollup) takeBack(quarters []Quarter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range quarters {
		if time.Since(q.Start) > KeepQuarters {
			continue
		}
		c := r.cellLocked(cellKey{provider: q.Provider, endpoint: q.Endpoint}, q.Start)
		c.Attempts, c.Failures, c.Refused = c.Attempts+q.Attempts, c.Failures+q.Failures, c.Refused+q.Refused
		c.Took, c.Open = c.Took+q.Took, c.Open+q.Open
	}
}

// Since returns the quarters that began at an instant or later, with what has been counted up to now.
func (r *Rollup) Since(ctx context.Context, at time.Time) ([]Quarter, error) {
	if err := r.Flush(ctx); err != nil {
		return nil, err
	}
	return r.store.Quarters(ctx, at)
}
