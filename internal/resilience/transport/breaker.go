package transport

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/resilience"
)

// BreakerOptions are the settings of [Breakers]. Zero values mean the defaults.
type BreakerOptions struct {
	Failures    int           // in a row until a breaker opens; default 5
	Cooldown    time.Duration // from opening to the first probe; default 60 s
	MaxCooldown time.Duration // what it doubles to while probes fail; default 10 min, at least Cooldown
	// Changed, if set, is called after every change of a breaker's state, by the goroutine whose call caused it.
	Changed func(BreakerChange)
}

// BreakerState says whether calls of an endpoint go out.
type BreakerState uint8

// The states, with the numbers that metrics show.
const (
	BreakerClosed   BreakerState = iota // they do
	BreakerOpen                         // they do not
	BreakerHalfOpen                     // one does, to find out
)

var breakerStateNames = [...]string{"closed", "open", "half-open"}

func (s BreakerState) String() string { return breakerStateNames[s] }

// BreakerChange is one change of state.
type BreakerChange struct {
	Endpoint              string // with the host; see [BreakerStatus]
	From, To              BreakerState
	Provider, Host, Route string // the provider, and the parts of Endpoint
}

// Breakers keep calls away from endpoints that fail for everybody: one breaker per endpoint, all users together.
// Failures of the network and of the upstream itself count; every other answer shows that the endpoint works.
// Outcomes of calls that began before the latest change of state are ignored. Safe for concurrent use.
type Breakers struct {
	opt BreakerOptions

	mu  sync.Mutex
	all map[endpointKey]*breaker
}

// An endpointKey names an endpoint by its parts, so that looking one up builds no string.
type endpointKey struct{ host, endpoint string }

// String returns the whole name of the endpoint.
func (k endpointKey) String() string { return EndpointName(k.host, k.endpoint) }

// EndpointName returns the whole name of an endpoint (method and route template) of a host, such as "GET
// api.spotify.com/v1/me".
func EndpointName(host, endpoint string) string {
	method, route, _ := strings.Cut(endpoint, " ")
	if !strings.HasPrefix(route, "/") { // told apart by something else than a path
		route = " " + route
	}
	return strings.TrimSpace(method + " " + host + route)
}

// breaker is the state of one endpoint, guarded by the lock of Breakers.
type breaker struct {
	provider string
	state    BreakerState
	failures int       // in a row
	trips    int       // times it has opened since it was last closed
	since    time.Time // when it left or came back to being closed; zero for one that was never open
	opened   time.Time // the latest time that it did
	until    time.Time // of an open one: the first probe
	probing  bool      // the probe of a half-open one is under way
	changes  uint64    // of state: calls that began before the latest are late
}

// maxBreakers bounds the number of breakers, since people add and remove servers. Beyond it, breakers that are closed
// are forgotten.
const maxBreakers = 4096

// probeAgain is how long callers wait while a probe is under way, and the shortest time between two probes that
// people ask for.
const probeAgain = 5 * time.Second

// NewBreakers returns closed breakers for every endpoint.
func NewBreakers(opt BreakerOptions) *Breakers {
	return &Breakers{opt: opt.withDefaults(), all: map[endpointKey]*breaker{}}
}

// Configure changes the settings except for Changed. Breakers that are open keep their ends.
func (bs *Breakers) Configure(opt BreakerOptions) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	opt = opt.withDefaults()
	bs.opt.Failures, bs.opt.Cooldown, bs.opt.MaxCooldown = opt.Failures, opt.Cooldown, opt.MaxCooldown
}

// Options returns the settings that hold now.
func (bs *Breakers) Options() BreakerOptions {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.opt
}

func (opt BreakerOptions) withDefaults() BreakerOptions {
	opt.Failures = cmp.Or(opt.Failures, 5)
	opt.Cooldown = cmp.Or(opt.Cooldown, time.Minute)
	opt.MaxCooldown = max(cmp.Or(opt.MaxCooldown, 10*time.Minute), opt.Cooldown)
	return opt
}

