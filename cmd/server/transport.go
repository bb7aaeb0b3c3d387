package main

import (
	"context"
	"log/slog"
	"net/http"

	"reprise/internal/alerts"
	"reprise/internal/config"
	"reprise/internal/resilience"
)

// hosts is the policy that the settings make. MetaBrainz blocks addresses whose owner it cannot reach; servers of others
// that speak the same API do not.
func hosts(c config.Config) resilience.HostPolicy {
	return resilience.HostPolicy{AllowPrivate: c.AllowPrivateUpstreams, Contact: c.Contact,
		NeedContact: []string{"listenbrainz.org", "musicbrainz.org"}}
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
		Paces: resilience.NewPaces(map[string]float64{resilience.HostOf(c.LastFM.APIURL): c.LastFM.Rate, resilience.HostOf(c.ListenBrainz.APIURL): c.ListenBrainz.Rate,
			resilience.HostOf(c.MusicBrainz.APIURL): c.MusicBrainz.Rate}),
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

// upstreams are the hosts that are reached over the uplink, with the name of who runs them. A server at home is none of
// them.
func upstreams(c config.Config) map[string]string {
	all := map[string]string{}
	for owner, services := range map[string][]config.Provider{"spotify": {c.Spotify}, "lastfm": {c.LastFM}, "metabrainz": {c.ListenBrainz, c.MusicBrainz},
		"google": {c.YouTube}, "fanarttv": {c.FanartTV}, "openai": {{APIURL: c.OpenAI.APIURL}}} {
		for _, p := range services {
			for _, host := range []string{resilience.HostOf(p.APIURL), resilience.HostOf(p.TokenURL)} {
				if c.Simulated || resilience.IsPublicHost(host) {
					all[host] = owner
				}
			}
		}
	}
	delete(all, "")
	return all
}
