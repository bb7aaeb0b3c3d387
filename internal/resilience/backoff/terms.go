package backoff

import (
	"time"

	"reprise/internal/resilience"
)

// Terms say what an outcome of a call means for its connection, beside its verdict.
type Terms struct {
	NamedBy NamedBy // who named the server
	// Sends says that the call delivers something, on a schedule that begins with the wait First; 0 means the usual
	// one. A failure of the network concerns its stream only: reading finds out for itself. Six deliveries in half a
	// minute would make it wait for half an hour, and its waits are too long for them.
	Sends bool
	First time.Duration
	Alone bool // nothing else uses the connection
	// Items says that a refused item is no failure of the call: nothing is learned from it about other calls.
	Items bool
}

// NamedBy says who has named the server that a call goes to, and so can correct its address.
type NamedBy uint8

// Who may have named a server. The zero value leaves it to the verdict.
const (
	NamedByUser    NamedBy = iota + 1
	NamedBySetting         // of the installation: another address than the service's own
	NamedByService         // nobody else: it is the service's own
)

// whole returns what an outcome means for the whole call. An item's failure that got this far could not be skipped: it
// was about the call itself, and so the contract is broken. See docs/resilience.md.
func (p *Permit) whole(v resilience.Verdict) resilience.Verdict {
	t := &p.Terms
	if v.Scope == resilience.ScopeItem {
		if t.Items {
			return v
		}
		v.Category, v.Scope = resilience.Contract, resilience.ScopeStream
	}
	if t.Sends && v.Category == resilience.Network && v.Scope == resilience.ScopeConnection {
		v.Scope = resilience.ScopeStream
	}
	if t.Sends && v.FirstDelay == 0 && (t.Alone || v.Scope == resilience.ScopeStream) {
		v.FirstDelay = t.First
	}
	switch {
	case t.Alone: // its person hears of each failure
		v.Astray = false
	case v.Astray && t.NamedBy != 0:
		v.ForAdmin, v.Mendable = t.NamedBy != NamedByUser, t.NamedBy != NamedByService
	}
	return v
}
