package main

import (
	"context"
	"net/http"

	"reprise/internal/alerts"
	"reprise/internal/config"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// hosts returns the policy of the settings. Some services block callers whom they cannot contact; other servers with
// the same API do not.
func hosts(c config.Config) resilience.HostPolicy {
	policy := resilience.HostPolicy{AllowPrivate: c.AllowPrivateUpstreams, Contact: c.Contact}
	for _, d := range registry.Descriptions() {
		policy.NeedContact = append(policy.NeedContact, d.Contact.Domains...)
	}
	return policy
}

// transport returns the transport of every upstream call, with what all users share: our uplink, the breakers and the
// paces.
func (b basics) transport(base http.RoundTripper, raised *alerts.Alerts) *resilience.Transport {
	ctx := context.Background() // a change must be stored although the call that found it may have ended
	return &resilience.Transport{Base: base, UserAgent: userAgent(b.config), Log: b.log, Told: b.counts.Attempt,
		Uplink: resilience.NewUplink(resilience.UplinkOptions{Upstreams: upstreams(b.config),
			Changed: func(offline bool) { raised.UplinkChanged(ctx, offline) }}),
		Breakers: resilience.NewBreakers(resilience.BreakerOptions{Failures: b.config.BreakerFailures,
			Cooldown: b.config.BreakerCooldown, Changed: func(ch resilience.BreakerChange) {
				b.counts.Breaker(ch)
				raised.BreakerChanged(ctx, ch)
			}}),
		Paces: resilience.NewPaces(rates(b.config)),
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

// rates returns the requests per second that the settings allow, by host.
func rates(c config.Config) map[string]float64 {
	all := map[string]float64{}
	for _, d := range registry.Descriptions() {
		if s := c.Providers[d.Name]; s.Rate() > 0 {
			all[d.APIHost(s)] = s.Rate()
		}
	}
	return all
}

// upstreams returns the owner of every host that is reached over the uplink. Servers at home are left out.
func upstreams(c config.Config) map[string]string {
	all := map[string]string{}
	for _, d := range registry.Descriptions() {
		for _, host := range d.Hosts(c.Providers[d.Name]) {
			if c.Simulated || resilience.IsPublicHost(host) {
				all[host] = d.Owner
			}
		}
	}
	return all
}
