package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/demo/household"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// providers returns every provider: those that people connect to, and separately those that the installation uses.
func (b basics) providers(
	ctx context.Context, client *http.Client, t *resilience.Transport,
) (connected, services *providers.Registry, err error) {
	connected, services = providers.NewRegistry(), providers.NewRegistry()
	connected.Follow(b.follow(t))
	services.Follow(b.follow(t))
	for _, d := range registry.Descriptions() {
		p, err := b.provider(ctx, d, b.config.Providers[d.Name], client)
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

// provider returns one provider, built from its settings. It makes no call.
func (b basics) provider(
	ctx context.Context, d providers.Description, s providers.Settings, client *http.Client,
) (*providers.Provider, error) {
	in := providers.Installation{Client: client, Contact: b.now.Load().Contact}
	if keys := d.Keys(s); len(keys) > 0 {
		waits, err := b.store.Cooldowns(ctx)
		if err != nil {
			return nil, err
		}
		in.Keys = resilience.NewKeyPool(d.Name, keys, backoffOptions(*b.now.Load()))
		in.Keys.Restore(waits)
		in.Keyed = resilience.NewClient(b.keyed(client.Transport, d, in.Keys))
	}
	return d.New(s, in)
}

// keyed returns a transport that puts a key of the pool on every request and keeps the pool's waits across restarts.
func (b basics) keyed(
	base http.RoundTripper, d providers.Description, pool *resilience.KeyPool,
) *resilience.KeyTransport {
	return &resilience.KeyTransport{Base: base, Pool: pool,
		Put: d.Pool.Put, Advice: d.Pool.Advice, Spent: d.Pool.Spent,
		Save: func(ctx context.Context, begun []resilience.Cooldown) error {
			err := b.store.SaveCooldowns(ctx, begun)
			for _, w := range begun {
				if w.Until.IsZero() {
					note := activity.Entry{Action: activity.KeyRefused, Connection: library.ConnectionID(d.Name),
						Subject: w.LastFour}
					err = errors.Join(err, b.store.Note(ctx, note))
				}
			}
			return err
		},
		Failed:  func(err error) { b.log.Error("waits of keys cannot be stored", "provider", d.Name, "err", err) },
		Rotated: func(why resilience.Category) { b.counters.Rotation(d.Name, why) },
	}
}

// latePlays is how long to wait after a week ends for late plays, from phones that were offline.
const latePlays = 3 * time.Hour

// newDigests returns the writer of the weekly digests. Without a model it never writes one.
func (b basics) newDigests(services *providers.Registry, guard digest.Guard) *digest.Runner {
	c := digest.Config{Options: digest.Options{Late: latePlays}, Services: services, Guard: guard, Store: b.store,
		Bus: b.bus, Log: b.log, Reader: accounts.ReaderIn(b.store)}
	if b.config.Simulated != nil {
		c.Options.Every, c.Options.Late = household.DigestEvery, 0
	}
	return digest.New(c)
}
