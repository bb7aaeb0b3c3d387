package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"reprise/internal/config"
	"reprise/internal/resilience"
	"reprise/internal/server/edge"
)

// Reach is what the settings say about how browsers and programs reach this server.
type Reach struct {
	BaseURL        string            // as browsers reach it, without a trailing slash
	AllowedHosts   []string          // names by which browsers may ask, beside BaseURL's; "*" for all
	TrustedProxies []string          // networks whose X-Forwarded-For is believed
	AdminToken     resilience.Secret // of the operator API and the metrics; empty: none
}

// reach is a Reach in the form in which requests need it. It is never changed in place.
type reach struct {
	Reach
	base       *url.URL
	hosts      edge.Hosts
	protection *http.CrossOriginProtection
	extract    echo.IPExtractor
	proxies    []netip.Prefix
	patterns   []string // of the hosts of our own pages
}

// reached is the reach that holds now.
type reached struct{ atomic.Pointer[reach] }

// newReach returns the form of a Reach. own are the machine's own names.
func newReach(r Reach, own []string) (*reach, error) {
	base, err := url.Parse(r.BaseURL)
	if err != nil {
		return nil, err
	}
	now := &reach{Reach: r, base: base, protection: http.NewCrossOriginProtection(),
		hosts:   edge.NewHosts(slices.Concat(r.AllowedHosts, own, []string{base.Host})...),
		proxies: prefixes(r.TrustedProxies), patterns: patterns(base.Host, r.AllowedHosts)}
	// A reverse proxy may ask by another name than the one by which browsers know this server.
	for _, origin := range now.origins() {
		if err := now.protection.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	now.extract, err = ipExtractor(r.TrustedProxies)
	return now, err
}

// foreign reports whether another site made a browser send a request that changes something or opens a websocket. What
// no browser has sent is not foreign. net/http compares the host and port of an origin with those of the request, but
// not the scheme: a page that came over plain HTTP, where anybody in between may have written it, is another site.
func (r *reach) foreign(req *http.Request) bool {
	if r.protection.Check(req) != nil {
		return true
	}
	switch req.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none": // browsers send it over TLS only, and programs whenever they like
		return false
	}
	o, err := url.Parse(req.Header.Get("Origin"))
	if err != nil || req.Header.Get("Origin") == "" {
		return err != nil
	}
	return o.Scheme != r.base.Scheme && (r.base.Scheme == "https" || o.Host == r.base.Host)
}

// origins returns where our own pages may come from when a reverse proxy asks by another name than browsers do.
func (r *reach) origins() []string {
	all := []string{r.base.Scheme + "://" + r.base.Host}
	for _, name := range r.AllowedHosts {
		if name != edge.AnyHost {
			all = append(all, "https://"+name, "http://"+name)
		}
	}
	return all
}

// answers reports whether a server with these settings would answer to a host.
func (c *Config) answers(next config.Config, host string) bool {
	now, err := newReach(Reach{BaseURL: next.BaseURL, AllowedHosts: next.AllowedHosts}, c.OwnNames)
	return err == nil && now.hosts.Allow(host)
}

// Reach returns how this server is reached now.
func (s *Server) Reach() Reach { return s.resources.reach.Load().Reach }

// Configure changes how this server is reached, from the next request on. Connections that are open stay so.
func (s *Server) Configure(r Reach) error {
	now, err := newReach(r, s.resources.OwnNames)
	if err != nil {
		return err
	}
	s.resources.reach.Store(now)
	s.resources.core.Configure(now.base, r.AdminToken)
	return nil
}
