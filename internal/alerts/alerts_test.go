package alerts_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

const admin, member = 1, 2

// memoryStore keeps in memory what alerts store. It is also the store of the notifications.
type memoryStore struct {
	mu     sync.Mutex
	open   []notify.Notification
	stops  []backoff.Stop
	holds  []backoff.Hold
	log    []activity.Entry
	failed int  // times that a failure was stored
	full   bool // nothing can be opened
	// menders are those who have mended themselves what was closed for them.
	menders map[int64]bool
}

var errFull = errors.New("disk full")

func (m *memoryStore) OpenNotification(_ context.Context, n notify.Notification) (c notify.Changes, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return c, errFull
	}
	known := slices.ContainsFunc(m.open, func(o notify.Notification) bool {
		return o.User == n.User && o.Cause == n.Cause
	})
	if !known {
		m.open = append(m.open, n)
		c.Opened = append(c.Opened, n)
	}
	return c, nil
}

func (m *memoryStore) ResolveNotifications(_ context.Context, all ...notify.Closing) (c notify.Changes, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, closing := range all {
		m.open = slices.DeleteFunc(m.open, func(n notify.Notification) bool {
			named := slices.Contains(closing.Causes, n.Cause)
			concerned := named || len(closing.Causes) == 0 && n.Generation > 0
			if len(closing.Begins) > 0 {
				concerned = !named && slices.ContainsFunc(closing.Begins, func(start string) bool {
					return strings.HasPrefix(n.Cause, start)
				})
			}
			if !concerned || n.Connection != closing.Connection || closing.User != 0 && n.User != closing.User {
				return false
			}
			m.menders[n.User] = m.menders[n.User] || closing.MendedBy == n.User
			c.Others = append(c.Others, n)
			return true
		})
	}
	return c, nil
}

func (m *memoryStore) SeeNotification(context.Context, int64, int64) (bool, error) { return true, nil }

func (m *memoryStore) AckNotification(context.Context, int64, int64) (bool, error) { return true, nil }

func (m *memoryStore) SaveSuccess(context.Context, int64, library.ConnectionID, string, time.Time) error {
	return nil
}

func (m *memoryStore) SaveFailure(
	context.Context, int64, library.ConnectionID, string, words.Text, string,
) error {
	m.failed++
	return nil
}

func (m *memoryStore) SaveStop(_ context.Context, s backoff.Stop) error {
	m.stops = append(m.stops, s)
	return nil
}

func (m *memoryStore) SaveHold(_ context.Context, h backoff.Hold) error {
	m.holds = append(m.holds, h)
	return nil
}

func (m *memoryStore) Admins(context.Context) ([]int64, error) { return []int64{admin}, nil }

func (m *memoryStore) UserByID(_ context.Context, id int64) (accounts.User, error) {
	return accounts.User{ID: id, Name: map[int64]string{admin: "Alice", member: "Bob"}[id]}, nil
}

func (m *memoryStore) Outlines(context.Context) (all []library.Outline, err error) {
	for _, c := range []library.Connection{connectionOf(admin), connectionOf(member)} {
		all = append(all, library.Outline{User: c.User, ID: c.ID, App: c.App})
	}
	return all, nil
}

func (m *memoryStore) WaitingFor(context.Context, int64, library.ConnectionID) (words.Text, error) {
	return words.Plain("37 listens are waiting"), nil
}

func (m *memoryStore) Note(_ context.Context, e activity.Entry) error {
	m.log = append(m.log, e)
	return nil
}

// causes are those of the user's open notifications.
func (m *memoryStore) causes(user int64) (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.open {
		if n.User == user {
			all = append(all, n.Cause)
		}
	}
	return all
}

var spotify = &providers.Provider{OAuth: &providers.OAuth{},
	Description: providers.Description{Name: "spotify", DisplayName: "Spotify",
		Streams: []string{library.Listens, library.Playlists}}}

func connectionOf(user int64) library.Connection {
	return library.Connection{User: user, ID: "spotify", App: "client", Generation: 1}
}

func listensOf(user int64) providers.Subject {
	s := providers.OfConnection(connectionOf(user), library.Listens)
	s.Provider = spotify
	return s
}

// setup returns Alerts over an empty store, as after a start.
func setup() (*alerts.Alerts, *memoryStore) {
	m := &memoryStore{menders: map[int64]bool{}}
	bus := &events.Bus{}
	return alerts.New(alerts.Options{Store: m, Notifier: notify.New(m, bus, nil), Bus: bus,
		Log: slog.New(slog.DiscardHandler)}), m
}

