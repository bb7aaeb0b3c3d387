package sync

import (
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// Line is the state of reading from a connection, or of sending to it: the gravest of its streams'.
type Line struct {
	Stream        string // whose state it is
	Condition     Condition
	State         resilience.State
	Words         notify.Words // why, and who must act; none while all is well
	Detail        string
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
		return l.State.Kind == resilience.Held || l.State.Kind == resilience.Stopped
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
	if graver || l.State.Kind == resilience.Ready && st.State.Kind != resilience.Ready {
		l.State, l.Stream, l.StreamSuccess = st.State, st.Stream, st.LastSuccessAt
	}
	if graver {
		l.Condition = st.Condition
	}
}

// main returns the line whose state is the connection's. That is reading, where anything is read, unless somebody has
// to act so that sending goes on: a wait before sending is none of the connection.
func (s Status) main() Line {
	switch {
	case s.Reading == nil && s.Sending == nil:
		return Line{Condition: Healthy}
	case s.Reading == nil, s.Sending.NeedsSomebody() && !s.Reading.NeedsSomebody() && s.Reading.Condition != Paused:
		return *s.Sending
	}
	return *s.Reading
}

// lineOf returns the line that a stream belongs to.
func (s *Status) lineOf(stream string) **Line {
	if stream == library.Deliveries {
		return &s.Sending
	}
	return &s.Reading
}
