// Package observe connects the program's parts with what counts them: the metrics, the roll-up of the health page, and
// the traces. It lists what may be counted, and collects the current values for a scrape.
//
// # Traces
//
// Runs, deliveries and attempts are sent as OpenTelemetry traces. A run is a trace, and each of its attempts at an
// upstream is a span. So is a delivery, from the moment that it was stored to its end, with all its attempts. An
// attempt outside both, such as that of a sign-in, is a trace of its own.
//
// Tracing is off unless the standard environment variables of OpenTelemetry name a collector
// (OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). All its settings are such variables, read by
// OpenTelemetry's SDK: headers, sampling, the service's name. When the collector does not answer, spans are lost and a
// line is logged.
package observe

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/channels"
	"reprise/internal/cluster"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	syncer "reprise/internal/sync"
)

// Options are what New needs. All are required.
type Options struct {
	Settings map[string]providers.Settings // by provider
	Store    metrics.RollupStore
	Version  string
	Log      *slog.Logger
}

// Counters count attempts, runs and breakers everywhere. Safe for concurrent use.
type Counters struct {
	*metrics.Metrics
	Rollup *metrics.Rollup
	Tracer *Tracer // nil without a collector
}

// New returns Counters at zero.
func New(ctx context.Context, o Options) (c Counters, err error) {
	all := Catalogue(o.Settings)
	c = Counters{Metrics: metrics.New(all), Rollup: metrics.NewRollup(all, o.Store, o.Log)}
	if Wanted(os.Environ()) { // New reads the rest
		c.Tracer, err = NewTracer(ctx, o.Version, o.Log)
	}
	return c, err
}

// Attempt counts an attempt at an upstream.
func (c Counters) Attempt(ctx context.Context, a transport.Attempt) {
	c.Metrics.Attempt(a)
	c.Rollup.Attempt(a)
	c.Tracer.Attempt(ctx, a)
}

// Began begins the trace of a run. The function that it returns ends it.
func (c Counters) Began(ctx context.Context, k syncer.Key) (context.Context, func(library.Run)) {
	return c.Tracer.Began(ctx, k.User, k.Connection.Provider(), k.Stream)
}

// Delivering begins the trace of an attempt at a delivery. The function that it returns ends it.
func (c Counters) Delivering(
	ctx context.Context, a delivery.Attempt,
) (context.Context, func(result string, why resilience.Category)) {
	return c.Tracer.Delivering(ctx, Delivery{ID: a.ID, User: a.User, Provider: a.Connection.Provider(),
		Kind: a.Kind, Created: a.CreatedAt}, a.Number)
}

// Breaker counts a change of a breaker.
func (c Counters) Breaker(ch transport.BreakerChange) {
	c.Metrics.Breaker(ch)
	c.Rollup.Breaker(ch)
}

// picture names the endpoint of pictures, which have several hosts; see the package art.
const picture = "GET /{picture}"

// Catalogue lists everything that may be counted, for all known providers, whether they are set up or not.
func Catalogue(settings map[string]providers.Settings) metrics.Catalogue {
	all := metrics.Catalogue{DeliveryKinds: delivery.Kinds, Conditions: syncer.Conditions}
	for _, k := range channels.Kinds() {
		all.Channels = append(all.Channels, k.Name)
	}
	for _, s := range delivery.States {
		all.DeliveryStates = append(all.DeliveryStates, string(s))
	}
	for _, d := range registry.Descriptions() {
		all.Providers = append(all.Providers, counted(d, settings[d.Name]))
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
		if d.APIHost(s) != "" && d.NamesServer() {
			v.Endpoints = append(v.Endpoints, metrics.Endpoint{Name: e})
		}
	}
	if token := s.Text("token_url"); token != "" {
		v.Endpoints = append(v.Endpoints, metrics.Endpoint{Host: hosts.Of(token),
			Name: providers.TokenEndpoint})
	}
	if d.Enriches != nil && len(d.Enriches.Pictures) > 0 {
		v.Endpoints = append(v.Endpoints, metrics.Endpoint{Name: picture})
	}
	return v
}

// Follow counts what a provider calls with its settings.
func (c Counters) Follow(p *providers.Provider) {
	v := counted(p.Description, p.Settings)
	c.Metrics.Follow(v)
	c.Rollup.Follow(v)
}

// Store has the current values of connections, deliveries and servers.
type Store interface {
	syncer.SurveyStore
	DeliveryCounts(context.Context) (counts map[delivery.State]int, oldest time.Time, err error)
	Servers(context.Context) ([]cluster.Server, error)
	AuditStates(context.Context) (map[string]int, error)
}

// Present reads the current values for a scrape. All fields are required.
type Present struct {
	Store       Store
	Bus         *events.Bus
	Registry    *providers.Registry
	Services    *providers.Registry // the providers that only the installation calls
	Connections *syncer.Connections
	Breakers    *transport.Breakers
	Leads       func() bool // whether this server counts what is in the database
}

// States returns the current values.
func (p Present) States(ctx context.Context) (s metrics.States, err error) {
	slow, thinned := p.Bus.Dropped()
	s.Dropped = map[string]uint64{"slow_reader": slow, "thinned_out": thinned}
	s.Breakers, s.Clients = p.Breakers.Status(), p.Bus.Watchers()
	var surveys map[string]syncer.Survey
	var deliveries map[delivery.State]int
	var servers []cluster.Server
	g, ctx := errgroup.WithContext(ctx) // a query each
	g.Go(func() (err error) { surveys, err = p.Connections.Survey(ctx, p.Store, p.Services.All()); return err })
	if s.Elsewhere = !p.Leads(); !s.Elsewhere {
		g.Go(func() (err error) { servers, err = p.Store.Servers(ctx); return err })
		g.Go(func() (err error) { s.Months, err = p.Store.AuditStates(ctx); return err })
		g.Go(func() (err error) { deliveries, s.Oldest, err = p.Store.DeliveryCounts(ctx); return err })
	}
	if err := g.Wait(); err != nil {
		return s, err
	}
	s.Servers = map[string]int{}
	for _, one := range servers {
		s.Servers[string(one.State(time.Now()))]++
	}
	s.Deliveries = map[string]int{}
	for state, n := range deliveries {
		s.Deliveries[string(state)] = n
	}
	s.Providers = map[string]metrics.ProviderState{}
	for _, one := range slices.Concat(p.Registry.All(), p.Services.All()) {
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
