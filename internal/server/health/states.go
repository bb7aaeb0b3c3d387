package health

import (
	"slices"

	"reprise/internal/metrics"
	"reprise/internal/resilience/transport"
)

// The states of a service. The first six are those of connections.
const (
	healthy        = "healthy"
	needsAdmin     = "needs_admin"
	needsReconnect = "needs_reconnect"
	held           = "held"
	waiting        = "waiting"
	paused         = "paused"

	left    = "left"    // alone, after repeated failures
	trying  = "trying"  // whether it works again
	failing = "failing" // more than usual
	often   = "often"   // fails, as usual
	slower  = "slower"  // than usual
	quiet   = "quiet"   // not called in the last hour
	none    = "none"    // no success in the last hour, of too few calls to call it a trend
)

// gravity is how bad a state is; zero for one that needs nobody's attention.
var gravity = map[string]int{needsAdmin: 10, needsReconnect: 9, left: 8, waiting: 7, held: 6, trying: 5, failing: 4,
	often: 3, slower: 2}

// shapes are the shapes of states that are not named like their shape.
var shapes = map[string]string{left: waiting, trying: "syncing", often: failing, slower: waiting, quiet: "new",
	none: "new"}

// shapeOf returns the name of a state's shape.
func shapeOf(state string) string {
	if shape, ok := shapes[state]; ok {
		return shape
	}
	return state
}

// numbers are the calls to a service, or to one of its endpoints.
type numbers struct {
	metrics.Health
	open []transport.BreakerStatus
}

// state returns the present state by the calls alone.
func (n numbers) state() string {
	isOpen := func(b transport.BreakerStatus) bool { return b.State == transport.BreakerOpen }
	switch {
	case slices.ContainsFunc(n.open, isOpen):
		return left
	case len(n.open) > 0:
		return trying
	case n.Trend == metrics.Failing:
		return failing
	case n.Trend == metrics.OftenFailing:
		return often
	case n.Trend == metrics.Slower:
		return slower
	case n.Hour.Attempts == 0:
		return quiet
	case n.Hour.Failures == n.Hour.Attempts:
		return none
	}
	return healthy
}

// worse returns the state of a service whose calls say one thing, and whose card another. A card without trouble says
// nothing about the calls, except that somebody has paused them.
func worse(calls, card string) string {
	switch {
	case gravity[card] > gravity[calls]:
		return card
	case card == paused && gravity[calls] == 0:
		return paused
	}
	return calls
}
