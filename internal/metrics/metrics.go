package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// prefix begins every name of ours.
const prefix = "reprise_"

// Metrics are the counters of one process.
type Metrics struct {
	catalogue Catalogue
	registry  *prometheus.Registry
	attempts  endpoints[*attempts]
	tries     *prometheus.CounterVec
	took      *prometheus.HistogramVec
	stray     map[string]*attempts // of unlisted endpoints, by provider

	runs         *prometheus.CounterVec
	runTime      *prometheus.HistogramVec
	transitions  *prometheus.CounterVec
	rotations    *prometheus.CounterVec
	deliveries   *prometheus.CounterVec
	dead         *prometheus.CounterVec
	redrives     *prometheus.CounterVec
	told         *prometheus.CounterVec
	unclassified *prometheus.CounterVec
	stored       *prometheus.CounterVec
	duplicates   *prometheus.CounterVec
	refused      *prometheus.CounterVec
	forged       *prometheus.CounterVec
	skipped      *prometheus.CounterVec
	players      *prometheus.CounterVec
}

// attempts holds the counters of one endpoint, looked up once.
type attempts struct {
	endpoint string // the label
	outcomes map[transport.Outcome]prometheus.Counter
	took     prometheus.Observer
}

// The label values of counters, each a closed set.
var (
	runResults      = []string{"ok", "retriable", "fatal", "canceled"}
	DeliveryResults = []string{"done", "postponed", "retrying", "parked", "dead", "canceled"}
	// redriveResults counts deliveries under "due", and calls that found none or were refused under the others.
	redriveResults  = []string{"due", "nothing", "refused"}
	rotationReasons = []string{"quota", "rate_limit", "refused"}
	toldResults     = []string{"sent", "failed", "dropped"}
	// skipReasons are the categories of failures that can be about one item alone.
	skipReasons = []string{resilience.Item.String(), resilience.Network.String(), resilience.Upstream.String(),
		resilience.Contract.String()}
	// PlayerResults are what becomes of what players send: of plays, and of requests that hold none.
	PlayerResults = []string{"stored", "known", "refused", "wrong_token", "too_fast", "failed"}
	severities    = []string{"info", "success", "warning", "error"}
	dropReasons   = []string{"slow_reader", "thinned_out"}
)

// Buckets of histograms, in seconds: calls end within resilience.CallTimeout, runs within sync.run_timeout.
var (
	callBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	runBuckets  = []float64{.25, .5, 1, 2.5, 5, 15, 60, 180, 600}
)

// New returns counters for everything in the catalogue, each at zero.
func New(c Catalogue) *Metrics {
	m := &Metrics{
		catalogue: c,
		registry:  prometheus.NewRegistry(),
		stray:     map[string]*attempts{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.runs = m.counter("sync_runs_total", "provider", "stream", "result")
	m.runTime = m.histogram("sync_duration_seconds", runBuckets, "provider", "stream")
	m.transitions = m.counter("breaker_transitions_total", "endpoint", "from", "to")
	m.rotations = m.counter("pool_rotations_total", "provider", "reason")
	m.deliveries = m.counter("delivery_attempts_total", "kind", "result")
	m.dead = m.counter("dead_letters_total", "category")
	m.redrives = m.counter("redrives_total", "result")
	m.told = m.counter("notifications_total", "severity", "channel", "result")
	m.unclassified = m.counter("unclassified_errors_total", "provider")
	m.stored = m.counter("listens_stored_total", "provider")
	m.duplicates = m.counter("duplicates_total", "provider")
	m.refused = m.counter("listens_refused_total", "provider")
	m.forged = m.counter("proxy_headers_refused_total")
	m.skipped = m.counter("skipped_items_total", "provider", "category")
	m.players = m.counter("player_plays_total", "result")
	m.begin(c)
	return m
}

func (m *Metrics) counter(name string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help[name]}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: prefix + name, Help: help[name], Buckets: buckets}
	v := prometheus.NewHistogramVec(opts, labels)
	m.registry.MustRegister(v)
	return v
}

// begin makes every series, at zero.
func (m *Metrics) begin(c Catalogue) {
	m.tries = m.counter("upstream_attempts_total", "provider", "endpoint", "outcome")
	m.took = m.histogram("upstream_duration_seconds", callBuckets, "provider", "endpoint")
	var names, pools []string
	for _, p := range c.Providers {
		m.Follow(p)
		names = append(names, p.Name)
		m.stray[p.Name] = m.beginAttempts(p.Name, other)
		if p.Pool {
			pools = append(pools, p.Name)
		}
		for _, stream := range p.Streams {
			each(m.runs, []string{p.Name}, []string{stream}, runResults)
			m.runTime.WithLabelValues(p.Name, stream)
		}
		if p.Connects {
			each(m.stored, []string{p.Name})
			each(m.duplicates, []string{p.Name})
			each(m.refused, []string{p.Name})
			each(m.skipped, []string{p.Name}, skipReasons)
		}
	}
	m.stray[""] = m.beginAttempts(other, other)
	each(m.rotations, pools, rotationReasons)
	each(m.deliveries, c.DeliveryKinds, DeliveryResults)
	each(m.dead, resilience.Categories())
	each(m.redrives, redriveResults)
	each(m.players, PlayerResults)
	each(m.told, severities, append([]string{"browser"}, c.Channels...), toldResults)
	each(m.unclassified, names)
}

// breakerWays lists the possible changes of a breaker's state, each from the first to the second.
var breakerWays = [][2]transport.BreakerState{
	{transport.BreakerClosed, transport.BreakerOpen},
	{transport.BreakerOpen, transport.BreakerHalfOpen},
	{transport.BreakerHalfOpen, transport.BreakerOpen},
	{transport.BreakerHalfOpen, transport.BreakerClosed},
	{transport.BreakerOpen, transport.BreakerClosed},
}

