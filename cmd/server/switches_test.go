package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/soak"
	syncer "reprise/internal/sync"
)

// switched is an installation of one person, forwarding to the services that take plays, after a switch of the demo's
// page was set for half an hour.
type switched struct {
	*installation
	service string
	at      time.Time
	listens int // that the person had then
}

func (s *switched) status() syncer.Status {
	s.t.Helper()
	all, err := s.connections.StatusOf(context.Background(), s.users[0], s.store)
	require.NoError(s.t, err)
	for _, one := range all {
		if one.Provider.Name == s.service {
			return one
		}
	}
	s.t.Fatalf("no connection to %s", s.service)
	return syncer.Status{}
}

// arrive requires that plays went on to arrive, also from the service itself.
func (s *switched) arrive() {
	s.t.Helper()
	n, err := s.store.CountListens(context.Background(), s.users[0])
	require.NoError(s.t, err)
	require.Greater(s.t, n, s.listens, "plays arrive")
	for _, st := range s.status().Streams {
		if st.Stream != library.Deliveries {
			require.Equal(s.t, syncer.Healthy, st.Condition, st.Stream)
			since := s.at.Add(10 * time.Minute)
			seldom := st.Stream == library.Loves || st.Stream == library.Songs // hourly, daily
			require.True(s.t, seldom || st.LastSuccessAt.After(since), st.Stream)
		}
	}
}

// deliveries returns how many deliveries to the service are in a state.
func (s *switched) count(state delivery.State) int {
	s.t.Helper()
	n, err := s.store.CountDeliveries(context.Background(), delivery.Filter{User: s.users[0],
		Connection: library.ConnectionID(s.service)})
	require.NoError(s.t, err)
	return n[state]
}

// alert requires the only open notification of the person, who is the administrator, and returns it.
func (s *switched) alert() notify.Notification {
	s.t.Helper()
	open := s.open(s.users[0])
	require.Len(s.t, open, 1, "%+v", open)
	return open[0]
}

// waits requires that the connection waits by itself, without an alert.
func (s *switched) waits() {
	s.t.Helper()
	for range 20 {
		if s.status().Condition != syncer.Syncing { // it may be trying just now
			break
		}
		time.Sleep(15 * time.Second)
	}
	require.Equal(s.t, syncer.Waiting, s.status().Condition)
	require.Empty(s.t, s.open(s.users[0]), "nobody has to act")
}

// goesOn requires that all is well, and that the keys are in these states.
func (s *switched) goesOn(states ...string) {
	s.t.Helper()
	require.Equal(s.t, syncer.Healthy, s.status().Condition)
	require.Empty(s.t, s.open(s.users[0]))
	for n, k := range s.registry.Get(s.service).Keys.Keys() {
		require.Equal(s.t, states[n], k.State(), "key %d", n)
	}
}

