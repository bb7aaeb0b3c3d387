package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

// States is what is read at a scrape.
type States struct {
	Providers  map[string]ProviderState
	Breakers   []transport.BreakerStatus
	Deliveries map[string]int // by state
	Oldest     time.Time      // creation of the oldest delivery that waits for no person; zero without one
	Clients    int            // browsers that receive events
	Servers    map[string]int // that share the database, by state
	Months     map[string]int // of histories that are compared, by state
	Dropped    map[string]uint64
	Elsewhere  bool // another server counts what is in the database
}

// ProviderState is the present state of one provider. A zero time means that there is none.
type ProviderState struct {
	Connections map[string]int // by condition
	NextAttempt time.Time      // the soonest after a failure
	HoldUntil   time.Time      // the latest end of a hold
	LastSuccess time.Time      // the latest of all connections
	Ends        time.Time      // the soonest end of an authorization
	Keys        []keys.Status
}

// serverStates are the states of servers that share a database; see cluster.States.
var serverStates = []string{"leads", "answers", "silent"}

// monthStates are the states of months of histories that are compared; see ledger.State.
var monthStates = []string{"proven", "pending", "unknown", "short", "gone", "held"}

// pullTime limits the wait of a scrape for the states.
const pullTime = 10 * time.Second

// puller returns a collector that calls states at every scrape. After an error it leaves out everything from the
// database, but not breakers and browsers.
func (m *Metrics) puller(states func(context.Context) (States, error)) *puller {
	gauge := func(name string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help[name], labels, nil)
	}
	p := &puller{m: m, c: m.catalogue, states: states,
		connections: gauge("connections", "provider", "state"),
		lastSuccess: gauge("sync_last_success_timestamp_seconds", "provider"),
		nextAttempt: gauge("backoff_next_attempt_timestamp_seconds", "provider"),
		holdUntil:   gauge("hold_until_timestamp_seconds", "provider"),
		ends:        gauge("authorization_expiry_timestamp_seconds", "provider"),
		keys:        gauge("pool_keys", "provider", "state"),
		breakers:    gauge("breaker_state", "endpoint"),
		deliveries:  gauge("deliveries", "state"),
		oldest:      gauge("delivery_oldest_age_seconds"),
		clients:     gauge("websocket_clients"),
		servers:     gauge("servers", "state"),
		months:      gauge("history_months", "state"),
		dropped:     gauge("events_dropped_total", "reason"),
	}
	return p
}

// puller is a prometheus.Collector.
type puller struct {
	m      *Metrics
	c      Catalogue
	states func(context.Context) (States, error)

	connections, lastSuccess, nextAttempt, holdUntil, ends, keys *prometheus.Desc
	breakers, deliveries, oldest, clients, dropped, servers      *prometheus.Desc
	months                                                       *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (p *puller) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		p.connections, p.lastSuccess, p.nextAttempt, p.holdUntil, p.ends, p.keys,
		p.breakers, p.deliveries, p.oldest, p.clients, p.dropped, p.servers, p.months,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p *puller) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pullTime)
	defer cancel()
	s, err := p.states(ctx)
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	p.breaker(tell, s.Breakers)
	tell(p.clients, float64(s.Clients))
	for _, reason := range dropReasons {
		to <- prometheus.MustNewConstMetric(p.dropped, prometheus.CounterValue, float64(s.Dropped[reason]), reason)
	}
	if err != nil {
		to <- prometheus.NewInvalidMetric(p.connections, err)
		return
	}
	for _, provider := range p.c.Providers {
		p.provider(tell, provider, s.Providers[provider.Name])
	}
	if s.Elsewhere {
		return
	}
	for _, state := range p.c.DeliveryStates {
		tell(p.deliveries, float64(s.Deliveries[state]), state)
	}
	for _, state := range serverStates {
		tell(p.servers, float64(s.Servers[state]), state)
	}
	for _, state := range monthStates {
		tell(p.months, float64(s.Months[state]), state)
	}
	age := 0.0
	if !s.Oldest.IsZero() {
		age = max(time.Since(s.Oldest).Seconds(), 0)
	}
	tell(p.oldest, age)
}

func (p *puller) provider(tell func(*prometheus.Desc, float64, ...string), c Provider, s ProviderState) {
	if c.Connects {
		for _, condition := range p.c.Conditions {
			tell(p.connections, float64(s.Connections[condition]), c.Name, condition)
		}
		tell(p.lastSuccess, seconds(s.LastSuccess), c.Name)
		tell(p.ends, seconds(s.Ends), c.Name)
	}
	tell(p.nextAttempt, seconds(s.NextAttempt), c.Name)
	tell(p.holdUntil, seconds(s.HoldUntil), c.Name)
	if !c.Pool {
		return
	}
	counts := map[string]int{}
	for _, k := range s.Keys {
		counts[k.State()]++
	}
	for _, state := range keys.States {
		tell(p.keys, float64(counts[state]), c.Name, state)
	}
}

// breaker collects the worst state of each endpoint among the hosts that share its name.
func (p *puller) breaker(tell func(*prometheus.Desc, float64, ...string), all []transport.BreakerStatus) {
	states := map[string]transport.BreakerState{}
	for _, b := range all {
		if b.State == transport.BreakerClosed {
			continue
		}
		if name := p.m.endpointOf(b.Provider, b.Host, b.Route); states[name] != transport.BreakerOpen {
			states[name] = b.State
		}
	}
	names := map[string]bool{other: true}
	for _, of := range p.m.attempts.values() {
		names[of.endpoint] = true
	}
	for name := range names {
		tell(p.breakers, float64(states[name]), name)
	}
}

// seconds returns a time as a Unix time in seconds; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