// stop is a failure with which something stops.
func stop(c resilience.Category, scope resilience.Scope, seq uint64) *backoff.Failure {
	state := backoff.State{Kind: backoff.Stopped, Category: c, Scope: scope, Since: time.Now(), Failures: 1}
	return &backoff.Failure{Err: errors.New("refused"), Change: backoff.Change{Kind: backoff.BecameFatal, Fault: state,
		Verdict: resilience.Verdict{Class: resilience.Fatal, Category: c, Scope: scope}, Stream: state, Seq: seq}}
}

// success is one after which all streams are ready.
func success(seq uint64) backoff.Change { return backoff.Change{AllReady: true, Seq: seq} }

func TestALateSuccessClosesNothing(t *testing.T) {
	a, m := setup()
	ctx := t.Context()
	require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Auth, resilience.ScopeConnection, 5)))
	require.NoError(t, a.Succeeded(ctx, listensOf(member), success(4)))
	require.Equal(t, []string{"auth"}, m.causes(member), "the failure is newer")
	require.NoError(t, a.Succeeded(ctx, listensOf(member), success(6)))
	require.Empty(t, m.causes(member))
}

func TestAFailureThatArrivesLateIsStillClosed(t *testing.T) {
	a, m := setup()
	ctx := t.Context()
	require.NoError(t, a.Succeeded(ctx, listensOf(member), success(4)))
	require.NoError(t, a.Succeeded(ctx, listensOf(member), success(7)))
	require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Auth, resilience.ScopeConnection, 5)))
	require.Equal(t, []string{"auth"}, m.causes(member))
	require.NoError(t, a.Succeeded(ctx, listensOf(member), success(8)))
	require.Empty(t, m.causes(member))
}

func TestAnAppsAlertIsClosedByNewerSuccessesOnly(t *testing.T) {
	a, m := setup()
	ctx := t.Context()
	require.NoError(t, a.Succeeded(ctx, listensOf(admin), success(3)))
	require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Config, resilience.ScopeApp, 5)))
	require.Equal(t, []string{"config:app"}, m.causes(admin))
	require.Empty(t, m.causes(member), "it is the administrator's business")
	require.Empty(t, m.stops, "other settings may end it")
	require.NoError(t, a.Succeeded(ctx, listensOf(admin), success(4)))
	require.NotEmpty(t, m.causes(admin))
	require.NoError(t, a.Succeeded(ctx, listensOf(admin), success(6)))
	require.Empty(t, m.causes(admin))
}

func TestAStopIsStoredOnlyAfterItWasTold(t *testing.T) {
	a, m := setup()
	ctx, s := t.Context(), listensOf(member)
	m.full = true
	require.ErrorIs(t, a.Failed(ctx, s, stop(resilience.Auth, resilience.ScopeConnection, 5)), errFull)
	require.Empty(t, m.stops, "after a restart it has to be found, and told, again")
	require.ErrorIs(t, a.Finish(ctx, s.Key()), errFull)
	m.full = false
	require.NoError(t, a.Finish(ctx, s.Key()))
	require.Equal(t, []string{"auth"}, m.causes(member))
	require.Equal(t, []backoff.Stop{{Key: providers.KeyOf(s.Connection, ""), Generation: 1,
		Category: resilience.Auth, Since: m.stops[0].Since}}, m.stops)
	require.NoError(t, a.Finish(ctx, s.Key()), "nothing is owed any more")
	require.Len(t, m.stops, 1)
	require.Len(t, m.log, 1, "noted once")
}

func TestWhatIsOwedEndsWithTheConnection(t *testing.T) {
	a, m := setup()
	ctx, s := t.Context(), listensOf(member)
	m.full = true
	require.Error(t, a.Failed(ctx, s, stop(resilience.Auth, resilience.ScopeConnection, 5)))
	m.full = false
	require.NoError(t, a.Connected(ctx, spotify, s.Connection))
	require.NoError(t, a.Finish(ctx, s.Key()))
	require.Empty(t, m.causes(member))
}

// decisions are a connection's plays, loves and playlists about which its person has to decide.
type decisions struct{}

func (decisions) AsksOfPast(context.Context, int64, library.ConnectionID) (bool, error) {
	return true, nil
}

