package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/words"
	"reprise/web"
)

// reached is the result of calling a host.
type reached struct {
	finding
	ahead time.Duration // how far its clock is ahead of ours
	timed bool          // it sent its time
}

// hosts calls every host of every service that is set up, all at the same time.
func (d *doctor) hosts(ctx context.Context) []reached {
	var all []reached
	var g errgroup.Group
	type call struct {
		at        int
		name, url string
	}
	var calls []call
	for _, p := range d.Known {
		settings := d.c.Providers[p.Name]
		if p.Owner == providers.OwnServer {
			continue
		}
		if missing := p.Lacks(settings, d.c.Contact); len(missing) > 0 {
			needs := providers.Listed(missing)
			all = append(all, reached{finding: found(off, "%s isn't set up: it needs %s.", p.DisplayName, needs)})
			continue
		}
		seen := map[string]bool{}
		for _, address := range p.Addresses(settings) {
			if host := hosts.Of(address); !seen[host] {
				seen[host] = true
				calls = append(calls, call{len(all), p.DisplayName, address})
				all = append(all, reached{})
			}
		}
	}
	for _, c := range calls {
		g.Go(func() error { all[c.at] = d.reach(ctx, c.name, c.url); return nil })
	}
	_ = g.Wait() // findings are no errors
	return all
}

// reach makes one call to a host and accepts any answer.
func (d *doctor) reach(ctx context.Context, name, address string) (r reached) {
	host := hosts.Of(address)
	resp, err := d.get(ctx, d.base, address)
	if err != nil {
		r.finding = found(problem, "Reprise can't reach %s: %s", name, whyNot(host, err))
		return r
	}
	resp.Body.Close()
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		r.ahead, r.timed = time.Until(at)+time.Second/2, true // it comes in whole seconds
	}
	if resilience.ServerFault(resp.StatusCode) {
		r.finding = found(warn, "%s answers at %s, but isn't working right now. There's nothing to do; check "+
			"again later.", name, host)
		return r
	}
	r.finding = found(fine, "%s answers at %s.", name, host)
	return r
}

func (d *doctor) get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", d.UserAgent)
	resp, err := client.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the URL may contain secrets
	}
	return resp, err
}

// whyNot explains which step on the way to a host failed, and what to do.
func whyNot(host string, err error) string {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return words.Of(e.Problem).String()
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "proxyconnect" {
		return "the proxy in HTTP_PROXY or HTTPS_PROXY doesn't answer. Correct that variable, or remove it."
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the name %s can't be resolved. Check the address for a typo, and check this machine's "+
			"internet connection and its DNS server.", host)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("the certificate of %s isn't valid: %s.", host, certificate(e.Err))
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Sprintf("%s doesn't use TLS there. Check the address: it may need to begin with http://, or use "+
			"another port.", host)
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return fmt.Sprintf("%s and this machine can't agree on a TLS version. "+
			"A firewall in between may be the cause.", host)
	}
	e, timeout := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing is listening on that port of %s. "+
			"Check the address, and whether that server is running.", host)
	case timeout && e.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s didn't answer in time. "+
			"A firewall may be in the way; check this machine's internet connection.", host)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Sprintf("there's no route to %s. Check this machine's internet connection.", host)
	}
	return fmt.Sprintf("the connection to %s was cut off (%v). Check again later; a firewall may be in the way.", host,
		err)
}

// certificate explains what is wrong with a certificate, and what to do.
func certificate(err error) string {
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		if now := time.Now(); now.Before(e.Cert.NotBefore) {
			return fmt.Sprintf("by this machine's clock (%s) it isn't valid yet. If the clock is wrong, turn on "+
				"network time (NTP), on most systems with: timedatectl set-ntp true",
				now.Format(time.DateTime))
		}
		return fmt.Sprintf("it expired on %s. The operator of that server has to renew it, unless this machine's "+
			"clock is wrong", e.Cert.NotAfter.Format(time.DateOnly))
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "this machine doesn't trust the authority that signed it. Install the package ca-certificates, or " +
			"that authority's certificate"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "it's for another name. Check the address for a typo; something else may be answering in its place"
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}

