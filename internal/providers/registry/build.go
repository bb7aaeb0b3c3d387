package registry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

// Store keeps the waits of keys across restarts, and notes which keys were refused.
type Store interface {
	Cooldowns(context.Context) ([]keys.Cooldown, error)
	SaveCooldowns(context.Context, []keys.Cooldown) error
	Note(context.Context, activity.Entry) error
}

// Builder builds providers from their settings. It makes no call.
type Builder struct {
	Client  *http.Client // of every call
	Store   Store
	Rotated func(provider string, why resilience.Category) // is called when a request goes on with the next key
	Log     *slog.Logger
	// ForwardingAccount is that of [providers.Installation].
	ForwardingAccount func(user int64) string
}

// All returns every provider: those that people connect to, and separately those that the installation uses. follow is
// called with each, and with each later one that replaces it.
func (b Builder) All(
	ctx context.Context, settings map[string]providers.Settings, contact string, options backoff.Options,
	follow func(*providers.Provider),
) (connected, services *providers.Registry, err error) {
	connected, services = providers.NewRegistry(), providers.NewRegistry()
	connected.Follow(follow)
	services.Follow(follow)
	for _, d := range Descriptions() {
		p, err := b.Build(ctx, d, settings[d.Name], contact, options)
		if err != nil {
			return nil, nil, err
		}
		if d.Connects() {
			connected.Replace(p)
		} else {
			services.Replace(p)
		}
	}
	return connected, services, nil
}

// Build returns one provider. contact is the administrator's address, and options say how long its keys wait.
func (b Builder) Build(
	ctx context.Context, d providers.Description, s providers.Settings, contact string, options backoff.Options,
) (*providers.Provider, error) {
	in := providers.Installation{Client: b.Client, Contact: contact, Domains: domains(),
		ForwardingAccount: b.ForwardingAccount}
	if own := d.Keys(s); len(own) > 0 {
		waits, err := b.Store.Cooldowns(ctx)
		if err != nil {
			return nil, err
		}
		in.Keys = keys.New(d.Name, own, options)
		in.Keys.Restore(waits)
		in.Keyed = transport.NewClient(b.keyed(d, in.Keys))
	}
	return d.New(s, in)
}

// domains returns the domains of the streaming services, by their names.
func domains() map[string]string {
	all := map[string]string{}
	for _, d := range Descriptions() {
		if d.Domain != "" {
			all[d.Name] = d.Domain
		}
	}
	return all
}

// keyed returns a transport that puts a key of the pool on every request and keeps the pool's waits across restarts.
func (b Builder) keyed(d providers.Description, pool *keys.Pool) *keys.Transport {
	return &keys.Transport{Base: b.Client.Transport, Pool: pool,
		Put: d.Pool.Put, Advice: d.Pool.Advice, Spent: d.Pool.Spent,
		Save: func(ctx context.Context, begun []keys.Cooldown) error {
			err := b.Store.SaveCooldowns(ctx, begun)
			for _, w := range begun {
				if w.Until.IsZero() {
					note := activity.Entry{Action: activity.KeyRefused, Connection: library.ConnectionID(d.Name),
						Subject: w.LastFour}
					err = errors.Join(err, b.Store.Note(ctx, note))
				}
			}
			return err
		},
		Failed:  func(err error) { b.Log.Error("waits of keys cannot be stored", "provider", d.Name, "err", err) },
		Rotated: func(why resilience.Category) { b.Rotated(d.Name, why) },
	}
}