func (decisions) LostPlays(context.Context, int64, library.ConnectionID) ([]library.Gap, error) {
	return make([]library.Gap, 1), nil
}

func (decisions) GoneLoves(context.Context, int64, library.ConnectionID) ([]library.LoveThere, error) {
	return make([]library.LoveThere, 20), nil
}

func (decisions) Losses(context.Context, int64, library.ConnectionID) ([]library.PlaylistLoss, error) {
	return []library.PlaylistLoss{{Loss: library.Loss{Songs: 20}, Playlist: 1, Version: 2, At: time.Now(),
		Active: true}}, nil
}

// Nobody has to decide about a service that they have disconnected.
func TestWhatIsToBeDecidedEndsWithTheConnection(t *testing.T) {
	a, m := setup()
	ctx, c := t.Context(), listensOf(member).Connection
	require.NoError(t, errors.Join(a.History(ctx, spotify, c, decisions{}), a.Lost(ctx, spotify, c, decisions{}),
		a.Unloved(ctx, spotify, c, decisions{}), a.Losses(ctx, spotify, c, decisions{})))
	require.Len(t, m.causes(member), 4)
	other := c
	other.ID = "spotify-2"
	require.NoError(t, a.Disconnected(ctx, spotify, member, other.ID))
	require.Len(t, m.causes(member), 4, "they are about another connection")
	require.NoError(t, a.Disconnected(ctx, spotify, member, c.ID))
	require.Empty(t, m.causes(member))
}

func TestOneWarningForAllStreamsGoesWithTheLast(t *testing.T) {
	a, m := setup()
	ctx, s := t.Context(), listensOf(member)
	f := stop(resilience.Upstream, resilience.ScopeStream, 5)
	f.Change.Verdict.Class = resilience.Retriable
	f.Change.Kind, f.Change.Fault.Kind = backoff.StillFailing, backoff.Waiting
	require.NoError(t, a.Failed(ctx, s, f))
	require.Equal(t, []string{notify.CauseStill}, m.causes(member))
	require.NoError(t, a.Succeeded(ctx, s, backoff.Change{Seq: 6}))
	require.Equal(t, []string{notify.CauseStill}, m.causes(member), "another stream fails still")
	other := s
	other.Stream = library.Playlists
	require.NoError(t, a.Succeeded(ctx, other, success(7)))
	require.Empty(t, m.causes(member))
}

func TestOfAChannelOnlyItsHoldIsStored(t *testing.T) {
	a, m := setup()
	f := stop(resilience.RateLimit, resilience.ScopeApp, 5)
	f.Change.Kind, f.Change.NewHold = backoff.Began, true
	f.Change.Fault.Kind, f.Change.Fault.Until = backoff.Held, time.Now().Add(time.Hour)
	require.NoError(t, a.Failed(t.Context(), providers.OfChannel(member, "channel-7", "ntfy", 1), f))
	require.Equal(t, []backoff.Hold{{Key: backoff.Key{Connection: "channel-7", Provider: "channel-7"},
		Category: resilience.RateLimit,
		Since:    f.Change.Fault.Since, Until: f.Change.Fault.Until}}, m.holds)
	require.Empty(t, m.open)
	require.Empty(t, m.log)
	require.Zero(t, m.failed)
}

// TestOpeningAndClosingTogether lets failures and successes of an app's connections meet: whatever their order, an
// alert is open in the end if, and only if, the latest outcome was a failure.
func TestOpeningAndClosingTogether(t *testing.T) {
	for _, last := range []string{"failure", "success"} {
		t.Run(last, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, m := setup()
				var all sync.WaitGroup
				for i := range uint64(50) {
					user := []int64{admin, member}[i%2]
					all.Go(func() {
						_ = a.Failed(t.Context(), listensOf(user), stop(resilience.Config, resilience.ScopeApp, 2*i))
					})
					all.Go(func() { _ = a.Succeeded(t.Context(), listensOf(user), success(2*i+1)) })
				}
				if last == "failure" {
					all.Go(func() {
						_ = a.Failed(t.Context(), listensOf(admin), stop(resilience.Config, resilience.ScopeApp, 200))
					})
				}
				all.Wait()
				if last == "failure" {
					require.Equal(t, []string{"config:app"}, m.causes(admin))
					return
				}
				require.NoError(t, a.Succeeded(t.Context(), listensOf(admin), success(200)))
				require.Empty(t, m.causes(admin))
			})
		})
	}
}