// clockOff is the skew that is reported as a problem. Signatures and the ends of permissions depend on the clock.
const clockOff = time.Minute

// clock compares our clock with the median of the services' clocks.
func clock(answered []reached) finding {
	var ahead []time.Duration
	for _, h := range answered {
		if h.timed {
			ahead = append(ahead, h.ahead)
		}
	}
	if len(ahead) == 0 {
		return found(off, "Reprise can't check this machine's clock, because no service has answered.")
	}
	slices.Sort(ahead)
	by := ahead[len(ahead)/2]
	direction := "behind"
	if by < 0 {
		direction = "ahead"
	}
	if by.Abs() >= clockOff {
		return found(problem, "This machine's clock is %s %s. Turn on network time (NTP), on most systems with: "+
			"timedatectl set-ntp true",
			by.Abs().Round(time.Second), direction)
	}
	return found(fine, "This machine's clock is right.")
}

// certificateSoon is how long before its end a certificate should be renewed.
const certificateSoon = 14 * 24 * time.Hour

// page checks whether browsers reach the server at base_url.
func (d *doctor) page(ctx context.Context) []finding {
	u, err := url.Parse(d.c.BaseURL)
	if err != nil {
		return []finding{found(problem, "base_url isn't a web address.")}
	}
	if !d.live && u.Scheme != "https" {
		return []finding{found(off, "Start the server to check whether %s leads to it.", d.c.BaseURL)}
	}
	resp, err := d.get(ctx, d.own, d.c.BaseURL+"/livez")
	if err != nil {
		level := problem
		if !d.live {
			level = warn
		}
		return []finding{found(level, "Reprise can't reach base_url %s from here: %s", d.c.BaseURL,
			whyNot(u.Host, err))}
	}
	resp.Body.Close()
	var all []finding
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		left := time.Until(resp.TLS.PeerCertificates[0].NotAfter)
		all = append(all, found(fine, "The certificate of %s is valid for another %s.", u.Host,
			web.Count(int(left/(24*time.Hour)), "day", "days")))
		if left < certificateSoon {
			all[0] = found(warn, "The certificate of %s expires in %s. Find out why it hasn't been renewed.", u.Host,
				web.Count(int(left/(24*time.Hour)), "day", "days"))
		}
	}
	switch {
	case !d.live:
		return append(all, found(off, "Start the server to check whether %s leads to it.", d.c.BaseURL))
	case !d.isReprise(ctx, d.c.BaseURL):
		return append(all, found(problem, "Something answers at base_url %s, but it isn't Reprise. Check the "+
			"reverse proxy, or correct base_url.", d.c.BaseURL))
	}
	return append(all, found(fine, "Reprise answers at %s.", d.c.BaseURL))
}

// redirects finds the addresses that have to be registered with providers where people consent in the browser, and
// whether the providers accept them.
func (d *doctor) redirects() (all []finding) {
	u, err := url.Parse(d.c.BaseURL)
	if err != nil {
		return nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := err == nil && ip.IsLoopback()
	local := u.Hostname() == "localhost"
	for _, p := range d.Known {
		r := p.Registration
		if r == nil || d.c.Providers[p.Name].Text("client_id") == "" {
			continue
		}
		switch to := d.redirectURI(p.Name); {
		case r.Redirect.NoLocalhost && local && u.Scheme == "http":
			all = append(all, found(warn, "%s doesn't accept addresses with \"localhost\". Set base_url to "+
				"http://127.0.0.1:%s, open Reprise there, and register that address followed by /connect/%s/callback.",
				p.DisplayName, cmp.Or(u.Port(), "80"), p.Name))
		case r.Redirect.Secure && u.Scheme == "http" && !loopback && !local:
			all = append(all, found(warn, "%s accepts http addresses only for this machine itself. Put a reverse "+
				"proxy with TLS in front, set base_url to its https address, and register that followed by "+
				"/connect/%s/callback.",
				p.DisplayName, p.Name))
		default:
			all = append(all, found(fine, "For %s, register exactly this %s: %s", p.DisplayName, r.RedirectAs, to))
		}
	}
	return all
}