// effects are what the page of the demo promises of each switch, to be seen after half an hour.
var effects = map[demo.Mode]func(*switched){
	demo.Normal: func(s *switched) {
		if s.service == demo.YouTube {
			s.goesOn("ready", "ready", "ready")
			return
		}
		s.arrive()
		require.Equal(s.t, syncer.Healthy, s.status().Condition)
	},
	demo.Unavailable: (*switched).waits,
	demo.RateLimited: func(s *switched) {
		st := s.status()
		require.Equal(s.t, syncer.Held, st.Condition)
		require.Empty(s.t, s.open(s.users[0]))
		var held *backoff.NotBeforeError
		err := s.connections.SyncNow(context.Background(), s.users[0], st.Connection.ID)
		require.ErrorAs(s.t, err, &held, "Sync now is refused")
		require.Equal(s.t, st.State.Until, held.State.Until)
	},
	demo.Revoked: func(s *switched) {
		require.Equal(s.t, syncer.NeedsReconnect, s.status().Condition)
		require.Equal(s.t, "Reconnect", s.alert().Action.Label.String())
		calls := len(s.log.of(s.at, time.Now(), func(a attempt) bool { return a.Provider == s.service }))
		time.Sleep(time.Hour)
		require.Len(s.t, s.log.of(s.at, time.Now(), func(a attempt) bool { return a.Provider == s.service }), calls,
			"nothing is called")
	},
	demo.ReadOnly: func(s *switched) {
		s.arrive()
		require.Positive(s.t, s.count(delivery.Parked), "what is to be sent waits")
		require.Zero(s.t, s.count(delivery.Dead))
		require.Contains(s.t, s.alert().Message.String(), "write to this account")
		require.NoError(s.t, s.world.Switch(s.service, demo.Normal))
		require.NoError(s.t, s.connections.Retry(context.Background(), s.users[0], library.ConnectionID(s.service)))
		time.Sleep(5 * time.Minute)
		require.Zero(s.t, s.count(delivery.Parked), "and goes out after Retry")
		require.Empty(s.t, s.open(s.users[0]))
	},
	demo.Hidden: func(s *switched) {
		require.Contains(s.t, s.alert().Message.String(), "https://www.last.fm/settings/privacy")
		require.NoError(s.t, s.world.Switch(s.service, demo.Normal))
		require.NoError(s.t, s.connections.Retry(context.Background(), s.users[0], library.ConnectionID(s.service)))
		time.Sleep(10 * time.Minute)
		require.Empty(s.t, s.open(s.users[0]), "after Retry it goes on")
		require.Equal(s.t, syncer.Healthy, s.status().Condition)
	},
	demo.DailyLimit: func(s *switched) {
		s.arrive()
		require.Positive(s.t, s.count(delivery.Scheduled)+s.count(delivery.Retrying), "it waits")
		require.Zero(s.t, s.count(delivery.Dead), "and nothing is lost")
		require.Equal(s.t, 0, s.status().State.Until.UTC().Hour(), "until midnight UTC")
	},
	demo.Suspended: func(s *switched) {
		require.Equal(s.t, syncer.NeedsAdmin, s.status().Condition)
		require.Contains(s.t, s.alert().Message.String(), "suspended")
	},
	demo.KeySpent:   func(s *switched) { s.goesOn("cooling", "ready", "ready") },
	demo.KeysSpent:  func(s *switched) { s.goesOn("cooling", "cooling", "cooling") },
	demo.KeyInvalid: func(s *switched) { s.goesOn("ready", "ready", "refused") },
	demo.Portal: func(s *switched) {
		want := syncer.NeedsAdmin // who sets the address of a service
		if s.service == demo.Navidrome {
			want = syncer.NeedsReconnect
		}
		require.Equal(s.t, want, s.status().Condition)
		require.Equal(s.t, notify.Error, s.alert().Severity)
	},
	demo.Hang: (*switched).waits,
	demo.Slow: func(s *switched) {
		require.Equal(s.t, syncer.Healthy, s.status().Condition)
		require.Empty(s.t, s.open(s.users[0]))
	},
	demo.Cut: (*switched).waits,
}

// TestEverySwitchDoesWhatItSays sets every switch of the demo's page for each service that a person connects.
func TestEverySwitchDoesWhatItSays(t *testing.T) {
	for _, service := range []string{demo.Spotify, demo.LastFM, demo.ListenBrainz, demo.Navidrome, demo.YouTube} {
		for _, mode := range demo.Modes {
			if mode == demo.WrongAccount {
				continue // it is about the next consent; internal/demo has its test
			}
			t.Run(service+" "+string(mode), func(t *testing.T) {
				if mode != demo.ReadOnly && mode != demo.KeysSpent && !soak.Full(t) {
					t.Skip("each run with SOAK has a third of these")
				}
				inBubbleWith(t, demo.Options{Plays: 20, Live: 2 * time.Minute, RetryAfter: 3 * time.Hour},
					map[string]string{"sync.enrich_every": "240h", "sync.playlists_every": "5m"},
					func(t *testing.T, i *installation) {
						if i.world.Switch(service, mode) != nil {
							t.Skip("this service has no such switch")
						}
						require.NoError(t, i.world.Switch(service, demo.Normal))
						i.people(1)
						i.deliver()
						for _, to := range []library.ConnectionID{"lastfm", "listenbrainz"} {
							_, err := i.deliveries.Forward(context.Background(), i.users[0], to, false)
							require.NoError(t, err)
						}
						time.Sleep(20 * time.Minute)
						s := &switched{installation: i, service: service, at: time.Now()}
						var err error
						s.listens, err = i.store.CountListens(context.Background(), i.users[0])
						require.NoError(t, err)
						require.NoError(t, i.world.Switch(service, mode))
						for range 6 {
							time.Sleep(5 * time.Minute)
							i.world.Like()        // the keys of YouTube have something to read
							i.world.PlayOnPhone() // only Last.fm knows: it is to be sent to ListenBrainz
						}
						time.Sleep(5 * time.Minute)
						effects[mode](s)
					})
			})
		}
	}
}

