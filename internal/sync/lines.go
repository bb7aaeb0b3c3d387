package sync

import (
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

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
