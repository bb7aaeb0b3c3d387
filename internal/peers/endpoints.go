package peers

import (
	"encoding/json"
	"slices"
	"time"

	"reprise/internal/cluster"
	"reprise/internal/leases"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
)

// Imports are the files that this server reads; see imports.Runner.
type Imports interface {
	Troubles() map[int64]words.Text
	ReadRemote(trouble func(id int64) words.Text)
}

// said is what a server says of what it does.
type said struct {
	Breakers []transport.BreakerStatus `json:"b,omitempty"` // with problems
	Offline  time.Time                 `json:"o,omitzero"`  // when the next probe of the internet may go out
	Imports  map[int64]words.Text      `json:"i,omitempty"` // why those wait that it reads
}

// Endpoints are the breakers and the uplink of all servers. The others' are a few seconds late. It is safe for
// concurrent use.
type Endpoints struct {
	Breakers *transport.Breakers // of this server
	Uplink   *transport.Uplink   // the same

	apps  *leases.Holder
	notes *cluster.Notes
}

// called returns the breakers of what this server calls: others are left from before an app has moved.
func (e *Endpoints) called() []transport.BreakerStatus {
	return slices.DeleteFunc(e.Breakers.Status(), func(b transport.BreakerStatus) bool {
		return !e.apps.Calls(b.Provider)
	})
}

// Says implements leases.Engine.
func (p *Peer) Says() string {
	var s said
	for _, b := range p.Endpoints.called() {
		if b.State != transport.BreakerClosed || b.Failures > 0 {
			s.Breakers = append(s.Breakers, b)
		}
	}
	if until, offline := p.Endpoints.Uplink.Offline(); offline {
		s.Offline = until
	}
	s.Imports = p.Imports.Troubles()
	b, err := json.Marshal(s)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// importTrouble says why an import waits that another server reads; empty when it does not.
func (e *Endpoints) importTrouble(id int64) words.Text {
	for _, s := range e.others() {
		if why := s.Imports[id]; !why.IsZero() {
			return why
		}
	}
	return words.Text{}
}

// others returns what the other servers say.
func (e *Endpoints) others() (all []said) {
	for _, text := range e.apps.Said() {
		var s said
		if json.Unmarshal([]byte(text), &s) == nil { // else it is of another version
			all = append(all, s)
		}
	}
	return all
}

// Status returns the breakers of this server, and those of the others that have problems: the worst of each endpoint.
func (e *Endpoints) Status() []transport.BreakerStatus {
	all := e.called()
	for _, s := range e.others() {
		for _, b := range s.Breakers {
			i := slices.IndexFunc(all, func(own transport.BreakerStatus) bool { return own.Endpoint == b.Endpoint })
			switch {
			case i < 0:
				all = append(all, b)
			case all[i].State == transport.BreakerClosed:
				all[i] = b
			}
		}
	}
	transport.SortBreakers(all)
	return all
}

// Reset closes a breaker on whichever server has it. It returns the state before; false if there is none.
func (e *Endpoints) Reset(endpoint string) (before transport.BreakerState, ok bool) {
	before, ok = e.Breakers.Reset(endpoint)
	for _, s := range e.others() {
		for _, b := range s.Breakers {
			if b.Endpoint == endpoint {
				e.notes.Tell(aboutBreaker, endpoint)
				before, ok = max(before, b.State), true
			}
		}
	}
	return before, ok
}

// Offline reports whether a server's uplink is lost, and when its next probe may go out.
func (e *Endpoints) Offline() (until time.Time, offline bool) {
	if until, offline = e.Uplink.Offline(); offline {
		return until, true
	}
	for _, s := range e.others() {
		if !s.Offline.IsZero() {
			return s.Offline, true
		}
	}
	return until, false
}
