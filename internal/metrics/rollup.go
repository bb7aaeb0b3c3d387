package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// Quarter is the tally of one endpoint in a quarter of an hour.
type Quarter struct {
	Start    time.Time // a full quarter of an hour, UTC
	Provider string
	Endpoint string // as in the labels of /metrics
	Tally
}

// The resolution of the roll-up, and how far back it goes.
const (
	QuarterLength = 15 * time.Minute
	KeepQuarters  = 14 * 24 * time.Hour
)

// RollupStore keeps quarters.
type RollupStore interface {
	// AddQuarters adds tallies to the stored ones of the same quarters.
	AddQuarters(context.Context, []Quarter) error
	// Quarters returns the quarters that began between from, inclusive, and to, exclusive, by their start. Before them
	// it returns one quarter per endpoint that sums up the time between usual and from, with usual as its start.
	Quarters(ctx context.Context, usual, from, to time.Time) ([]Quarter, error)
	// Hours returns the tallies of a provider's endpoints together by the hour since from, which is a full one; of
	// every provider if the name is empty.
	Hours(ctx context.Context, provider string, from time.Time) ([]Quarter, error)
}

// Rollup sums up attempts by the quarter of an hour. It is safe for concurrent use.
type Rollup struct {
	names endpoints[string]
	store RollupStore
	log   *slog.Logger

	storing sync.Mutex // held while counts move to the store, so that readers find each once
	usual   usual      // the sums that were read last
	hours   past
	latest  past // quarters of the last day

	mu    sync.Mutex
	cells map[cellKey]*Quarter // not stored yet
	open  map[cellKey]since    // breakers that are not closed; their keys have no start
}

type cellKey struct {
	start              time.Time
	provider, endpoint string
}

// since is the time from which an open breaker is not counted yet. Hosts that share a name count once.
type since struct {
	at    time.Time
	hosts map[string]bool
}

// usual caches the sums of a past time, so that they are read at most once in a quarter of an hour.
type usual struct {
	from, to time.Time
	sums     []Quarter
}

// past holds what was counted in a time that is over, so that it is read once: there are 14 days of hours, and every
// quarter of every endpoint is behind them.
type past struct {
	from, to time.Time
	all      []Quarter
}

// settled is how long after its end a time is read again, because another server may still store counts of it.
const settled = time.Hour

// since returns what was counted since a time that is not before p.from: what p has, and the rest from the store.
func (p *past) since(from time.Time, read func(from time.Time) ([]Quarter, error)) ([]Quarter, error) {
	if from.Before(p.from) || p.to.Before(from) {
		*p = past{from: from, to: from}
	}
	later, err := read(p.to)
	if err != nil {
		return nil, err
	}
	to := time.Now().Add(-settled).Truncate(time.Hour)
	all := slices.DeleteFunc(slices.Concat(p.all, later), func(q Quarter) bool { return q.Start.Before(from) })
	*p = past{from, to, slices.DeleteFunc(slices.Clone(all), func(q Quarter) bool { return !q.Start.Before(to) })}
	return all, nil
}

// forget forgets everything if it has the time of a quarter that gets more counts.
func (p *past) forget(q Quarter) {
	if q.Start.Before(p.to) {
		*p = past{}
	}
}

// NewRollup returns a Rollup of the catalogue's endpoints.
func NewRollup(c Catalogue, store RollupStore, log *slog.Logger) *Rollup {
	r := &Rollup{
		store: store,
		log:   log,
		cells: map[cellKey]*Quarter{},
		open:  map[cellKey]since{},
	}
	for _, p := range c.Providers {
		r.Follow(p)
	}
	return r
}

// Follow adds the endpoints of a provider.
func (r *Rollup) Follow(p Provider) { r.names.add(p, func(label string) string { return label }) }

