package leases

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Engine is what a server works with the apps that it holds.
type Engine interface {
	// Prepare reads what another server has left of apps. Nothing is called before it has returned nil. The context of
	// what it writes about one has to be under its lease.
	Prepare(ctx context.Context, all []Lease) error
	// Says returns what this server knows that others show; not empty.
	Says() string
	// Begin has what is due with these apps done. It does not block.
	Begin(apps []string)
}

var moving = words.New("trouble.postgres.moving")

// Holder holds the leases of this server. A nil Holder is that of a server that has its database for itself, and holds
// everything. Safe for concurrent use.
type Holder struct {
	me    string
	book  Book
	leads func() bool // whether this server leads
	log   *slog.Logger
	poke  chan struct{}

	prepares sync.WaitGroup

	mu      sync.Mutex
	engine  Engine          // nil while the database is closed
	working context.Context // of the engine
	idle    time.Time
	mine    map[string]*held
	taking  map[string]bool // apps that are being taken
	all     []Holding
	said    map[string]string // by the servers that work
	changed chan struct{}     // closed at the next change of mine or all
}

// held is a lease of this server.
type held struct {
	Lease
	sent     time.Time // when the last confirmation that was answered was sent
	used     time.Time // when a connection had the app last, or a call to it began
	ready    bool      // the engine is prepared
	saved    string    // see SaveState
	prepares bool      // the engine is being prepared
	leaves   bool      // it is given back when nothing uses it any more
	ctx      context.Context
	end      context.CancelFunc
	users    sync.WaitGroup
}

// NewHolder returns the Holder of a server with that id, which holds nothing before Run. leads says whether the server
// leads.
func NewHolder(me string, book Book, leads func() bool, log *slog.Logger) *Holder {
	return &Holder{me: me, book: book, leads: leads, log: log, poke: make(chan struct{}, 1), idle: time.Now(),
		mine: map[string]*held{}, taking: map[string]bool{}, changed: make(chan struct{})}
}

// Run confirms leases, takes those that are this server's share, and gives back others, until ctx ends. Then it gives
// back all, for which no engine may be at work any more.
func (h *Holder) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			h.giveAll(context.WithoutCancel(ctx))
			return nil
		case <-timer.C:
		case <-h.poke:
		}
		if err := h.beat(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("the leases of apps can't be confirmed", "err", err)
		}
		timer.Reset(ConfirmEvery)
	}
}

// Work has an engine work with the apps that this server holds, until ctx ends. Call it for one engine at a time.
func (h *Holder) Work(ctx context.Context, e Engine) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	h.engine, h.working = e, ctx
	h.changeLocked()
	h.mu.Unlock()
	h.ask()
	<-ctx.Done()
	h.mu.Lock()
	h.engine, h.idle = nil, time.Now()
	for _, l := range h.mine {
		l.ready = false
	}
	h.mu.Unlock()
	h.prepares.Wait()
	return nil
}

// prepare has the engine begin with the apps that it has not begun with. Those with which it can't are given back. It
// does not wait for that.
func (h *Holder) prepare() {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ctx := h.engine, h.working
	var all []Lease
	for _, l := range h.mine {
		if e != nil && !l.ready && !l.leaves && !l.prepares {
			l.prepares = true
			all = append(all, l.Lease)
		}
	}
	if len(all) == 0 {
		return
	}
	h.prepares.Go(func() {
		err := e.Prepare(ctx, all)
		if err != nil && ctx.Err() == nil {
			h.log.Error("the apps of services can't be taken over", "err", err)
		}
		if begun := h.prepared(e, all, err); len(begun) > 0 {
			e.Begin(begun)
		}
	})
}

// prepared notes that an engine has begun with apps, or can't. It returns those with which it has.
func (h *Holder) prepared(e Engine, all []Lease, err error) (begun []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range all {
		now := h.mine[l.App]
		if now == nil || now.Lease != l {
			continue
		}
		now.prepares = false
		switch {
		case now.leaves || h.engine != e:
		case err != nil:
			go h.give(context.Background(), l.App)
		default:
			now.ready = true
			begun = append(begun, l.App)
		}
	}
	h.changeLocked()
	return begun
}

func (h *Holder) changeLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// ask has the database asked soon.
func (h *Holder) ask() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// Use returns a context under the lease of an app, which ends with it, and a function to call when it is used no more.
// The error is an *Elsewhere unless this server holds the app.
func (h *Holder) Use(ctx context.Context, app string) (_ context.Context, done func(), err error) {
	if h == nil || app == OfLeader && h.leads() {
		return ctx, func() {}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.mine[app]
	if now, ok := Of(ctx); ok && l != nil && now == l.Lease { // it is used already
		return ctx, func() {}, nil
	}
	if !l.usable() {
		return nil, nil, &Elsewhere{App: app, Server: h.serverLocked(app)}
	}
	l.used = time.Now()
	l.users.Add(1)
	ctx, cancel := context.WithCancel(With(ctx, l.Lease))
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel()
		l.users.Done()
	}), nil
}

