// Package updates looks once a day whether there is a newer version of Reprise, if an administrator has said where
// releases are listed, and tells the administrators once about each. It downloads and installs nothing.
package updates

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/mod/semver"

	"reprise/internal/notify"
	"reprise/internal/words"
)

// The first look waits, so that a server that is started again and again asks nobody.
const (
	after = 10 * time.Minute // a start, or another address
	every = 24 * time.Hour
)

// Store lists the administrators and their notifications.
type Store interface {
	Admins(context.Context) ([]int64, error)
	Notifications(ctx context.Context, user int64, open bool) ([]notify.Notification, error)
}

// Options are what a Looker needs. All are required.
type Options struct {
	Version  string // of this program
	Client   *http.Client
	Store    Store
	Notifier *notify.Notifier
	Log      *slog.Logger
}

// Looker looks for newer versions. Make it with New; safe for concurrent use.
type Looker struct {
	opt     Options
	url     atomic.Pointer[string]
	changed chan struct{}
}

// New returns a Looker that asks this address; empty: it does not look.
func New(o Options, url string) *Looker {
	l := &Looker{opt: o, changed: make(chan struct{}, 1)}
	l.url.Store(&url)
	return l
}

// Configure changes the address.
func (l *Looker) Configure(url string) {
	if *l.url.Swap(&url) == url {
		return
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Run looks until ctx ends. A look that fails is logged, and made again the next day.
func (l *Looker) Run(ctx context.Context) error {
	next := time.NewTimer(after)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.changed:
			next.Reset(after)
		case <-next.C:
			if *l.url.Load() != "" {
				next.Reset(every)
			}
			if err := l.Look(ctx); err != nil && ctx.Err() == nil {
				l.opt.Log.Warn("the list of releases cannot be read", "err", err)
			}
		}
	}
}

// cause is that of the notification about a newer version. Its generation is the version as a number.
const cause = "update"

// Look tells the administrators about a newer version, or closes what they have been told when there is none.
func (l *Looker) Look(ctx context.Context) error {
	var newest release
	if url := *l.url.Load(); url != "" {
		var err error
		if newest, err = l.newest(ctx, url); err != nil {
			return err
		}
	}
	if semver.Compare(newest.version(), "v"+l.opt.Version) <= 0 { // or there is no address
		return l.opt.Notifier.Resolve(ctx, 0, "", cause)
	}
	admins, err := l.opt.Store.Admins(ctx)
	for _, id := range admins {
		err = errors.Join(err, l.tell(ctx, id, newest))
	}
	return err
}

// tell tells a person about a version, unless they have been told, in the place of one before it.
func (l *Looker) tell(ctx context.Context, user int64, r release) error {
	open, err := l.opt.Store.Notifications(ctx, user, true)
	if err != nil {
		return err
	}
	for _, n := range open {
		switch {
		case n.Cause != cause:
		case n.Generation == r.number():
			return nil
		default:
			err = errors.Join(err, l.opt.Notifier.Resolve(ctx, user, "", cause))
		}
	}
	v := r.version()[1:]
	n := notify.Notification{User: user, Cause: cause, Generation: r.number(), Severity: notify.Info,
		Title:   words.New("update.title", "Version", v),
		Message: words.New("update.message", "Own", l.opt.Version)}
	if page := r.page(); page != "" {
		n.Message = words.New("update.message_page", "Own", l.opt.Version, "Page", page)
	}
	return errors.Join(err, l.opt.Notifier.Open(ctx, n))
}
