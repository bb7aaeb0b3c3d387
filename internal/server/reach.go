package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"reprise/internal/config"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/server/edge"
	"reprise/internal/words"
)

// Reach is what the settings say about how browsers and programs reach this server.
type Reach struct {
	BaseURL        string            // as browsers reach it, without a trailing slash
	AllowedHosts   []string          // names by which browsers may ask, beside BaseURL's; "*" for all
	TrustedProxies []string          // networks whose X-Forwarded-For is believed
	AdminToken     resilience.Secret // of the operator API and the metrics; empty: none
	Proxy          config.Proxy      // which one says who somebody is
	SecondStep     string            // who needs one: nobody, administrators or everybody
}

// reach is a Reach in the form in which requests need it. It is never changed in place.
type reach struct {
	Reach
	base       *url.URL
	hosts      edge.Hosts
	protection *http.CrossOriginProtection
	extract    echo.IPExtractor
	proxies    []netip.Prefix
	namers     []netip.Prefix // the proxies that say who somebody is
	patterns   []string       // of the hosts of our own pages
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
		proxies: prefixes(r.TrustedProxies), namers: prefixes(r.Proxy.From),
		patterns: patterns(base.Host, r.AllowedHosts)}
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

// named takes the header from a request by which a proxy says who sent it, and returns that name. It is believed by the
// address of the peer alone: what X-Forwarded-For says, anybody may have written. forged says that it came from
// elsewhere; the error is a Refusal for a request with two names.
func (r *reach) named(req *http.Request) (name string, forged bool, err error) {
	if !r.Proxy.On() {
		return "", false, nil
	}
	all := req.Header.Values(r.Proxy.Header)
	if len(all) == 0 {
		return "", false, nil
	}
	req.Header = req.Header.Clone() // another server may have to see it
	req.Header.Del(r.Proxy.Header)
	if !within(req.RemoteAddr, r.namers) {
		return "", true, nil
	}
	if strings.HasPrefix(req.URL.Path, "/api/") { // proxies often let that through, with what a client says
		return "", false, nil
	}
	if len(all) > 1 {
		return "", false, &core.Refusal{Status: http.StatusBadRequest, Title: words.New("proxied.twice"),
			Detail: words.New("proxied.twice_text", "Header", r.Proxy.Header)}
	}
	name = strings.TrimSpace(all[0])
	if strings.HasPrefix(name, unfilled) {
		name = ""
	}
	return name, false, nil
}

// unfilled begins what Caddy 2.6 sends in place of a header that it should copy and that isn't there.
const unfilled = "{http.reverse_proxy."

// within reports whether an address with a port is in one of these networks.
func within(address string, networks []netip.Prefix) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(networks, func(n netip.Prefix) bool {
		return n.Contains(at.Addr().Unmap().WithZone(""))
	})
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
	s.resources.core.RequireSecondStep(r.SecondStep)
	s.resources.core.Sessions.NamedByProxy(r.Proxy.On())
	return nil
}