// bears reports whether a call to an endpoint may be repeated after its failure. While its breaker is not closed, it
// may not. Where nobody waits for the answer, repetitions take no more than half of the failures that open it: the few
// calls of a household would open it in an outage of seconds, and wait for a minute then.
func (bs *Breakers) bears(host, endpoint string, eager bool) bool {
	if bs == nil {
		return true
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.all[endpointKey{host, endpoint}]
	return b == nil || b.state == BreakerClosed && (eager || 2*b.failures < bs.opt.Failures)
}

// pass is the right to make one call. The zero pass takes no outcome.
type pass struct {
	of      *Breakers
	b       *breaker
	key     endpointKey
	changes uint64
}

// enter returns a pass, or the time until which there is none. With eager a person is waiting for the call.
func (bs *Breakers) enter(provider, host, endpoint string, eager bool) (pass, time.Time, bool) {
	if bs == nil {
		return pass{}, time.Time{}, true
	}
	p := pass{of: bs, key: endpointKey{host, endpoint}}
	bs.mu.Lock()
	b := bs.all[p.key]
	if b == nil {
		b = bs.addLocked(p.key, provider)
	}
	from := b.state
	if from != BreakerClosed {
		now := time.Now()
		switch {
		case from == BreakerOpen && b.until.After(now) && !(eager && now.Sub(b.opened) >= probeAgain):
			bs.mu.Unlock()
			return pass{}, resilience.ByClock(b.until, now), false
		case b.probing:
			bs.mu.Unlock()
			return pass{}, now.Add(probeAgain), false
		case from == BreakerOpen:
			b.change(BreakerHalfOpen, now)
		}
		b.probing = true
	}
	p.b, p.changes = b, b.changes
	to := b.state
	bs.mu.Unlock()
	bs.tell(b, p.key, from, to)
	return p, time.Time{}, true
}

func (bs *Breakers) addLocked(k endpointKey, provider string) *breaker {
	if len(bs.all) >= maxBreakers {
		for k, b := range bs.all {
			if b.state == BreakerClosed {
				delete(bs.all, k)
			}
		}
	}
	b := &breaker{provider: provider}
	bs.all[k] = b
	return b
}

// done takes the verdict on the call. Only the first one counts.
func (p *pass) done(v resilience.Verdict) {
	bs, b := p.of, p.b
	if b == nil {
		return
	}
	p.b = nil
	bs.mu.Lock()
	from := b.state
	if p.changes == b.changes {
		b.outcome(v, bs.opt)
	}
	to := b.state
	bs.mu.Unlock()
	bs.tell(b, p.key, from, to)
}

// outcome applies the verdict on a call that is not late. An open breaker ignores it.
func (b *breaker) outcome(v resilience.Verdict, opt BreakerOptions) {
	b.probing = false
	switch {
	case v.Class == resilience.Canceled:
	case v.Category != resilience.Network &&
		v.Category != resilience.Upstream, v.FatalAfter > 0: // FatalAfter may be about one item only
		b.failures, b.trips = 0, 0
		if b.state == BreakerHalfOpen {
			b.change(BreakerClosed, time.Now())
		}
	default:
		b.failures++
		if b.state == BreakerHalfOpen || b.failures >= opt.Failures {
			now := time.Now()
			b.change(BreakerOpen, now)
			b.opened = now
			b.until = now.Add(min(opt.Cooldown<<min(b.trips, 20), opt.MaxCooldown))
			b.trips++
		}
	}
}

func (b *breaker) change(to BreakerState, now time.Time) {
	if b.state == BreakerClosed || to == BreakerClosed {
		b.since = now
	}
	b.state, b.until = to, time.Time{}
	b.changes++
}

func (bs *Breakers) tell(b *breaker, k endpointKey, from, to BreakerState) {
	if from != to && bs.opt.Changed != nil {
		bs.opt.Changed(BreakerChange{Endpoint: k.String(), From: from, To: to,
			Provider: b.provider, Host: k.host, Route: k.endpoint})
	}
}

// BreakerStatus describes a breaker.
type BreakerStatus struct {
	Endpoint string // method, host and route template: "GET api.spotify.com/v1/me"
	State    BreakerState
	Failures int       // in a row
	Since    time.Time // when it left or came back to being closed; zero for one that was never open
	Until    time.Time // the first probe of an open one; zero otherwise

	Provider, Host, Route string // the provider, and the parts of Endpoint
}

// Status returns all breakers, those that are not closed first, then by name.
func (bs *Breakers) Status() []BreakerStatus {
	if bs == nil {
		return nil
	}
	bs.mu.Lock()
	all, now := make([]BreakerStatus, 0, len(bs.all)), time.Now()
	for k, b := range bs.all {
		all = append(all, b.status(k, now))
	}
	bs.mu.Unlock()
	SortBreakers(all)
	return all
}

// SortBreakers sorts breakers, those that are not closed first, then by name.
func SortBreakers(all []BreakerStatus) {
	slices.SortStableFunc(all, func(a, b BreakerStatus) int {
		return cmp.Or(closedLast(a)-closedLast(b), cmp.Compare(a.Endpoint, b.Endpoint))
	})
}

func closedLast(s BreakerStatus) int {
	if s.State == BreakerClosed {
		return 1
	}
	return 0
}

func (b *breaker) status(k endpointKey, now time.Time) BreakerStatus {
	return BreakerStatus{Endpoint: k.String(), State: b.state, Failures: b.failures,
		Since: resilience.ByClock(b.since, now),
		Until: resilience.ByClock(b.until, now), Provider: b.provider, Host: k.host, Route: k.endpoint}
}

// forgetAfter is how long after its probe was due an endpoint that nobody calls is forgotten. It is longer than any
// wait between our calls.
const forgetAfter = 3 * time.Hour

// Forget drops the breakers of endpoints that nobody has called since their probe was due, such as those of a removed
// server: nothing would ever close them.
func (bs *Breakers) Forget() {
	if bs == nil {
		return
	}
	bs.mu.Lock()
	gone := map[endpointKey]*breaker{}
	for k, b := range bs.all {
		unused := time.Since(b.opened) >= forgetAfter && time.Since(b.until) >= forgetAfter
		if b.state != BreakerClosed && !b.probing && unused {
			gone[k] = b
			delete(bs.all, k)
		}
	}
	bs.mu.Unlock()
	for k, b := range gone {
		bs.tell(b, k, b.state, BreakerClosed)
	}
}

// Reset closes the breaker of an endpoint, because an administrator believes that it works again, and returns the
// state that it had; false if there is no such endpoint.
func (bs *Breakers) Reset(endpoint string) (BreakerState, bool) {
	if bs == nil {
		return BreakerClosed, false
	}
	bs.mu.Lock()
	for k, b := range bs.all {
		if k.String() != endpoint {
			continue
		}
		from := b.state
		b.failures, b.trips, b.probing = 0, 0, false
		if from != BreakerClosed {
			b.change(BreakerClosed, time.Now())
		}
		bs.mu.Unlock()
		bs.tell(b, k, from, BreakerClosed)
		return from, true
	}
	bs.mu.Unlock()
	return BreakerClosed, false
}