// Follow makes the series of a provider's endpoints, at zero. Endpoints that are counted already go on.
func (m *Metrics) Follow(p Provider) {
	m.attempts.add(p, func(label string) *attempts { return m.beginAttempts(p.Name, label) })
}

// beginAttempts makes the series of an endpoint.
func (m *Metrics) beginAttempts(provider, endpoint string) *attempts {
	a := &attempts{
		endpoint: endpoint,
		outcomes: map[transport.Outcome]prometheus.Counter{},
		took:     m.took.WithLabelValues(provider, endpoint),
	}
	for _, o := range transport.Outcomes {
		a.outcomes[o] = m.tries.WithLabelValues(provider, endpoint, string(o))
	}
	for _, way := range breakerWays {
		m.transitions.WithLabelValues(endpoint, way[0].String(), way[1].String())
	}
	return a
}

// each makes the series of every combination of labels.
func each(v *prometheus.CounterVec, sets ...[]string) {
	var walk func(labels []string, rest [][]string)
	walk = func(labels []string, rest [][]string) {
		if len(rest) == 0 {
			v.WithLabelValues(labels...)
			return
		}
		for _, value := range rest[0] {
			walk(append(labels[:len(labels):len(labels)], value), rest[1:])
		}
	}
	walk(nil, sets)
}

// Handler returns the handler of scrapes. It calls states at every scrape, unless it is nil. It logs and leaves out
// what cannot be read at the moment.
func (m *Metrics) Handler(states func(context.Context) (States, error), log *slog.Logger) http.Handler {
	all := prometheus.Gatherers{m.registry}
	if states != nil {
		pulled := prometheus.NewRegistry()
		pulled.MustRegister(m.puller(states))
		all = append(all, pulled)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Attempt counts an attempt at an upstream.
func (m *Metrics) Attempt(a transport.Attempt) {
	if m == nil {
		return
	}
	of, ok := m.attempts.find(a.Provider, a.Host, a.Endpoint)
	if !ok {
		if of, ok = m.stray[a.Provider]; !ok {
			of = m.stray[""]
		}
	}
	of.outcomes[a.Outcome].Inc()
	if !a.Start.IsZero() && a.Outcome != transport.WasCanceled {
		of.took.Observe(a.Took.Seconds())
	}
}

// Breaker counts a change of a breaker's state.
func (m *Metrics) Breaker(c transport.BreakerChange) {
	if m != nil {
		m.transitions.WithLabelValues(m.endpointOf(c.Provider, c.Host, c.Route), c.From.String(), c.To.String()).Inc()
	}
}

func (m *Metrics) endpointOf(provider, host, route string) string {
	if of, ok := m.attempts.find(provider, host, route); ok {
		return of.endpoint
	}
	return other
}

// Run counts a run of a stream that has ended with one of runResults.
func (m *Metrics) Run(provider, stream, result string, took time.Duration) {
	if m != nil {
		m.runs.WithLabelValues(provider, stream, result).Inc()
		m.runTime.WithLabelValues(provider, stream).Observe(took.Seconds())
	}
}

// Listens counts the new listens and the known plays of a page.
func (m *Metrics) Listens(provider string, added, known int) {
	if m != nil {
		m.stored.WithLabelValues(provider).Add(float64(added))
		m.duplicates.WithLabelValues(provider).Add(float64(known))
	}
}

// Refused counts plays that were not stored because their times are impossible.
func (m *Metrics) Refused(provider string, n int) {
	if m != nil {
		m.refused.WithLabelValues(provider).Add(float64(n))
	}
}

// Forged counts a request that says who sent it, without having come through a proxy that may.
func (m *Metrics) Forged() {
	if m != nil {
		m.forged.WithLabelValues().Inc()
	}
}

// Skipped counts an item that a provider lists and does not give, once for each time that it begins to be skipped.
func (m *Metrics) Skipped(provider, category string) {
	if m == nil {
		return
	}
	if !slices.Contains(skipReasons, category) {
		category = resilience.Item.String()
	}
	m.skipped.WithLabelValues(provider, category).Inc()
}

// Rotation counts a request that continues with the next key.
func (m *Metrics) Rotation(provider string, why resilience.Category) {
	if m == nil {
		return
	}
	reason := "refused"
	if why == resilience.Quota || why == resilience.RateLimit {
		reason = why.String()
	}
	m.rotations.WithLabelValues(provider, reason).Inc()
}

// Delivery counts an attempt at a delivery that ended with one of DeliveryResults.
func (m *Metrics) Delivery(kind, result string) {
	if m != nil {
		m.deliveries.WithLabelValues(kind, result).Inc()
	}
}

// DeadLetter counts a delivery that was given up.
func (m *Metrics) DeadLetter(c resilience.Category) {
	if m != nil {
		m.dead.WithLabelValues(c.String()).Inc()
	}
}

// Redriven counts re-driven deliveries, or a call that re-drove none.
func (m *Metrics) Redriven(result string, n int) {
	if m != nil {
		m.redrives.WithLabelValues(result).Add(float64(n))
	}
}

// Sent counts what players have sent, by one of PlayerResults.
func (m *Metrics) Sent(result string, n int) {
	if m != nil {
		m.players.WithLabelValues(result).Add(float64(n))
	}
}

// Told counts a notification to a person, with one of severities and one of toldResults.
func (m *Metrics) Told(severity, channel, result string) {
	if m != nil {
		m.told.WithLabelValues(severity, channel, result).Inc()
	}
}

// Unclassified counts a failure of unknown meaning.
func (m *Metrics) Unclassified(provider string) {
	if m != nil {
		m.unclassified.WithLabelValues(provider).Inc()
	}
}
