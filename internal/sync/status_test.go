package sync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

func TestAConnectionHasTheGraverState(t *testing.T) {
	t.Parallel()
	held := backoff.State{Kind: backoff.Held, Category: resilience.RateLimit, Scope: resilience.ScopeStream}
	stopped := backoff.State{Kind: backoff.Stopped, Category: resilience.Permission,
		Scope: resilience.ScopeStream}
	failed := backoff.State{Kind: backoff.Waiting, Category: resilience.Network, Scope: resilience.ScopeStream}
	is := func(c Condition, state backoff.State) StreamStatus {
		return StreamStatus{Condition: c, State: state}
	}
	for name, c := range map[string]struct {
		reading, sending StreamStatus
		want             Condition
	}{
		"sending is held":           {StreamStatus{Condition: Healthy}, is(Held, held), Healthy},
		"sending fails":             {StreamStatus{Condition: Healthy}, is(Waiting, failed), Waiting},
		"sending fails meanwhile":   {StreamStatus{Condition: Syncing}, is(Waiting, failed), Waiting},
		"both fail":                 {is(Held, failed), is(Waiting, failed), Held},
		"it is paused":              {StreamStatus{Condition: Paused}, is(NeedsReconnect, stopped), Paused},
		"sending needs the person":  {StreamStatus{Condition: Healthy}, is(NeedsReconnect, stopped), NeedsReconnect},
		"reading is held":           {is(Held, held), StreamStatus{Condition: Healthy}, Held},
		"both need somebody":        {is(NeedsReconnect, stopped), is(NeedsAdmin, stopped), NeedsReconnect},
		"reading goes on meanwhile": {StreamStatus{Condition: Syncing}, is(Waiting, held), Syncing},
	} {
		var s Status
		for stream, st := range map[string]StreamStatus{library.Listens: c.reading, library.Deliveries: c.sending} {
			st.Stream = stream
			s.add(st)
		}
		require.Equal(t, c.want, s.main().Condition, name)
		require.Equal(t, c.sending.Condition, s.Sending.Condition, name)
		require.Equal(t, c.reading.State, s.Reading.State, name)
	}
}

// A stop of the whole connection says nothing of sending where nothing was ever sent.
func TestSendingIsShownWhereSomethingIsSent(t *testing.T) {
	t.Parallel()
	whole := StreamStatus{Condition: NeedsReconnect, State: backoff.State{Kind: backoff.Stopped,
		Category: resilience.Auth, Scope: resilience.ScopeConnection}}
	require.False(t, whole.sends(delivery.Waiting{}))
	require.True(t, whole.sends(delivery.Waiting{Listens: 1}))
	require.False(t, StreamStatus{Condition: Paused}.sends(delivery.Waiting{}))
	require.False(t, StreamStatus{Condition: New}.sends(delivery.Waiting{}))
	require.True(t, StreamStatus{Condition: Syncing}.sends(delivery.Waiting{}))
	sent := whole
	sent.LastSuccessAt = time.Now()
	require.True(t, sent.sends(delivery.Waiting{}))
	own := whole
	own.State.Scope = resilience.ScopeStream
	require.True(t, own.sends(delivery.Waiting{}), "what fails is sending itself")
}

func TestWhatOnlyTakesHasTheStateOfSending(t *testing.T) {
	t.Parallel()
	var s Status
	s.Sending = &Line{}
	s.Sending.add(StreamStatus{Stream: library.Deliveries, Condition: Held})
	require.Equal(t, Held, s.main().Condition)
	require.Nil(t, s.Reading)
}

func TestTheGravestStreamIsTheLines(t *testing.T) {
	t.Parallel()
	l := &Line{}
	l.add(StreamStatus{Stream: library.Listens, Condition: Healthy})
	l.add(StreamStatus{Stream: library.Playlists, Condition: NeedsReconnect,
		State: backoff.State{Kind: backoff.Stopped}})
	l.add(StreamStatus{Stream: "others", Condition: Waiting, State: backoff.State{Kind: backoff.Waiting}})
	require.Equal(t, library.Playlists, l.Stream)
	require.Equal(t, backoff.Stopped, l.State.Kind)
	require.True(t, l.NeedsSomebody())
}

func TestWhatAnAdministratorCanLift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind     backoff.Kind
		category resilience.Category
		scope    resilience.Scope
		want     bool
	}{
		{backoff.Held, resilience.Quota, resilience.ScopeApp, true},
		{backoff.Stopped, resilience.Auth, resilience.ScopeApp, true},
		{backoff.Held, resilience.RateLimit, resilience.ScopeApp, false},
		{backoff.Stopped, resilience.Auth, resilience.ScopeConnection, false},
		{backoff.Waiting, resilience.Upstream, resilience.ScopeEndpoint, false},
	} {
		l := &Line{State: backoff.State{Kind: c.kind, Category: c.category, Scope: c.scope}}
		require.Equal(t, c.want, l.Liftable(), c)
	}
}
