package main

import (
	"context"
	"log/slog"
	"net/http"

	"reprise/internal/alerts"
	"reprise/internal/config"
	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

// hosts is the policy that the settings make. Some services block callers that they cannot reach; servers of others that
// speak the same API do not.
func hosts(c config.Config) resilience.HostPolicy {
	policy := resilience.HostPolicy{AllowPrivate: c.AllowPrivateUpstreams, Contact: c.Contact}
	for _, d := range registry.Descriptions() {
		policy.NeedContact = append(policy.NeedContact, d.Contact.Domains...)
	}
	return policy
}

// newTransport makes the way of every upstream call, with what all users share on it: our uplink, the breakers and the
// paces. Their changes go to told.
func newTransport(c config.Config, base http.RoundTripper, n counts, log *slog.Logger, told *alerts.Alerts) *resilience.Transport {
	ctx := context.Background() // what is told must be kept although the call that found out may have ended
	return &resilience.Transport{Base: base, UserAgent: userAgent(c), Log: log, Told: n.attempt,
		Uplink: resilience.NewUplink(resilience.UplinkOptions{Upstreams: upstreams(c), Changed: func(offline bool) { told.UplinkChanged(ctx, offline) }}),
		Breakers: resilience.NewBreakers(resilience.BreakerOptions{Failures: c.BreakerFailures, Cooldown: c.BreakerCooldown,
			Changed: func(ch resilience.BreakerChange) {
				n.breaker(ch)
				told.BreakerChanged(ctx, ch)
			}}),
		Paces: resilience.NewPaces(rates(c)),
	}
}

// userAgent is how this installation introduces itself.
func userAgent(c config.Config) string {
	agent := "Reprise/" + version
	if c.Contact != "" {
		agent += " (" + c.Contact + ")"
	}
	return agent
}

// rates are the requests per second that the settings allow, by host.
func rates(c config.Config) map[string]float64 {
	all := map[string]float64{}
	for _, d := range registry.Descriptions() {
		if s := c.Providers[d.Name]; s.Rate() > 0 {
			all[d.APIHost(s)] = s.Rate()
		}
	}
	return all
}

// upstreams are the hosts that are reached over the uplink, each with its owner. A server at home is none of them.
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