// forAll returns what prevents the installation's own calls of the service.
func (s *switched) forAll() backoff.State {
	s.t.Helper()
	state, _ := s.guard.StateForAll(s.server.Services.Get(s.service))
	return state
}

// waitsForAll requires that the installation's own calls wait by themselves, without an alert.
func (s *switched) waitsForAll() {
	s.t.Helper()
	require.Equal(s.t, backoff.Waiting, s.forAll().Kind)
	require.Empty(s.t, s.open(s.users[0]))
}

// heldForAll requires that the installation's own calls are held.
func (s *switched) heldForAll() {
	s.t.Helper()
	require.Equal(s.t, backoff.Held, s.forAll().Kind)
	require.Empty(s.t, s.open(s.users[0]))
}

// goesOnForAll requires that nothing prevents the installation's own calls, that they are made, and that the keys
// are in these states.
func (s *switched) goesOnForAll(states ...string) {
	s.t.Helper()
	require.Equal(s.t, backoff.Ready, s.forAll().Kind)
	require.NotEmpty(s.t, s.log.of(s.at, time.Now(), func(a attempt) bool {
		return a.Provider == s.service && a.Outcome == "success"
	}))
	for n, k := range s.server.Services.Get(s.service).Keys.Keys() {
		if n < len(states) {
			require.Equal(s.t, states[n], k.State(), "key %d", n)
		}
	}
}

// factEffects are effects for the services that only the installation calls.
var factEffects = map[demo.Mode]func(*switched){
	demo.Normal:      func(s *switched) { s.goesOnForAll("ready", "ready") },
	demo.RateLimited: (*switched).heldForAll,
	demo.KeySpent:    func(s *switched) { s.goesOnForAll("cooling", "ready") },
	demo.KeysSpent: func(s *switched) {
		require.Equal(s.t, backoff.Held, s.forAll().Kind)
		require.Equal(s.t, notify.CauseQuota, s.alert().Cause, "the administrator is told once")
	},
	demo.KeyInvalid: func(s *switched) {
		all := s.server.Services.Get(s.service).Keys.Keys()
		if s.service != demo.OpenAI { // one digest a week: it is not the last key's turn
			require.Equal(s.t, keys.Refused, all[len(all)-1].State())
		}
		s.goesOnForAll()
	},
	demo.Unavailable: (*switched).waitsForAll,
	demo.Portal: func(s *switched) {
		require.Equal(s.t, backoff.Waiting, s.forAll().Kind)
		require.Equal(s.t, notify.Error, s.alert().Severity)
	},
	demo.Hang: (*switched).waitsForAll,
	demo.Slow: func(s *switched) { s.goesOnForAll() },
	demo.Cut:  (*switched).waitsForAll,
}

// TestEverySwitchOfFactsDoesWhatItSays sets every switch for the services that tell facts about music and write
// digests.
func TestEverySwitchOfFactsDoesWhatItSays(t *testing.T) {
	for _, service := range []string{demo.MusicBrainz, demo.FanartTV, demo.OpenAI} {
		for _, mode := range demo.Modes {
			t.Run(service+" "+string(mode), func(t *testing.T) {
				if mode != demo.KeysSpent && !soak.Full(t) {
					t.Skip("each run with SOAK has a third of these")
				}
				inBubbleWith(t, demo.Options{Plays: 400, RetryAfter: 3 * time.Hour},
					map[string]string{"sync.enrich_every": "10m"}, func(t *testing.T, i *installation) {
						if i.world.Switch(service, mode) != nil {
							t.Skip("this service has no such switch")
						}
						i.people(1)
						i.deliver()
						s := &switched{installation: i, service: service, at: time.Now()}
						time.Sleep(10 * time.Minute)
						if service == demo.OpenAI {
							require.NoError(t, i.digests.Switch(context.Background(), i.users[0], true))
							if err := i.digests.Ask(context.Background(), i.users[0]); err != nil {
								require.ErrorIs(t, err, digest.ErrThere) // it was written just now, by itself
							}
						}
						time.Sleep(20 * time.Minute)
						check := factEffects[mode]
						if service == demo.MusicBrainz && mode == demo.Unavailable {
							check = (*switched).heldForAll // a 503 there means too many calls
						}
						check(s)
					})
			})
		}
	}
}
