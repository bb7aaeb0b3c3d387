package main

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"

	"reprise/internal/channels"
	"reprise/internal/config"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
	syncer "reprise/internal/sync"
)

// current is the Config that holds now.
type current struct{ atomic.Pointer[config.Config] }

func newCurrent(c config.Config) *current {
	now := &current{}
	now.Store(&c)
	return now
}

// apply gives every part its new settings. It is called for one change at a time.
func (a *app) apply(ctx context.Context, before, now config.Config) error {
	a.now.Store(&now)
	a.hosts.Configure(now.Hosts(registry.Descriptions()))
	a.store.Configure(storeOptions(now).Sending)
	a.backoff.Configure(now.Backoff())
	a.endpoints.Breakers.Configure(now.Breakers())
	a.guard.Configure(now.DeliveryFirstDelay)
	a.deliveries.Configure(deliveryOptions(now))
	a.server.Art.Resize(int64(now.ArtMaxMiB) << 20)
	a.channels.Introduce(now.Contact, now.BaseURL)
	a.server.Courier.Move(now.BaseURL)
	a.updates.Configure(now.UpdatesURL)
	a.mqtt.Configure(now.MQTT)
	a.server.Issuers.Configure(now.OpenID)
	a.server.Backups.Configure(now.Backup)
	a.server.Enrichment.SetEvery(now.EnrichEvery)
	a.watch.Configure(now.NowPlaying)
	err := errors.Join(a.server.Syncer.Configure(syncOptions(now)), a.replace(ctx, before, now))
	if !slices.Equal(before.NotifyURLs, now.NotifyURLs) {
		err = errors.Join(err, channels.Adopt(ctx, a.server.Courier, now.NotifyURLs))
	}
	if web := a.web.Load(); web != nil {
		err = errors.Join(err, web.Configure(reachOfSettings(now)))
	}
	return err
}

// replace builds the providers whose settings have changed, and lifts what those have stopped.
func (a *app) replace(ctx context.Context, before, now config.Config) error {
	var errs []error
	for _, d := range registry.Descriptions() {
		same := reflect.DeepEqual(before.Providers[d.Name], now.Providers[d.Name]) &&
			(before.Contact == now.Contact || !d.Contact.Asks()) &&
			before.AllowPrivateUpstreams == now.AllowPrivateUpstreams
		in := a.services
		if d.Connects() {
			in = a.registry
		}
		if same {
			in.Get(d.Name).Keys.Configure(now.Backoff())
			continue
		}
		p, err := a.builder.Build(ctx, d, now.Providers[d.Name], now.Contact, now.Backoff())
		if err == nil {
			err = a.connections.Replace(ctx, in, p)
		}
		errs = append(errs, err)
		a.lookAgain(p)
	}
	return errors.Join(errs...)
}

// lookAgain wakes up what may have waited for a provider.
func (a *app) lookAgain(p *providers.Provider) {
	switch {
	case p == nil:
	case p.Enriches != nil:
		a.server.Enrichment.Tick()
	case p.Writes():
		a.digests.Look()
	}
}

func syncOptions(c config.Config) syncer.Options {
	return syncer.Options{ListensEvery: c.ListensEvery, PlaylistsEvery: c.PlaylistsEvery, Workers: c.Workers,
		RunTimeout: c.RunTimeout, Audits: true}
}

func reachOfSettings(c config.Config) server.Reach {
	return server.Reach{BaseURL: c.BaseURL, AllowedHosts: c.AllowedHosts, TrustedProxies: c.TrustedProxies,
		AdminToken: c.AdminToken, Proxy: c.Proxy, SecondStep: c.SecondStep}
}