func (r *Rollup) name(provider, host, endpoint string) cellKey {
	name, ok := r.names.find(provider, host, endpoint)
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

// Attempt adds an attempt to the quarter of an hour in which it ended. A failed proof says nothing about the service.
func (r *Rollup) Attempt(a transport.Attempt) {
	if a.Outcome == transport.WasCanceled || a.Proof && a.Outcome != transport.Success {
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
	if a.Outcome != transport.Success && !ours(a.Category) {
		c.Failures++
	}
}

// ours reports whether a failure is about our request or credentials, and says nothing about the service.
func ours(c resilience.Category) bool {
	return c == resilience.Item || c == resilience.Auth || c == resilience.Permission || c == resilience.Config
}

// Breaker notes a change of a breaker's state.
func (r *Rollup) Breaker(ch transport.BreakerChange) {
	k, now := r.name(ch.Provider, ch.Host, ch.Route), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, was := r.open[k]
	switch {
	case ch.To == transport.BreakerClosed && was:
		delete(s.hosts, ch.Host)
		if len(s.hosts) == 0 {
			r.passLocked(k, s.at, now)
			delete(r.open, k)
		}
	case ch.To != transport.BreakerClosed && was:
		s.hosts[ch.Host] = true
	case ch.To != transport.BreakerClosed:
		r.open[k] = since{at: now, hosts: map[string]bool{ch.Host: true}}
	}
}

// passLocked adds the time in which a breaker was not closed to its quarters. The duration is right even if the clock
// was set meanwhile, as on a machine that learns the time after its start.
func (r *Rollup) passLocked(k cellKey, from, to time.Time) {
	long := min(to.Sub(from), KeepQuarters)
	to = to.Round(0) // quarters follow the wall clock
	from = to.Add(-long)
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

// Run stores the counts every quarter of an hour, and when ctx ends.
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
	if err := r.Flush(ctx); err != nil && ctx.Err() == nil {
		r.log.Error("roll-up cannot be stored", "err", err)
	}
}

// Flush stores the counts. If that fails, they are kept for the next time.
func (r *Rollup) Flush(ctx context.Context) error {
	r.storing.Lock()
	defer r.storing.Unlock()
	r.mu.Lock()
	r.passAllLocked()
	cells := r.cells
	r.cells = map[cellKey]*Quarter{}
	r.mu.Unlock()
	if len(cells) == 0 {
		return nil
	}
	quarters := make([]Quarter, 0, len(cells))
	for _, c := range cells {
		quarters = append(quarters, *c)
		r.hours.forget(*c)
		r.latest.forget(*c)
	}
	err := r.store.AddQuarters(ctx, quarters)
	if err != nil {
		r.takeBack(quarters)
	}
	return err
}

// passAllLocked adds the time until now of all breakers that are not closed.
func (r *Rollup) passAllLocked() {
	now := time.Now()
	for k, s := range r.open {
		r.passLocked(k, s.at, now)
		r.open[k] = since{at: now, hosts: s.hosts}
	}
}

// takeBack counts quarters again that could not be stored, unless they are too old to be kept.
func (r *Rollup) takeBack(quarters []Quarter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range quarters {
		if time.Since(q.Start) <= KeepQuarters {
			r.cellLocked(cellKey{provider: q.Provider, endpoint: q.Endpoint}, q.Start).Add(q.Tally)
		}
	}
}

// Quarters returns what RollupStore.Quarters does, and includes the counts that are not stored yet. It writes nothing.
func (r *Rollup) Quarters(ctx context.Context, usual, from, to time.Time) ([]Quarter, error) {
	r.storing.Lock()
	defer r.storing.Unlock()
	all, err := r.readStoring(ctx, usual, from, to)
	if err != nil {
		return nil, err
	}
	at := make(map[cellKey]int, len(all))
	for i, q := range all {
		at[cellKey{q.Start, q.Provider, q.Endpoint}] = i
	}
	r.mu.Lock()
	r.passAllLocked()
	for k, c := range r.cells {
		if k.start.Before(usual) || !k.start.Before(to) {
			continue
		}
		if k.start.Before(from) {
			k.start = usual.UTC()
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k], all = i, append(all, Quarter{Start: k.start, Provider: k.provider, Endpoint: k.endpoint})
		}
		all[i].Add(c.Tally)
	}
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b Quarter) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return all, nil
}

// Hours returns what RollupStore.Hours does, ordered by provider and time, and includes the counts that are not stored
// yet. The endpoints stay empty. It writes nothing.
func (r *Rollup) Hours(ctx context.Context, provider string, from time.Time) ([]Quarter, error) {
	r.storing.Lock()
	defer r.storing.Unlock()
	all, err := r.readHoursStoring(ctx, provider, from)
	if err != nil {
		return nil, err
	}
	at := make(map[cellKey]int, len(all))
	for i, q := range all {
		at[cellKey{q.Start, q.Provider, ""}] = i
	}
	r.mu.Lock()
	r.passAllLocked()
	for k, c := range r.cells {
		k.start, k.endpoint = k.start.Truncate(time.Hour), ""
		if k.start.Before(from) || provider != "" && k.provider != provider {
			continue
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k], all = i, append(all, Quarter{Start: k.start, Provider: k.provider})
		}
		all[i].Add(c.Tally)
	}
	r.mu.Unlock()
	for i := range all {
		all[i].Open = min(all[i].Open, time.Hour) // of several endpoints at the same time
	}
	slices.SortStableFunc(all, func(a, b Quarter) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), a.Start.Compare(b.Start))
	})
	return all, nil
}

// readHoursStoring reads hours from the store, except those that are cached.
func (r *Rollup) readHoursStoring(ctx context.Context, provider string, from time.Time) ([]Quarter, error) {
	all, err := r.hours.since(from, func(from time.Time) ([]Quarter, error) { return r.store.Hours(ctx, "", from) })
	return slices.DeleteFunc(all, func(q Quarter) bool { return provider != "" && q.Provider != provider }), err
}

// readStoring reads quarters from the store. It reads sums that are cached only once.
func (r *Rollup) readStoring(ctx context.Context, before, from, to time.Time) ([]Quarter, error) {
	switch {
	case !before.Before(from) && to.Before(time.Now()): // a past day, which few look at
		return r.store.Quarters(ctx, from, from, to)
	case !before.Before(from):
		return r.readLatestStoring(ctx, from, to)
	case r.usual.from.Equal(before) && r.usual.to.Equal(from):
		all, err := r.readLatestStoring(ctx, from, to)
		return slices.Concat(r.usual.sums, all), err
	}
	all, err := r.store.Quarters(ctx, before, from, to)
	if err == nil {
		sums := slices.IndexFunc(all, func(q Quarter) bool { return !q.Start.Before(from) })
		if sums < 0 {
			sums = len(all)
		}
		r.usual = usual{from: before, to: from, sums: slices.Clone(all[:sums])}
	}
	return all, err
}

// readLatestStoring reads the quarters of the last day from the store, except those that are cached.
func (r *Rollup) readLatestStoring(ctx context.Context, from, to time.Time) ([]Quarter, error) {
	return r.latest.since(from, func(from time.Time) ([]Quarter, error) {
		return r.store.Quarters(ctx, from, from, to)
	})
}

// Endpoint returns the name under which attempts at an endpoint of a host are counted.
func (r *Rollup) Endpoint(provider, host, endpoint string) string {
	return r.name(provider, host, endpoint).endpoint
}
