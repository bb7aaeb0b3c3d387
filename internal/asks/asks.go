// Package asks carries what a member needs from the administrators: that they set a service up, give it another key, or
// put its app right.
//
// A member asks once for a thing, however often they press the button. Every administrator gets one notification about
// the thing, however many people ask for it. When the thing is done, by whomever, it closes, and each person who asked
// gets a notification that they can go on.
package asks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Need is what only an administrator can do for a service.
type Need string

// The needs.
const (
	None  Need = ""
	Setup Need = "setup" // register the installation, or fill in what the service requires
	Keys  Need = "keys"  // every key of the installation is spent or refused
	App   Need = "app"   // the service has stopped the installation's app
)

// Ask is a thing that a person has asked for.
type Ask struct {
	User     int64
	Provider string
	Need     Need
	AskedAt  time.Time
	DoneAt   time.Time // zero while it is open
}

// Store keeps what is asked for: at most one thing of each person for each service.
type Store interface {
	// SaveAsk stores a, unless one is open already. It returns what is stored then, and whether that is a.
	SaveAsk(ctx context.Context, a Ask) (stored Ask, fresh bool, err error)
	// Asks returns all, also those that are done, the oldest first.
	Asks(context.Context) ([]Ask, error)
	// ChangeAsk stores another need, or when it was done.
	ChangeAsk(context.Context, Ask) error
	DropAsk(ctx context.Context, user int64, provider string) error
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	Note(context.Context, activity.Entry) error
	// Changes returns a number that grows with every change of the database.
	Changes() uint64
}

// Options are what Asks is made from.
type Options struct {
	Store    Store
	Notifier *notify.Notifier
	Registry *providers.Registry
	// AppState returns the state of the installation's app at a provider.
	AppState func(*providers.Provider) backoff.State
	Log      *slog.Logger
}

// Asks takes what people ask for, and closes it. Make it with New; safe for concurrent use.
type Asks struct {
	opt  Options
	poke chan struct{}
	mu   sync.Mutex // held while something is opened or closed, so that neither overtakes the other
	// known is what the store had when its number of changes was seen; neither is known before the first look.
	known  []Ask
	seen   uint64
	looked bool
}

// New returns Asks.
func New(o Options) *Asks { return &Asks{opt: o, poke: make(chan struct{}, 1)} }

// ErrNothing reports that there is nothing to ask for: the service can be used.
var ErrNothing = errors.New("nothing is needed from an administrator")

// NeedOf returns what a service needs from an administrator now.
func (a *Asks) NeedOf(p *providers.Provider) Need {
	if !p.Registered() || len(p.Missing) > 0 {
		return Setup
	}
	if p.Pool != nil && !p.Pool.Instead {
		// Keys that are only used too fast come back at once.
		if short, yes := p.Keys.Short(); yes && (short.Until.IsZero() || short.Category == resilience.Quota) {
			return Keys
		}
	}
	state := a.opt.AppState(p)
	held := state.Kind == backoff.Held && state.Until.After(time.Now())
	if state.Kind == backoff.Stopped ||
		held && (state.Category == resilience.Quota || state.Category == resilience.Permission) {
		return App
	}
	return None
}

// Ask asks the administrators for what a service needs. It returns ErrNothing if it needs nothing. Asking again
// returns the first request.
func (a *Asks) Ask(ctx context.Context, user int64, p *providers.Provider) (Ask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	need := a.NeedOf(p)
	if need == None {
		return Ask{}, ErrNothing
	}
	stored, fresh, err := a.opt.Store.SaveAsk(ctx, Ask{User: user, Provider: p.Name, Need: need, AskedAt: time.Now()})
	if err != nil || !fresh {
		return stored, err
	}
	return stored, errors.Join(a.tellAdministrators(ctx, stored, p),
		a.opt.Notifier.Resolve(ctx, user, library.ConnectionID(p.Name), causeDone),
		a.opt.Store.Note(ctx, activity.Entry{User: user, Action: activity.Asked,
			Connection: library.ConnectionID(p.Name)}))
}

