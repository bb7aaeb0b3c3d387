package main

import (
	"context"
	"net/http"

	"reprise/internal/alerts"
	"reprise/internal/config"
	"reprise/internal/providers"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// hosts returns the policy of the settings. Some services block callers that they cannot contact; other servers with
// the same API do not.
func hosts(c config.Config) resilience.HostPolicy {
	policy := resilience.HostPolicy{AllowPrivate: c.AllowPrivateUpstreams, Contact: c.Contact, Only: c.Simulated,
		OwnPort: c.Port()}
	for _, d := range registry.Descriptions() {
		policy.NeedContact = append(policy.NeedContact, d.Contact.Domains...)
	}
	return policy
}

// transport returns the transport of every upstream call, with what all users share: our uplink, the breakers and the
// paces.
func (b basics) transport(base http.RoundTripper, alerts *alerts.Alerts) *resilience.Transport {
	trips := breakerOptions(b.config)
	ctx := context.Background() // a change must be stored although the call that found it may have ended
	trips.Changed = func(ch resilience.BreakerChange) {
		b.counters.Breaker(ch)
		alerts.BreakerChanged(ctx, ch)
	}
	return &resilience.Transport{Base: base,
		Agent: func() string { return userAgent(*b.now.Load()) },
		Log:   b.log, Told: b.counters.Attempt,
		Uplink: resilience.NewUplink(resilience.UplinkOptions{
			Changed: func(offline bool) { alerts.UplinkChanged(ctx, offline) }}),
		Breakers: resilience.NewBreakers(trips),
		Paces:    resilience.NewPaces(nil),
		Turns:    resilience.NewTurns(),
	}
}

// userAgent returns how this installation introduces itself.
func userAgent(c config.Config) string {
	agent := "Reprise/" + version
	if c.Contact != "" {
		agent += " (" + c.Contact + ")"
	}
	return agent
}

// follow has every call follow the settings of a provider: the pace of its host, what is reached over the uplink, and
// what is counted. Servers at home are not reached over the uplink.
func (b basics) follow(t *resilience.Transport) func(*providers.Provider) {
	return func(p *providers.Provider) {
		if host := p.APIHost(p.Settings); host != "" {
			t.Paces.Limit(host, p.Settings.Rate())
		}
		for _, host := range p.Hosts(p.Settings) {
			if b.config.Simulated != nil || resilience.IsPublicHost(host) {
				t.Uplink.Reach(host, p.Owner)
			}
		}
		b.counters.Follow(p)
	}
}
