package leases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// memory is a Book that several servers share.
type memory struct {
	mu      sync.Mutex
	rows    map[string]*row
	workers map[string]time.Time
	says    map[string]string
	down    map[string]bool // servers that can't reach it
}

type row struct {
	number int64
	server string
	seen   time.Time
	state  string
}

var errDown = errors.New("the database is away")

func newMemory(apps ...string) *memory {
	m := &memory{rows: map[string]*row{}, workers: map[string]time.Time{}, says: map[string]string{},
		down: map[string]bool{}}
	for _, app := range apps {
		m.rows[app] = &row{}
	}
	return m
}

func (m *memory) ConfirmLeases(_ context.Context, server string) (mine []Lease, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down[server] {
		return nil, errDown
	}
	for app, r := range m.rows {
		if r.server == server {
			r.seen = time.Now()
			mine = append(mine, Lease{app, r.number})
		}
	}
	return mine, nil
}

func (m *memory) Leases(_ context.Context, server, says string) (all []Holding, workers map[string]string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if says != "" {
		m.workers[server], m.says[server] = time.Now(), says
	}
	for _, app := range slices.Sorted(maps.Keys(m.rows)) {
		r := m.rows[app]
		all = append(all, Holding{Lease: Lease{app, r.number}, Server: r.server, State: r.state,
			Age: time.Since(r.seen)})
	}
	workers = map[string]string{}
	for id, at := range m.workers {
		if time.Since(at) < VacantAfter {
			workers[id] = m.says[id]
		}
	}
	return all, workers, nil
}

func (m *memory) TakeLease(_ context.Context, server string, was Lease) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[was.App]
	if r == nil || r.number != was.Number || r.server != "" && time.Since(r.seen) < VacantAfter {
		return 0, nil
	}
	r.number, r.server, r.seen, r.state = r.number+1, server, time.Now(), ""
	return r.number, nil
}

func (m *memory) GiveLease(_ context.Context, l Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rows[l.App]; r.number == l.Number {
		r.number, r.server = r.number+1, ""
	}
	return nil
}

func (m *memory) RemoveLease(_ context.Context, l Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rows[l.App]; r != nil && r.number == l.Number {
		delete(m.rows, l.App)
	}
	return nil
}

func (m *memory) GiveLeases(_ context.Context, server string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.workers, server)
	for _, r := range m.rows {
		if r.server == server {
			r.number, r.server = r.number+1, ""
		}
	}
	return nil
}

func (m *memory) SaveAppState(_ context.Context, l Lease, state string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.rows[l.App]; r.number == l.Number {
		r.state = state
	}
	return nil
}

func (m *memory) NoteApps(_ context.Context, apps []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, app := range apps {
		if m.rows[app] == nil {
			m.rows[app] = &row{}
		}
	}
	return nil
}

func (m *memory) cut(server string, down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down[server] = down
}

// member is a server with its engine.
type member struct {
	*Holder
	mu     sync.Mutex
	begun  []string
	refuse error
	leave  func()
}

func (s *member) Prepare(context.Context, []Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse
}

func (s *member) Begin(apps []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, apps...)
}

// began returns the apps with which the engine has begun.
func (s *member) began() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.begun)
}

func (s *member) Says() string { return "I am " + s.me }

// joins starts a server.
func (m *memory) joins(t *testing.T, id string) *member {
	s := &member{Holder: NewHolder(id, m, func() bool { return id == "leader" }, slog.New(slog.DiscardHandler))}
	there, gone := context.WithCancel(t.Context())
	works, stop := context.WithCancel(there)
	var all sync.WaitGroup
	all.Go(func() { _ = s.Run(there) })
	working := make(chan struct{})
	go func() {
		defer close(working)
		_ = s.Work(works, s)
	}()
	s.leave = func() {
		stop()
		<-working
		gone()
		all.Wait()
	}
	return s
}

// holds returns which apps a server calls.
func (m *memory) holds(s *member) (apps []string) {
	for _, app := range m.apps() {
		if s.Holds(app) {
			apps = append(apps, app)
		}
	}
	return apps
}

// apps returns those that have a lease.
func (m *memory) apps() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.rows))
}

func apps(n int) (all []string) {
	for i := range n {
		all = append(all, App("navidrome", fmt.Sprint("home", i)))
	}
	return all
}

// Promise: All calls to one app are made by one server at a time, and the apps are spread evenly over those that live.
func TestAppsAreSpreadOverTheServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(apps(9)...)
		first := m.joins(t, "leader")
		time.Sleep(3 * ConfirmEvery)
		require.Len(t, m.holds(first), 9, "alone it holds all")
		second, third := m.joins(t, "second"), m.joins(t, "third")
		time.Sleep(10 * ConfirmEvery)
		for _, s := range []*member{first, second, third} {
			require.Len(t, m.holds(s), 3)
			require.Subset(t, s.began(), m.holds(s))
		}
		require.ElementsMatch(t, []string{"I am second", "I am third"}, first.Said())

		second.leave()
		time.Sleep(2 * ConfirmEvery)
		require.Len(t, slices.Concat(m.holds(first), m.holds(third)), 9, "at once, when it ends in good order")

		m.cut("third", true)
		time.Sleep(For)
		require.Empty(t, m.holds(third), "it may call no longer")
		time.Sleep(VacantAfter - For + 2*ConfirmEvery)
		require.Len(t, m.holds(first), 9)
		m.cut("third", false)
		time.Sleep(10 * ConfirmEvery)
		require.InDelta(t, 4.5, len(m.holds(third)), 0.6)
		require.Len(t, slices.Concat(m.holds(first), m.holds(third)), 9)
		first.leave()
		third.leave()
		for app, r := range m.rows {
			require.Empty(t, r.server, app)
		}
	})
}

