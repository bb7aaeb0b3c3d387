package main

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"reprise/internal/channels"
	"reprise/internal/config"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
	"reprise/internal/tracing"
)

// counts are what counts every attempt: the metrics, the roll-up of the health page, and the traces.
type counts struct {
	*metrics.Metrics
	rollup *metrics.Rollup
	tracer *tracing.Tracer // nil without a collector
}

func newCounts(ctx context.Context, c config.Config, db *store.Store, log *slog.Logger) (n counts, err error) {
	all := catalogue(c)
	n = counts{Metrics: metrics.New(all), rollup: metrics.NewRollup(all, db, log)}
	if tracing.Wanted(os.Environ()) { // the library that sends them reads the same
		n.tracer, err = tracing.New(ctx, version, log)
	}
	return n, err
}

func (n counts) attempt(ctx context.Context, a resilience.Attempt) {
	n.Attempt(a)
	n.rollup.Attempt(a)
	n.tracer.Attempt(ctx, a)
}

// began begins the trace of a run.
func (n counts) began(ctx context.Context, k syncer.Key) (context.Context, func(library.Run)) {
	return n.tracer.Began(ctx, k.User, k.Provider, k.Stream)
}

func (n counts) breaker(c resilience.BreakerChange) {
	n.Breaker(c)
	n.rollup.Breaker(c)
}

// picture names the endpoint of pictures, which have several hosts; see the package art.
const picture = "GET /{picture}"

// catalogue lists everything that may be counted, for all known providers, whether they are set up or not.
func catalogue(c config.Config) metrics.Catalogue {
	all := metrics.Catalogue{DeliveryKinds: delivery.Kinds, Conditions: syncer.Conditions}
	for _, k := range channels.Kinds() {
		all.Channels = append(all.Channels, k.Name)
	}
	for _, s := range delivery.States {
		all.DeliveryStates = append(all.DeliveryStates, string(s))
	}
	for _, d := range registry.Descriptions() {
		all.Providers = append(all.Providers, counted(d, c.Providers[d.Name]))
	}
	for _, k := range channels.Kinds() {
		v := metrics.Provider{Name: k.Name, Endpoints: []metrics.Endpoint{{Name: k.Endpoint}}}
		all.Providers = append(all.Providers, v)
	}
	return all
}

// counted lists what may be counted of a provider.
func counted(d providers.Description, s providers.Settings) metrics.Provider {
	v := metrics.Provider{Name: d.Name, Connects: d.Connects(), Pool: d.Pool != nil}
	if v.Connects {
		v.Streams = d.Streams
	}
	for _, e := range d.Endpoints {
		v.Endpoints = append(v.Endpoints, metrics.Endpoint{Host: d.APIHost(s), Name: e})
	}
	if token := s.Text("token_url"); token != "" {
		v.Endpoints = append(v.Endpoints, metrics.Endpoint{Host: resilience.HostOf(token),
			Name: providers.TokenEndpoint})
	}
	if d.Enriches != nil && len(d.Enriches.Pictures) > 0 {
		v.Endpoints = append(v.Endpoints, metrics.Endpoint{Name: picture})
	}
	return v
}

// present is what a scrape reads its current values from.
type present struct {
	basics
	registry    *providers.Registry
	services    []*providers.Provider // that only the installation calls
	connections *syncer.Connections
	breakers    *resilience.Breakers
}

// states returns the current values for a scrape.
func (p present) states(ctx context.Context) (s metrics.States, err error) {
	slow, thinned := p.bus.Dropped()
	s.Dropped = map[string]uint64{"slow_reader": slow, "thinned_out": thinned}
	s.Breakers, s.Clients = p.breakers.Status(), p.bus.Watchers()
	var surveys map[string]syncer.Survey
	var deliveries map[delivery.State]int
	g, ctx := errgroup.WithContext(ctx) // two queries
	g.Go(func() (err error) { surveys, err = p.connections.Survey(ctx, p.store, p.services); return err })
	g.Go(func() (err error) { deliveries, s.Oldest, err = p.store.Queue().Counts(ctx); return err })
	if err := g.Wait(); err != nil {
		return s, err
	}
	s.Deliveries = map[string]int{}
	for state, n := range deliveries {
		s.Deliveries[string(state)] = n
	}
	s.Providers = map[string]metrics.ProviderState{}
	for _, one := range slices.Concat(p.registry.All(), p.services) {
		v := surveys[one.Name]
		state := metrics.ProviderState{Connections: map[string]int{}, NextAttempt: v.NextAttempt,
			HoldUntil: v.HoldUntil, LastSuccess: v.LastSuccess, Ends: v.Ends, Keys: one.Keys.Keys()}
		for condition, n := range v.Conditions {
			state.Connections[string(condition)] = n
		}
		s.Providers[one.Name] = state
	}
	return s, nil
}