func (a *Asks) tellAdministrators(ctx context.Context, one Ask, p *providers.Provider) error {
	person, err := a.opt.Store.UserByID(ctx, one.User)
	if err != nil {
		return err
	}
	told := forAdministrators(person.Name, p, one.Need)
	return a.opt.Notifier.OpenForAdmins(ctx, func(int64) notify.Notification { return told })
}

// Of returns what a person has asked for and is not done, by provider.
func (a *Asks) Of(ctx context.Context, user int64) (map[string]Ask, error) {
	all, err := a.opt.Store.Asks(ctx)
	mine := map[string]Ask{}
	for _, one := range all {
		if one.User == user && one.DoneAt.IsZero() {
			mine[one.Provider] = one
		}
	}
	return mine, err
}

// Used forgets what a person asked for at a service, which they have connected now.
func (a *Asks) Used(ctx context.Context, user int64, provider string) error {
	return errors.Join(a.opt.Store.DropAsk(ctx, user, provider),
		a.opt.Notifier.Resolve(ctx, user, library.ConnectionID(provider), causeDone))
}

// every is how often Run looks for what is done. Other settings make it look at once; only a service that works again
// by itself, or whose key was taken back into use, is noticed this late.
const every = 5 * time.Second

// remembered is for how long a person reads that what they asked for is done, unless they use it earlier.
const remembered = 24 * time.Hour

// Run closes what is done until ctx ends.
func (a *Asks) Run(ctx context.Context) error {
	a.opt.Registry.Follow(func(*providers.Provider) {
		select {
		case a.poke <- struct{}{}:
		default:
		}
	})
	tick := time.NewTicker(every)
	defer tick.Stop()
	look := a.closeAll
	for {
		if err := look(ctx); err != nil && ctx.Err() == nil {
			a.opt.Log.Error("an ask cannot be closed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.poke:
			a.opt.Registry.Settle()
			look = a.closeAll
		case <-tick.C:
			look = a.close
		}
	}
}

// closeAll closes what is done, also if nobody who asked for it is left.
func (a *Asks) closeAll(ctx context.Context) error {
	err := a.close(ctx)
	for _, p := range a.opt.Registry.All() {
		if a.NeedOf(p) == None {
			err = errors.Join(err, a.opt.Notifier.Resolve(ctx, 0, library.ConnectionID(p.Name), causes...))
		}
	}
	return err
}

// allLocked returns everything that is asked for. It asks the store only after a change of the database.
func (a *Asks) allLocked(ctx context.Context) ([]Ask, error) {
	changes := a.opt.Store.Changes()
	if a.looked && changes == a.seen {
		return a.known, nil
	}
	all, err := a.opt.Store.Asks(ctx)
	if err == nil {
		a.known, a.seen, a.looked = all, changes, true
	}
	return all, err
}

func (a *Asks) close(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.allLocked(ctx)
	for _, one := range all {
		p := a.opt.Registry.Get(one.Provider)
		switch {
		case p == nil:
		case one.DoneAt.IsZero():
			err = errors.Join(err, a.follow(ctx, one, p))
		case time.Since(one.DoneAt) > remembered:
			err = errors.Join(err, a.Used(ctx, one.User, one.Provider))
		}
	}
	return err
}

// follow closes one that is done, and asks for the next thing that the service needs, if any.
func (a *Asks) follow(ctx context.Context, one Ask, p *providers.Provider) error {
	need, before := a.NeedOf(p), one.Need
	if need == before {
		return nil
	}
	if one.Need = need; need == None {
		one.Need, one.DoneAt = before, time.Now()
	}
	err := errors.Join(a.opt.Store.ChangeAsk(ctx, one),
		a.opt.Notifier.Resolve(ctx, 0, library.ConnectionID(p.Name), causeOf(before)))
	if err != nil {
		return err
	}
	if need == None {
		return a.opt.Notifier.Open(ctx, forMember(one, p))
	}
	return a.tellAdministrators(ctx, one, p)
}
