package sync

import (
	"context"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// Condition is the state of a connection or stream as people and scripts see it.
type Condition string

// The conditions.
const (
	Healthy        Condition = "healthy"
	Syncing        Condition = "syncing"
	Waiting        Condition = "waiting" // a backoff
	Held           Condition = "held"    // the upstream dictated a wait
	NeedsReconnect Condition = "needs_reconnect"
	NeedsAdmin     Condition = "needs_admin"
	Paused         Condition = "paused"
	New            Condition = "new" // not read yet
)

// Conditions are all conditions.
var Conditions = []string{string(Healthy), string(Syncing), string(Waiting), string(Held), string(NeedsReconnect),
	string(NeedsAdmin), string(Paused), string(New)}

// gravity orders conditions: a connection shows the gravest of its streams'.
var gravity = map[Condition]int{Healthy: 0, New: 1, Waiting: 2, Held: 3, Syncing: 4, NeedsAdmin: 5,
	NeedsReconnect: 6, Paused: 7}

// StreamStatus describes one stream.
type StreamStatus struct {
	Stream        string
	Condition     Condition
	State         backoff.State
	LastSuccessAt time.Time
	Note          words.Text
	History       bool          // some of the history before the first sync is still to be read
	Done, Total   int           // plays of the history
	Reads         bool          // plays have been read there
	LateAtOnce    bool          // plays that arrive late are read with the next run, however old they are
	LateDaily     bool          // they are looked for once a day, as far back as LookBack
	Every         time.Duration // how often it is read at the moment; 0 if nothing is
	Sharing       int           // connections because of which that is less often than the loop ticks; 0 if it is not
}

// Status describes one connection.
type Status struct {
	Connection    library.Connection
	Provider      *providers.Provider
	Condition     Condition     // made of Reading and Sending; see main
	State         backoff.State // the same
	Words         notify.Words
	Detail        string
	LastSuccessAt time.Time
	Streams       []StreamStatus   // without those that its server does not offer
	Note          words.Text       // what its server does not offer, if that is listens
	Reading       *Line            // nil where nothing is read
	Sending       *Line            // nil where something is read, and nothing was ever sent, and has to be
	Waiting       delivery.Waiting // what waits to be sent there
}

// StatusStore is what a status is made of.
type StatusStore interface {
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	Streams(ctx context.Context, user int64) ([]library.StreamRecord, error)
	Waiting(ctx context.Context, user int64) (map[library.ConnectionID]delivery.Waiting, error)
}

// statuses describes connections.
type statuses struct {
	guard  *Guard
	syncer *Syncer
	remote LiveStore // where the server that calls the services saves what it knows; nil if that is this one
}

// StatusOf returns the status of every connection of a user, in the order of the registry.
func (m *statuses) StatusOf(ctx context.Context, user int64, store StatusStore) ([]Status, error) {
	connections, err := store.UserConnections(ctx, user)
	if err != nil {
		return nil, err
	}
	records, err := store.Streams(ctx, user)
	if err != nil {
		return nil, err
	}
	waiting, err := store.Waiting(ctx, user)
	if err != nil {
		return nil, err
	}
	states, err := m.liveOf(ctx, user, connections)
	if err != nil {
		return nil, err
	}
	all := make([]Status, 0, len(connections))
	for _, p := range m.guard.opt.Registry.All() {
		for _, c := range connections {
			if c.Provider() == p.Name {
				all = append(all, status(p, c, records, waiting[c.ID], states[c.ID]))
			}
		}
	}
	return all, nil
}

func status(
	p *providers.Provider, c library.Connection, records []library.StreamRecord, waiting delivery.Waiting,
	now liveConnection,
) Status {
	record := func(stream string) (r library.StreamRecord) {
		for _, r := range records {
			if r.Connection == c.ID && r.Stream == stream {
				return r
			}
		}
		return r
	}
	c.Credentials = nil // nobody who looks needs them
	s := Status{Connection: c, Provider: p, Waiting: waiting}
	for _, stream := range p.Guarded() { // what is sent comes last
		r := record(stream)
		if r.Position == library.NotOffered {
			if stream == library.Listens {
				s.Note = r.Note
			}
			continue
		}
		st := streamStatus(c, stream, r, now.Streams[stream])
		if stream == library.Deliveries && !s.takesUp(&st) {
			continue
		}
		s.add(st)
		if st.LastSuccessAt.After(s.LastSuccessAt) {
			s.LastSuccessAt = st.LastSuccessAt
		}
		s.Streams = append(s.Streams, st)
	}
	for _, l := range []*Line{s.Reading, s.Sending} {
		if l == nil || l.State.Kind == backoff.Ready {
			continue
		}
		r := record("")
		if l.State.Scope == resilience.ScopeStream {
			r = record(l.Stream)
		}
		advice := r.Advice
		if l.State.Scope == resilience.ScopeApp {
			advice = now.Advice // what is about the app is stored with no connection
		}
		l.Words = notify.Explain(p, c, notify.Trouble{State: l.State, Stream: l.Stream, Advice: advice,
			Waiting: waiting.Clause()})
		l.Detail = r.Detail
		if l.State.Astray {
			l.MovedTo = r.Advice.Arg("Address")
		}
	}
	main := s.main()
	s.Condition, s.State, s.Words, s.Detail = main.Condition, main.State, main.Words, main.Detail
	return s
}

func streamStatus(c library.Connection, stream string, r library.StreamRecord, now live) StreamStatus {
	st := StreamStatus{Stream: stream, LastSuccessAt: r.LastSuccessAt, Note: r.Note, State: now.State,
		Every: now.Every, Sharing: now.Sharing}
	if stream == library.Listens {
		if pos, err := parsePosition(r.Position); err == nil {
			st.History, st.Done, st.Total = pos.history(), pos.Done, pos.Total
			st.Reads = !pos.High.IsZero()
			st.LateAtOnce, st.LateDaily = !pos.CountedTo.IsZero(), !pos.Looked.IsZero()
		}
	}
	st.Condition = condition(c, st.State, r, now.Running)
	return st
}

// takesUp reports whether sending is part of the status: where nothing is read it always is. What failed long ago is no
// trouble any more when nothing waits, and a service that was never sent anything is ready.
func (s *Status) takesUp(st *StreamStatus) bool {
	over := st.State.Kind == backoff.Waiting && !st.State.Until.After(time.Now())
	if over && st.State.Scope == resilience.ScopeStream && s.Waiting == (delivery.Waiting{}) {
		st.State = backoff.State{}
		st.Condition = New
		if !st.LastSuccessAt.IsZero() {
			st.Condition = Healthy
		}
	}
	if s.Reading != nil {
		return st.sends(s.Waiting)
	}
	if st.Condition == New && s.Waiting == (delivery.Waiting{}) && s.Provider.Takes.Listens != "" {
		st.Condition = Healthy
	}
	return true
}

// sends reports whether anything was ever sent, or has to be. A stop of the whole connection says nothing about that.
func (st StreamStatus) sends(waiting delivery.Waiting) bool {
	ofConnection := st.Condition == New || st.Condition == Paused || st.State.Scope != resilience.ScopeStream
	return !ofConnection || st.Condition == Syncing || !st.LastSuccessAt.IsZero() || waiting != (delivery.Waiting{})
}

func condition(c library.Connection, s backoff.State, r library.StreamRecord, running bool) Condition {
	switch {
	case c.Paused:
		return Paused
	case s.Kind == backoff.Stopped &&
		(s.ForAdmin || s.Scope == resilience.ScopeApp || s.Category == resilience.Contract):
		return NeedsAdmin
	case s.Kind == backoff.Stopped:
		return NeedsReconnect
	case s.Mendable && s.ForAdmin:
		return NeedsAdmin
	case s.Mendable:
		return NeedsReconnect
	case running && !s.Until.After(time.Now()): // else the run is about to be refused
		return Syncing
	case s.Kind == backoff.Held:
		return Held
	case s.Kind == backoff.Waiting:
		return Waiting
	case r.LastSuccessAt.IsZero():
		return New
	}
	return Healthy
}

// HeldStore has the stops and waits that outlive a restart.
type HeldStore interface {
	Stops(context.Context) ([]backoff.Stop, error)
	Holds(context.Context) ([]backoff.Hold, error)
}

// Restore restores what the backoff must know after a restart: the stops, and the waits that upstreams dictated.
// Those of keys are in their pools.
func Restore(ctx context.Context, b *backoff.Manager, known *providers.Registry, store HeldStore) error {
	return restore(ctx, b, known, store, func(backoff.Key) bool { return true })
}

// restore is Restore for some apps.
func restore(ctx context.Context, b *backoff.Manager, known *providers.Registry, store HeldStore,
	some func(app backoff.Key) bool) error {
	stops, err := store.Stops(ctx)
	if err != nil {
		return err
	}
	holds, err := store.Holds(ctx)
	if err != nil {
		return err
	}
	for _, s := range stops {
		if some(s.Key) {
			b.RestoreStop(s)
		}
	}
	for _, h := range holds {
		if some(h.Key) {
			b.RestoreHold(h)
		}
	}
	for _, p := range known.All() {
		k := backoff.Key{Provider: p.Name, App: p.App(nil)}
		if p.Pool != nil && p.Pool.Instead || !some(k) {
			continue // calls go on with people's own permissions
		}
		if s, short := p.Keys.Short(); short {
			b.RestoreHold(backoff.Hold{Key: k, Category: s.Category, Since: time.Now(), Until: s.Until})
		}
	}
	return nil
}

// Line is the state of reading from a connection, or of sending to it: the gravest of its streams'.
type Line struct {
	Stream        string // whose state it is
	Condition     Condition
	State         backoff.State
	Words         notify.Words // why, and who must act; none while all is well
	Detail        string
	MovedTo       string // the address that its server redirects to; empty for none
	LastSuccessAt time.Time
	StreamSuccess time.Time // of Stream alone
}

// NeedsSomebody reports whether the line goes on only when a person has acted.
func (l *Line) NeedsSomebody() bool {
	return l != nil && (l.Condition == NeedsReconnect || l.Condition == NeedsAdmin)
}

// Liftable reports whether an administrator can end what keeps the line waiting: a refused or spent key, or the
// installation's own registration.
func (l *Line) Liftable() bool {
	if l == nil || l.State.Scope != resilience.ScopeApp && l.State.Scope != resilience.ScopeKey {
		return false
	}
	switch l.State.Category {
	case resilience.Quota, resilience.Auth, resilience.Permission, resilience.Config:
		return l.State.Kind == backoff.Held || l.State.Kind == backoff.Stopped
	}
	return false
}

// add takes a stream into the line.
func (l *Line) add(st StreamStatus) {
	if l.Stream == "" {
		l.Stream, l.Condition = st.Stream, Healthy
	}
	if st.LastSuccessAt.After(l.LastSuccessAt) {
		l.LastSuccessAt = st.LastSuccessAt
	}
	graver := gravity[st.Condition] > gravity[l.Condition]
	if graver || l.State.Kind == backoff.Ready && st.State.Kind != backoff.Ready {
		l.State, l.Stream, l.StreamSuccess = st.State, st.Stream, st.LastSuccessAt
	}
	if graver {
		l.Condition = st.Condition
	}
}

// Fails reports whether the line waits because of a failure. A limit that a service asks to keep is none.
func (l *Line) Fails() bool {
	return l != nil && (l.Condition == Waiting || l.Condition == Held) && l.State.Category != resilience.RateLimit &&
		l.State.Category != resilience.Quota
}

// main returns the line whose state is shown and counted as the connection's. That is reading, if anything is read,
// unless only sending needs a person or fails.
func (s Status) main() Line {
	switch read, sent := s.Reading, s.Sending; {
	case read == nil && sent == nil:
		return Line{Condition: Healthy}
	case read == nil:
		return *sent
	case read.Condition == Paused, read.NeedsSomebody():
		return *read
	case sent.NeedsSomebody(), sent.Fails() && read.State.Kind == backoff.Ready:
		return *sent
	default:
		return *read
	}
}

// add takes a stream into the line that it belongs to.
func (s *Status) add(st StreamStatus) {
	line := &s.Reading
	if st.Stream == library.Deliveries {
		line = &s.Sending
	}
	if *line == nil {
		*line = &Line{}
	}
	(*line).add(st)
}
