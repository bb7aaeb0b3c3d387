package config

import (
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

// Hosts returns which hosts may be called. Some services block callers that they cannot contact; other servers with the
// same API do not.
func (c Config) Hosts(known []providers.Description) hosts.Policy {
	policy := hosts.Policy{AllowPrivate: c.AllowPrivateUpstreams, Contact: c.Contact, Only: c.Simulated,
		OwnPort: c.Port()}
	for _, d := range known {
		policy.NeedContact = append(policy.NeedContact, d.Contact.Domains...)
	}
	return policy
}

// Backoff returns the options of the backoff.
func (c Config) Backoff() backoff.Options {
	o := backoff.Options{Base: c.BackoffBase, Max: c.BackoffMax, Jitter: c.BackoffJitter}
	if o.Jitter == 0 {
		o.Jitter = -1 // none, to the backoff
	}
	return o
}

// Breakers returns the options of the breakers.
func (c Config) Breakers() transport.BreakerOptions {
	return transport.BreakerOptions{Failures: c.BreakerFailures, Cooldown: c.BreakerCooldown,
		MaxCooldown: c.BreakerMaxOpen}
}

// Agent returns how an installation of this version introduces itself to services.
func (c Config) Agent(version string) string {
	agent := "Reprise/" + version
	if c.Contact != "" {
		agent += " (" + c.Contact + ")"
	}
	return agent
}
