package sync

import (
	"context"
	"errors"
	"slices"

	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// appOf returns the app whose lease the calls of connections to a provider need. Keys of the installation, and what
// this version doesn't know, belong to the server that leads.
func appOf(p *providers.Provider, app string) string {
	if p == nil || p.Pool != nil {
		return leases.OfLeader
	}
	return leases.App(p.Name, app)
}

// app returns the app of a person's connection.
func (g *Guard) app(conn library.ConnectionID, app string) string {
	return appOf(g.opt.Registry.Get(conn.Provider()), app)
}

// Holds reports whether this server makes the calls of a connection with that app.
func (g *Guard) Holds(conn library.ConnectionID, app string) bool {
	return g.opt.Apps.Holds(g.app(conn, app))
}

// use returns a context for the calls and consequences of a subject, and a function to call at their end. The error is
// a *leases.Elsewhere if another server makes them.
func (g *Guard) use(ctx context.Context, s providers.Subject) (context.Context, func(), error) {
	if s.Channel || s.Installation() {
		return g.opt.Apps.Use(ctx, leases.OfLeader)
	}
	return g.opt.Apps.Use(ctx, appOf(s.Provider, s.Connection.App))
}

// claim is use for what a person does with a connection. If another server makes its calls, the *leases.Elsewhere says
// where the request goes on.
func (m *connector) claim(ctx context.Context, user int64, conn library.ConnectionID) (context.Context, func(),
	error) {
	if m.guard.opt.Apps == nil {
		return ctx, func() {}, nil
	}
	c, err := m.store.Connection(ctx, user, conn)
	if err != nil {
		return nil, nil, err
	}
	return m.guard.opt.Apps.Claim(ctx, m.guard.app(conn, c.App))
}

// Prepare is that of leases.Engine: it reads what the server has left that called these apps before.
func (m *Connections) Prepare(ctx context.Context, all []leases.Lease) error {
	has := func(app string) bool {
		return slices.ContainsFunc(all, func(l leases.Lease) bool { return l.App == app })
	}
	ofApp := func(k backoff.Key) bool { return has(appOf(m.guard.opt.Registry.Get(k.Provider), k.App)) }
	m.guard.opt.Backoff.ForgetApps(ofApp)
	m.guard.opt.Alerts.ForgetApps(ofApp)
	outlines, err := m.store.Outlines(ctx)
	if err != nil {
		return err
	}
	byApp := map[string][]library.Outline{}
	mine := map[Key]bool{}
	for _, l := range outlines {
		app := m.guard.app(l.ID, l.App)
		if !has(app) {
			continue
		}
		byApp[app] = append(byApp[app], l)
		for _, stream := range m.guard.opt.Registry.Get(l.Provider()).Streams {
			k := Key{l.User, l.ID, stream}
			mine[k] = true
			m.syncer.reader.last.forget(k)
			m.syncer.reader.habits.forget(k)
		}
	}
	if err := m.syncer.reader.perils.reload(ctx, mine); err != nil {
		return err
	}
	for _, l := range all {
		if err := m.deliveries.Resume(leases.With(ctx, l), byApp[l.App]); err != nil {
			return err
		}
	}
	return restore(ctx, m.guard.opt.Backoff, m.guard.opt.Registry, m.store, ofApp)
}

// Heard ends the runs of a connection about which another server has told something, if it is gone, paused or another
// server's by now.
func (m *Connections) Heard(ctx context.Context, user int64, conn library.ConnectionID) {
	if !m.syncer.works(user, conn) {
		return
	}
	c, err := m.store.Connection(ctx, user, conn)
	if errors.Is(err, library.ErrNotFound) || err == nil && (c.Paused || !m.guard.Holds(conn, c.App)) {
		m.syncer.cancel(user, conn)
	}
}

// works reports whether a run of a connection is under way.
func (s *Syncer) works(user int64, conn library.ConnectionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.runs {
		if k.User == user && k.Connection == conn {
			return true
		}
	}
	return false
}

// Begin has connections to these apps read.
func (m *Connections) Begin(apps []string) {
	m.syncer.begin(apps)
}

// keepApps has the apps of all connections and the imports shared out, and apps removed that no connection has any
// more.
func (s *Syncer) keepApps(ctx context.Context, all []library.Outline) error {
	if s.guard.opt.Apps == nil {
		return nil
	}
	apps := leases.Imports()
	for _, l := range all {
		if app := s.guard.app(l.ID, l.App); !slices.Contains(apps, app) {
			apps = append(apps, app)
		}
	}
	return s.guard.opt.Apps.Keep(ctx, apps)
}

// begin makes all streams of connections to apps due, which this server has just begun to call.
func (s *Syncer) begin(apps []string) {
	s.mu.Lock()
	s.begun = append(s.begun, apps...)
	s.mu.Unlock()
	s.poke.send()
}

// tickBegun is the first tick for apps that this server has begun to call.
func (s *Syncer) tickBegun(ctx context.Context) {
	s.mu.Lock()
	apps := s.begun
	s.begun = nil
	s.mu.Unlock()
	if len(apps) == 0 {
		return
	}
	ofThese := func(l library.Outline) bool { return slices.Contains(apps, s.guard.app(l.ID, l.App)) }
	for _, stream := range library.Read {
		tick(ctx, s.log.With("loop", stream), func(ctx context.Context) error {
			return s.tickSome(ctx, stream, ofThese)
		})
	}
}
