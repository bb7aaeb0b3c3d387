package metrics

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reprise/internal/resilience"
)

// States are what is pulled at a scrape.
type States struct {
	Providers  map[string]ProviderState
	Breakers   []resilience.BreakerStatus
	Deliveries map[string]int // by state
	Oldest     time.Time      // when the delivery that waits longest by itself was written down; zero when none does
	Clients    int            // browsers that watch
	Dropped    map[string]uint64
}

// ProviderState is what there is to tell of one provider now. Zero times stand for none.
type ProviderState struct {
	Connections map[string]int // by condition
	NextAttempt time.Time      // the soonest of those that wait
	HoldUntil   time.Time      // the latest that its upstream dictated
	LastSuccess time.Time      // the latest of all connections
	Ends        time.Time      // the soonest end of an authorization
	Keys        []resilience.KeyStatus
}

// pullTime bounds how long a scrape may wait for what is pulled.
const pullTime = 10 * time.Second

// puller returns a collector that calls states at every scrape. After an error it leaves out what comes from the
// database; breakers and browsers are always in.
func (m *Metrics) puller(states func(context.Context) (States, error)) *puller {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, labels, nil)
	}
	p := &puller{m: m, c: m.catalogue, states: states,
		connections: gauge("connections", "Connections by state: healthy, syncing, waiting (a backoff), held (the upstream asks us to wait), needs_reconnect (its person has to act), needs_admin (the administrator has to), paused, new (not read yet).", "provider", "state"),
		lastSuccess: gauge("sync_last_success_timestamp_seconds", "When a connection was last read to its end or written to, as a Unix time, the latest of all; 0 for never.", "provider"),
		nextAttempt: gauge("backoff_next_attempt_timestamp_seconds", "The soonest attempt of those that wait after a failure, as a Unix time; 0 when none does.", "provider"),
		holdUntil:   gauge("hold_until_timestamp_seconds", "The latest time until which an upstream asks us to wait, as a Unix time; 0 when none does.", "provider"),
		ends:        gauge("authorization_expiry_timestamp_seconds", "The soonest end of an authorization that still holds, as a Unix time; 0 when none ends by itself.", "provider"),
		keys:        gauge("pool_keys", "Keys of the installation by state: ready, cooling (not used for a while), refused (by the provider).", "provider", "state"),
		breakers:    gauge("breaker_state", "State of an endpoint's breaker, the worst of the servers that share its name: 0 closed, 1 open, 2 half-open.", "endpoint"),
		deliveries:  gauge("deliveries", "Deliveries by state: scheduled (to be attempted), running, retrying (an attempt failed), parked (waits for a person), done (kept for a week), dead (given up, kept for delivery.keep_dead).", "state"),
		oldest:      gauge("delivery_oldest_age_seconds", "Age of the delivery that waits longest by itself; 0 when none does. What a channel keeps until its quiet hours end does not count."),
		clients:     gauge("websocket_clients", "Browsers that watch, by websocket or Server-Sent Events."),
		dropped:     gauge("events_dropped_total", "Events that did not reach a browser: slow_reader counts browsers that were too slow and come back to a snapshot, thinned_out news of progress that gave way.", "reason"),
	}
	p.endpoints = append(slices.Sorted(maps.Values(m.endpoints)), other)
	return p
}

// puller is a prometheus.Collector.
type puller struct {
	m         *Metrics
	c         Catalogue
	states    func(context.Context) (States, error)
	endpoints []string

	connections, lastSuccess, nextAttempt, holdUntil, ends, keys, breakers, deliveries, oldest, clients, dropped *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (p *puller) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.connections, p.lastSuccess, p.nextAttempt, p.holdUntil, p.ends, p.keys, p.breakers, p.deliveries, p.oldest, p.clients, p.dropped} {
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
	for _, reason := range DropReasons {
		to <- prometheus.MustNewConstMetric(p.dropped, prometheus.CounterValue, float64(s.Dropped[reason]), reason)
	}
	if err != nil {
		to <- prometheus.NewInvalidMetric(p.connections, err)
		return
	}
	for _, provider := range p.c.Providers {
		p.provider(tell, provider, s.Providers[provider.Name])
	}
	for _, state := range p.c.DeliveryStates {
		tell(p.deliveries, float64(s.Deliveries[state]), state)
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
	for _, state := range resilience.KeyStates {
		tell(p.keys, float64(counts[state]), c.Name, state)
	}
}

// breaker tells of each endpoint the worst of the hosts that share its name.
func (p *puller) breaker(tell func(*prometheus.Desc, float64, ...string), all []resilience.BreakerStatus) {
	states := map[string]resilience.BreakerState{}
	for _, b := range all {
		name := p.m.endpointOf(b.Provider, b.Host, b.Route)
		if states[name] != resilience.BreakerOpen && b.State != resilience.BreakerClosed {
			states[name] = b.State
		}
	}
	for _, name := range p.endpoints {
		tell(p.breakers, float64(states[name]), name)
	}
}

// seconds is a time as Prometheus has it; 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
