package backoff

import (
	"time"

	"reprise/internal/resilience"
)

// Kind is the coarse half of a [State].
type Kind uint8

// The kinds of state, from the best to the worst.
const (
	Ready   Kind = iota // may call
	Waiting             // backoff: a wait that we guess
	Held                // a wait that the upstream dictated
	Stopped             // fatal: waits for a person
)

var kindNames = [...]string{"ready", "waiting", "held", "stopped"}

func (k Kind) String() string { return kindNames[k] }

// State is what is known of one stream, or of the connection or app that it belongs to. The zero State is Ready.
type State struct {
	Kind     Kind
	Category resilience.Category // why, unless Ready
	Scope    resilience.Scope    // what failed: ScopeStream, ScopeConnection or ScopeApp
	Since    time.Time           // of the first failure in this row
	Until    time.Time           // next attempt; zero when Ready, when Stopped, and while another call is finding out
	Failures int                 // in a row
	ForAdmin bool                // only the administrator can mend it, although Scope is not ScopeApp
	Astray   bool                // the latest answer did not speak the service's protocol; see [resilience.Verdict]
	Mendable bool                // it was so twice in a row, and somebody can correct the address
}

// ChangeKind says which change of state one outcome brought about.
type ChangeKind uint8

// The changes worth telling somebody.
const (
	Unchanged    ChangeKind = iota
	Began                   // ready → waiting or held
	Recovered               // waiting or held → ready
	BecameFatal             // → stopped
	StillFailing            // at the longest backoff for a day; said once per row of failures
	WentAstray              // State.Mendable has become true
)

// Change is what one outcome did, and where its stream is after it, all decided under one lock: exactly one caller
// sees each change, and nobody has to ask for the state again to draw its consequences.
type Change struct {
	Kind ChangeKind
	// Fault is the state of what failed, after the outcome; for Recovered, the state that ended. It is zero if the
	// outcome told nothing new.
	Fault State
	// NewHold is set if Fault.Until is a hold that was not known before, or a longer one: it must survive a restart.
	NewHold bool

	// Verdict is what the outcome means for the whole call. Its scope is an item only if [Terms] has Items.
	Verdict  resilience.Verdict
	Stream   State  // of the stream, as [Manager.State] returns it
	AllReady bool   // every stream of the connection may call
	Seq      uint64 // orders changes: an outcome with a smaller number was there first
}

// News reports whether the outcome told anything that was not known, if only one more failure.
func (c Change) News() bool { return c.Fault.Kind != Ready }

// straysTold is how many answers astray in a row show that the address is wrong. A single one may be a proxy's while
// the server behind it restarts.
const straysTold = 2

// strayed counts an answer astray, and reports whether it is the one to tell somebody about.
func (u *unit) strayed(v resilience.Verdict) bool {
	if !v.Astray {
		u.strays = 0
		return false
	}
	u.mendable, u.forAdmin = v.Mendable, v.ForAdmin
	if u.strays < straysTold {
		u.strays++
		return u.strays == straysTold && v.Mendable
	}
	return false
}

// unit is the retry state of one thing that can be at fault: a stream, a connection or an app.
type unit struct {
	kind     Kind
	category resilience.Category
	holdFor  resilience.Category // why the upstream dictated hold
	repeats  uint8               // of the same FatalAfter category in a row
	capTold  bool
	forAdmin bool   // see State
	strays   uint8  // answers astray in a row, up to straysTold
	mendable bool   // see Verdict
	probe    uint64 // permit that is finding out whether the trouble is over; 0 for none
	failures int
	attempt  int    // number of the last one that failed: a row of failures counts each try
	failedAt uint64 // sequence number of the last recorded failure
	liftedAt uint64 // sequence number of the last "Try again" that lifted something
	since    time.Time
	failed   time.Time // the latest failure
	until    time.Time
	hold     time.Time // the latest instant that the upstream dictated, also while kind is Waiting or Stopped
	capSince time.Time // when the backoff reached its cap; zero before
}

func (u *unit) state(scope resilience.Scope, now time.Time) State {
	if u.kind == Ready {
		return State{}
	}
	s := State{Kind: u.kind, Category: u.category, Scope: scope, Since: resilience.ByClock(u.since, now),
		Failures: u.failures, ForAdmin: u.forAdmin}
	if u.kind != Stopped {
		s.Astray, s.Mendable = u.strays > 0, u.mendable && u.strays >= straysTold
	}
	if u.kind != Stopped && (u.probe == 0 || u.until.After(now)) {
		s.Until = resilience.ByClock(u.until, now)
	}
	return s
}

// shown returns the state as people see it: a hold that has ended only waits for its next attempt.
func (u *unit) shown(scope resilience.Scope, now time.Time) State {
	s := u.state(scope, now)
	if s.Kind == Held && !u.until.After(now) {
		s.Kind = Waiting
	}
	return s
}

// mayCall reports whether a call may go out now as far as u is concerned.
func (u *unit) mayCall(now time.Time) bool {
	return u.kind == Ready || u.kind != Stopped && u.probe == 0 && !u.until.After(now)
}

// dictate notes a wait that the upstream dictated, and reports whether it is new: a smaller value never shortens a
// hold.
func (u *unit) dictate(notBefore time.Time, why resilience.Category, now time.Time) bool {
	if !notBefore.After(now) || !notBefore.After(u.hold) {
		return false
	}
	u.hold, u.holdFor = notBefore, why
	return true
}

// settle replaces a wait that we guess with one that the upstream dictated. A rate limit is kept to the second; after
// an outage the dictated wait is a minimum.
func (u *unit) settle(now time.Time) {
	exact := u.holdFor != resilience.Upstream && u.holdFor != resilience.Network
	if u.hold.After(now) && (exact || u.hold.After(u.until)) {
		u.kind, u.until, u.category = Held, u.hold, u.holdFor
	}
}

// repeated counts a failure that becomes fatal after some in a row, and reports whether it has.
func (u *unit) repeated(v resilience.Verdict) bool {
	if v.FatalAfter == 0 {
		return false
	}
	if u.category != v.Category {
		u.repeats = 0
	}
	u.repeats++
	return u.repeats >= v.FatalAfter
}

// lift ends a stop or a backoff, so that one call may find out at once, but not a wait that the upstream dictated. If
// a call is finding out already, it is left to it.
func (u *unit) lift(seq uint64, now time.Time) {
	if u.kind != Stopped && (u.kind != Waiting || u.probe != 0) {
		return
	}
	*u = unit{kind: Waiting, category: u.category, since: u.since, until: now, hold: u.hold, holdFor: u.holdFor,
		failedAt: seq, liftedAt: seq, probe: u.probe, strays: u.strays, mendable: u.mendable,
		forAdmin: u.mendable && u.forAdmin}
	u.settle(now)
}

// reset forgets everything but the order of events.
func (u *unit) reset() { *u = unit{failedAt: u.failedAt, liftedAt: u.liftedAt} }

// Stop is a stop as it is stored, to be restored after a restart. An empty Key.Stream means the whole connection.
type Stop struct {
	Key        Key
	Generation int64
	Category   resilience.Category
	ForAdmin   bool // see State
	Since      time.Time
}

// Hold is a dictated wait as it is stored. User is 0 if all users of the app wait, Stream empty if the whole
// connection does.
type Hold struct {
	Key      Key
	Category resilience.Category
	Since    time.Time
	Until    time.Time
}
