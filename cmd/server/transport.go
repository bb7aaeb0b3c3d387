package main

import (
	"context"
	"net/http"

	"reprise/internal/alerts"
	"reprise/internal/providers"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/resilience/turns"
)

// transport returns the transport of every upstream call, with what all users share: our uplink, the breakers and the
// paces.
func (b basics) transport(base http.RoundTripper, alerts *alerts.Alerts) *transport.Transport {
	trips := b.config.Breakers()
	ctx := context.Background() // a change must be stored although the call that found it may have ended
	trips.Changed = func(ch transport.BreakerChange) {
		b.counters.Breaker(ch)
		alerts.BreakerChanged(ctx, ch)
	}
	return &transport.Transport{Base: base,
		Agent: func() string { return b.now.Load().Agent(version) },
		Log:   b.log, Told: b.counters.Attempt,
		Uplink: transport.NewUplink(transport.UplinkOptions{
			Changed: func(offline bool) { alerts.UplinkChanged(ctx, offline) }}),
		Breakers: transport.NewBreakers(trips), Paces: transport.NewPaces(nil), Turns: turns.New(),
	}
}

// follow has every call follow the settings of a provider: the pace of its host, what is reached over the uplink, and
// what is counted. Servers at home are not reached over the uplink.
func (b basics) follow(t *transport.Transport) func(*providers.Provider) {
	return func(p *providers.Provider) {
		if host := p.APIHost(p.Settings); host != "" {
			t.Paces.Limit(host, p.Settings.Rate())
		}
		for _, host := range p.Hosts(p.Settings) {
			if b.config.Simulated != nil || hosts.IsPublic(host) {
				t.Uplink.Reach(host, p.Owner)
			}
		}
		b.counters.Follow(p)
	}
}