func TestWhatIsUnderWayEndsBeforeAnAppMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("spotify ", "lastfm ")
		first := m.joins(t, "first")
		time.Sleep(ConfirmEvery)
		used := map[string]func(){}
		var runs []context.Context
		for app := range m.rows {
			run, done, err := first.Use(t.Context(), app)
			require.NoError(t, err)
			l, ok := Of(run)
			require.True(t, ok)
			require.Equal(t, app, l.App)
			require.True(t, first.May(run))
			again, _, err := first.Use(run, app)
			require.NoError(t, err)
			require.Equal(t, run, again)
			used[app], runs = done, append(runs, run)
		}
		second := m.joins(t, "second")
		time.Sleep(ConfirmEvery + time.Second)
		require.Len(t, m.holds(first), 1, "nothing new begins")
		require.Empty(t, m.holds(second), "but what is under way goes on")
		require.NoError(t, errors.Join(runs[0].Err(), runs[1].Err()))
		time.Sleep(endWithin)
		require.Error(t, errors.Join(runs[0].Err(), runs[1].Err()), "not for long")
		for _, done := range used {
			done()
		}
		time.Sleep(2 * ConfirmEvery)
		require.Len(t, m.holds(second), 1)
		first.leave()
		second.leave()
	})
}

func TestAPersonsRequestFindsTheServerOfAnApp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		first := m.joins(t, "leader")
		time.Sleep(ConfirmEvery)
		began := time.Now()
		_, done, err := first.Claim(t.Context(), "navidrome home")
		require.NoError(t, err)
		require.Less(t, time.Since(began), ConfirmEvery, "a new app is taken at once")
		require.NoError(t, first.SaveState(t.Context(), "navidrome home", "held"))
		done()
		second := m.joins(t, "second")
		time.Sleep(2 * ConfirmEvery)
		watched, to := Watch(t.Context())
		_, _, err = second.Claim(watched, "navidrome home")
		elsewhere, ok := errors.AsType[*Elsewhere](err)
		require.True(t, ok, "%v", err)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "leader", elsewhere.Server)
		require.Equal(t, *elsewhere, *to)
		require.Equal(t, "held", second.State("navidrome home"))
		require.False(t, second.Holds(OfLeader))
		require.True(t, first.Holds(OfLeader))
		require.True(t, first.Calls("navidrome"))
		require.True(t, first.Calls("musicbrainz"), "which isn't shared out")
		require.False(t, second.Calls("navidrome"))

		m.cut("leader", true)
		_, done, err = second.Claim(t.Context(), "navidrome home")
		if err != nil { // as long as the first may still hold it
			time.Sleep(VacantAfter + ConfirmEvery)
			_, done, err = second.Claim(t.Context(), "navidrome home")
		}
		require.NoError(t, err)
		done()
		second.leave()
		first.leave()
	})
}

// An app that can't be taken over is left to another server, and a lease that was confirmed too late is given back.
func TestAServerThatCannotTakeAnAppLeavesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("spotify ")
		first := m.joins(t, "first")
		first.mu.Lock()
		first.refuse = errDown
		first.mu.Unlock()
		time.Sleep(5 * ConfirmEvery)
		require.Empty(t, m.holds(first))
		first.mu.Lock()
		first.refuse = nil
		first.mu.Unlock()
		time.Sleep(2 * ConfirmEvery)
		require.Len(t, m.holds(first), 1)
		run, done, err := first.Use(t.Context(), "spotify ")
		require.NoError(t, err)
		m.cut("first", true)
		time.Sleep(For + ConfirmEvery)
		require.Error(t, run.Err())
		require.False(t, first.May(run))
		done()
		m.cut("first", false) // nobody else has taken it
		time.Sleep(3 * ConfirmEvery)
		require.Len(t, m.holds(first), 1)
		require.False(t, first.May(run), "under another number")
		first.leave()
	})
}

// A server that has its database for itself holds everything.
func TestAServerAloneHoldsEverything(t *testing.T) {
	t.Parallel()
	var h *Holder
	for _, app := range []string{"spotify ", OfLeader} {
		require.True(t, h.Holds(app))
		ctx, done, err := h.Claim(t.Context(), app)
		require.NoError(t, err)
		require.Equal(t, t.Context(), ctx)
		done()
	}
	require.NoError(t, h.Note(t.Context(), []string{"spotify "}))
	require.NoError(t, h.SaveState(t.Context(), "spotify ", "held"))
	require.NoError(t, h.Work(t.Context(), nil))
	require.Empty(t, h.State("spotify ")+strings.Join(h.Said(), ""))
	require.True(t, h.Calls("spotify"))
}
