package sync

import (
	"context"
	"slices"
	"time"

	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// SurveyStore is what a survey is made of.
type SurveyStore interface {
	Standings(context.Context) ([]library.Standing, error)
}

// Survey describes all connections to one provider.
type Survey struct {
	Conditions  map[Condition]int
	NextAttempt time.Time // the soonest of those that wait
	HoldUntil   time.Time // the latest
	LastSuccess time.Time // the latest
	Ends        time.Time // the soonest end of an authorization
}

// Survey describes all connections that this server calls, and the state of the installation's own calls, by provider.
func (m *statuses) Survey(
	ctx context.Context, store SurveyStore, own []*providers.Provider,
) (map[string]Survey, error) {
	all, err := store.Standings(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]Survey{}
	for _, st := range all {
		p := m.guard.opt.Registry.Get(st.Provider())
		if p == nil || !m.guard.Holds(st.ID, st.App) {
			continue
		}
		s := found[st.Provider()]
		if s.Conditions == nil {
			s.Conditions = map[Condition]int{}
		}
		now := m.conditionOf(p, st, &s)
		s.Conditions[now]++
		if st.LastSuccessAt.After(s.LastSuccess) {
			s.LastSuccess = st.LastSuccessAt
		}
		// One that has ended already would hide those that are about to.
		if now != NeedsReconnect && !st.ExpiresAt.IsZero() && (s.Ends.IsZero() || st.ExpiresAt.Before(s.Ends)) {
			s.Ends = st.ExpiresAt
		}
		found[st.Provider()] = s
	}
	if !m.guard.opt.Apps.Holds(leases.OfLeader) {
		own = nil
	}
	for _, p := range own {
		s := found[p.Name]
		for _, stream := range p.Guarded() {
			s.note(m.guard.state(library.Connection{ID: library.ConnectionID(p.Name)}, stream))
		}
		found[p.Name] = s
	}
	return found, nil
}

// conditionOf returns the condition of a connection, and notes its waits in s.
func (m *statuses) conditionOf(p *providers.Provider, st library.Standing, s *Survey) Condition {
	c := library.Connection{User: st.User, ID: st.ID, App: st.App, Paused: st.Paused}
	var lines Status
	for _, stream := range p.Guarded() {
		if slices.Contains(st.Lacks, stream) {
			continue
		}
		state := m.guard.state(c, stream)
		s.note(state)
		r := library.StreamRecord{LastSuccessAt: time.Unix(1, 0)} // what has not been read yet is looked at below
		lines.add(StreamStatus{Stream: stream, State: state,
			Condition: condition(c, state, r, m.syncer.Running(Key{c.User, c.ID, stream}))})
	}
	now := lines.main().Condition
	unread := st.Read+len(st.Lacks) < len(p.Streams) || st.LastSuccessAt.IsZero() && p.Takes.Archive
	if now == Healthy && unread {
		return New
	}
	return now
}

func (s *Survey) note(state backoff.State) {
	switch {
	case state.Until.IsZero(): // stopped, or a call is finding out
	case state.Kind == backoff.Waiting && (s.NextAttempt.IsZero() || state.Until.Before(s.NextAttempt)):
		s.NextAttempt = state.Until
	case state.Kind == backoff.Held && state.Until.After(s.HoldUntil):
		s.HoldUntil = state.Until
	}
}
