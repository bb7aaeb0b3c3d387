package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"code.dny.dev/ssrf"

	"reprise/internal/config"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
)

// newBase makes the connections to upstreams, which may not lead into private networks where the settings say so, and
// not to services that block whom they do not know while the settings do not say who calls.
func newBase(c config.Config) http.RoundTripper {
	var dial func(context.Context, string, string) (net.Conn, error)
	if !c.AllowPrivateUpstreams {
		dial = guardedDial()
	}
	base := resilience.NewBase(dial)
	if c.Contact == "" {
		return nameless{base}
	}
	return base
}

// nameless calls no service that wants to know who calls.
type nameless struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n nameless) RoundTrip(req *http.Request) (*http.Response, error) {
	if !wantsContact(req.URL.Host) {
		return n.RoundTripper.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, &resilience.SettingError{Setting: "contact", Problem: contactMissing}
}

const contactMissing = "This service wants to know whom to write to when something goes wrong. The administrator has to set contact to an e-mail or web address, and start Reprise again."

// wantsContact says whether a host is MetaBrainz', which blocks addresses whose owner it cannot reach. Servers of others
// that speak the same API need none.
func wantsContact(host string) bool {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	for _, domain := range []string{"listenbrainz.org", "musicbrainz.org"} {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

// guardedDial connects to no address of a private network.
func guardedDial() func(context.Context, string, string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: resilience.ConnectTimeout, Control: ssrf.New(ssrf.WithAnyPort()).Safe}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if errors.Is(err, ssrf.ErrProhibitedIP) {
			return nil, &resilience.SettingError{Setting: "allow_private_upstreams", Problem: "This server does not call addresses of private networks."}
		}
		return conn, err
	}
}

// newTransport makes the way of every upstream call, with what all users share on it: our uplink, the breakers and the
// paces. guard is told of their changes.
func newTransport(c config.Config, base http.RoundTripper, n counts, log *slog.Logger, guard func() *syncer.Guard) *resilience.Transport {
	ctx := context.Background() // what is told must be kept although the call that found out may have ended
	return &resilience.Transport{Base: base, UserAgent: userAgent(c), Log: log, Told: n.attempt,
		Uplink: resilience.NewUplink(resilience.UplinkOptions{Upstreams: upstreams(c), Changed: func(offline bool) { guard().UplinkChanged(ctx, offline) }}),
		Breakers: resilience.NewBreakers(resilience.BreakerOptions{Failures: c.BreakerFailures, Cooldown: c.BreakerCooldown,
			Changed: func(ch resilience.BreakerChange) {
				n.breaker(ch)
				guard().BreakerChanged(ctx, ch)
			}}),
		Paces: resilience.NewPaces(map[string]float64{hostOf(c.LastFM.APIURL): c.LastFM.Rate, hostOf(c.ListenBrainz.APIURL): c.ListenBrainz.Rate,
			hostOf(c.MusicBrainz.APIURL): c.MusicBrainz.Rate}),
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
			for _, host := range []string{hostOf(p.APIURL), hostOf(p.TokenURL)} {
				if c.Simulated || away(host) {
					all[host] = owner
				}
			}
		}
	}
	delete(all, "")
	return all
}

// away says whether a host is reached over the uplink: it is neither an address of a private network nor a name that is
// known there only.
func away(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if ip := net.ParseIP(strings.Trim(name, "[]")); ip != nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
	}
	for _, home := range []string{".local", ".lan", ".internal", ".home.arpa", ".localhost"} {
		if strings.HasSuffix(name, home) {
			return false
		}
	}
	return strings.Contains(name, ".")
}

// hostOf is the host of an address, with its port when it names one.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
