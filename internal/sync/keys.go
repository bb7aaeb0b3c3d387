package sync

import (
	"context"
	"errors"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
)

// KeyStore keeps the waits and refusals of the keys of the installation, and all other waits.
type KeyStore interface {
	ReadmitKeys(ctx context.Context, provider string) error
	ForgetCooldowns(context.Context, []keys.Cooldown) error
	Holds(context.Context) ([]backoff.Hold, error)
}

// readmit takes back the keys that a provider has refused, because a person believes that their fault has been
// repaired.
func (g *Guard) readmit(ctx context.Context, p *providers.Provider) error {
	if p.Keys.Size() == 0 {
		return nil
	}
	p.Keys.Readmit()
	return g.opt.Keys.ReadmitKeys(ctx, p.Name)
}

// ResetKey is an administrator's "Try now" for the key of a provider that ends in these characters: its wait or
// refusal is forgotten, and with it the stop or wait of everybody that no key was left. The next call uses it. It
// returns the earlier status of the key; library.ErrNotFound if there is none. A key that is ready is left as it is.
func (m *Connections) ResetKey(
	ctx context.Context, p *providers.Provider, lastFour string,
) (before keys.Status, err error) {
	before, which := p.Keys.Reset(lastFour)
	if which == nil {
		return before, library.ErrNotFound
	}
	if before.State() == keys.Ready {
		return before, nil
	}
	if err := m.guard.opt.Keys.ForgetCooldowns(ctx, which); err != nil {
		return before, err
	}
	err = m.callAgain(ctx, p)
	m.guard.opt.Alerts.Acted(ctx, activity.Entry{Action: activity.KeyReset, Connection: library.ConnectionID(p.Name),
		Subject: lastFour})
	return before, err
}

// Replace puts a provider with new settings in the place of the one of the same name in r. A run under way finishes
// with the old settings. What kept everybody from calling has ended, since it may have been the fault of these.
func (m *Connections) Replace(ctx context.Context, r *providers.Registry, p *providers.Provider) error {
	ctx = context.WithoutCancel(ctx)
	r.Replace(p)
	m.guard.opt.Alerts.Mending(ctx, 0, library.ConnectionID(p.Name))
	all, err := m.store.Outlines(ctx)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Provider() != p.Name {
			continue
		}
		c, err := m.store.Connection(ctx, l.User, l.ID)
		if errors.Is(err, library.ErrNotFound) || err == nil && p.App(c.Credentials) == c.App {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.store.SetApp(ctx, c.User, c.ID, p.App(c.Credentials)); err != nil {
			return err
		}
	}
	return m.callAgain(ctx, p)
}

// callAgain ends what keeps everybody from calling a provider, except for waits that it dictated, and has every
// connection to it call.
func (m *Connections) callAgain(ctx context.Context, p *providers.Provider) error {
	g := m.guard
	holds, err := g.opt.Keys.Holds(ctx)
	if err != nil {
		return err
	}
	g.opt.Backoff.KeysBack(p.Name, holds)
	g.hurry(p, library.Connection{ID: library.ConnectionID(p.Name)})
	all, err := m.store.Outlines(ctx)
	for _, l := range all {
		if l.Provider() == p.Name && !l.Paused {
			err = errors.Join(err, m.deliveries.Release(ctx, l.User, l.ID))
			m.syncer.Start(l.User, l.ID)
		}
		if l.Provider() == p.Name {
			m.publish(l.User, l.ID)
		}
	}
	return err
}