// serverLocked returns the server that holds an app, as far as this one knows; empty for nobody, and for this one.
func (h *Holder) serverLocked(app string) string {
	for _, v := range h.all {
		if v.App == app && v.Server != h.me && !v.vacant() {
			return v.Server
		}
	}
	return ""
}

// Holds reports whether this server holds an app.
func (h *Holder) Holds(app string) bool {
	if h == nil || app == OfLeader {
		return h == nil || h.leads()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mine[app].usable()
}

// usable reports whether calls may begin under a lease; nil is none.
func (l *held) usable() bool { return l != nil && l.ready && valid(l.sent, time.Now()) }

// May reports whether a call with a context may go out: its lease holds, or without one, this server leads.
func (h *Holder) May(ctx context.Context) bool {
	l, ok := Of(ctx)
	if !ok {
		return h.leads()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.mine[l.App]
	return now != nil && now.Lease == l && valid(now.sent, time.Now())
}

// Claim is Use for what a person waits for: an app that nobody holds is taken, and one that moves is waited for. The
// error is an *Elsewhere if another server holds it.
func (h *Holder) Claim(ctx context.Context, app string) (context.Context, func(), error) {
	late, ending := time.After(patience), time.After(endWithin)
	for {
		used, done, err := h.Use(ctx, app)
		e, elsewhere := errors.AsType[*Elsewhere](err)
		if !elsewhere || app == OfLeader || e.Server != "" {
			if slot, ok := ctx.Value(slotKey{}).(*Elsewhere); ok && elsewhere {
				*slot = *e
			}
			return used, done, err
		}
		h.mu.Lock()
		changed, engine := h.changed, h.engine
		at := slices.IndexFunc(h.all, func(v Holding) bool { return v.App == app })
		var free *Holding
		if at >= 0 && h.all[at].Server == "" {
			free = &h.all[at]
		}
		h.mu.Unlock()
		switch {
		case at < 0:
			if err := h.Note(ctx, []string{app}); err != nil {
				return nil, nil, err
			}
		case free != nil && engine != nil:
			if err := h.take(ctx, free.Lease); err != nil {
				return nil, nil, err
			}
			h.prepare()
		}
		h.ask()
		if engine != nil {
			ending = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-ending: // this server can't call anything now
			return nil, nil, &resilience.LocalError{Problem: moving, Err: err}
		case <-late:
			return nil, nil, &resilience.LocalError{Problem: moving, Err: err}
		}
	}
}

// Keep shares out the apps that connections have. It removes the others that this server holds, once nothing has used
// them for ten minutes.
func (h *Holder) Keep(ctx context.Context, apps []string) error {
	if h == nil {
		return nil
	}
	now := time.Now()
	h.mu.Lock()
	for app, l := range h.mine {
		if slices.Contains(apps, app) {
			l.used = now
		} else if now.Sub(l.used) > unusedFor {
			go h.end(ctx, app, h.book.RemoveLease)
		}
	}
	h.mu.Unlock()
	return h.Note(ctx, apps)
}

// Note shares out apps that are new.
func (h *Holder) Note(ctx context.Context, apps []string) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	fresh := slices.DeleteFunc(slices.Clone(apps), func(app string) bool {
		return app == OfLeader || slices.ContainsFunc(h.all, func(v Holding) bool { return v.App == app })
	})
	h.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := h.book.NoteApps(ctx, fresh); err != nil {
		return err
	}
	h.ask()
	return nil
}

// SaveState keeps what is known of an app that this server holds, for the other servers.
func (h *Holder) SaveState(ctx context.Context, app, state string) error {
	if h == nil || app == OfLeader {
		return nil
	}
	h.mu.Lock()
	l := h.mine[app]
	if l == nil || l.saved == state {
		h.mu.Unlock()
		return nil
	}
	before := l.saved
	l.saved = state
	h.mu.Unlock()
	err := h.book.SaveAppState(ctx, l.Lease, state)
	if err != nil {
		h.mu.Lock()
		l.saved = before
		h.mu.Unlock()
	}
	return err
}

// State returns what the server knows of an app that holds it, a few seconds late; empty for nothing.
func (h *Holder) State(app string) string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.all {
		if v.App == app && !v.vacant() {
			return v.State
		}
	}
	return ""
}

// Calls reports whether this server calls an app of a provider.
func (h *Holder) Calls(provider string) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ofIt := func(app string) bool { return strings.HasPrefix(app, App(provider, "")) }
	for app := range h.mine {
		if ofIt(app) {
			return true
		}
	}
	return h.leads() && !slices.ContainsFunc(h.all, func(v Holding) bool { return ofIt(v.App) })
}

// Said returns what the other servers say that work with their leases, a few seconds late.
func (h *Holder) Said() (all []string) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for server, says := range h.said {
		if server != h.me {
			all = append(all, says)
		}
	}
	return all
}
