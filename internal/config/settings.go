package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/nearest"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// setting is one row of the table: a path, its default, and the function that sets the field from text.
type setting struct {
	path   string
	def    string
	secret bool // may also come from a file that REPRISE_…_FILE names
	set    func(string) error
}

// settings returns the table of all settings, bound to the fields of c.
func (c *Config) settings() []setting {
	return []setting{
		{path: "listen", def: "127.0.0.1:8420", set: address(&c.Listen)},
		{path: "base_url", set: addressOf(providers.BaseURL, &c.BaseURL)},
		{path: "data_dir", def: "./data", set: plainText(&c.DataDir)},
		{path: "database_url", secret: true, set: c.setDatabaseURL},
		{path: "secret_key", secret: true, set: c.setSecretKey},
		{path: "admin_token", secret: true, set: c.setAdminToken},
		{path: "contact", set: contact(&c.Contact)},
		{path: "log.level", def: "info", set: c.setLogLevel},
		{path: "log.format", def: "auto", set: oneOf(&c.LogFormat, "auto", "text", "json")},
		{path: "shutdown_timeout", def: "20s", set: duration(&c.ShutdownTimeout, time.Second)},
		{path: "allowed_hosts", set: hostNames(&c.AllowedHosts)},
		{path: "trusted_proxies", set: networks(&c.TrustedProxies)},
		{path: "sync.listens_every", def: "5m", set: duration(&c.ListensEvery, time.Second)},
		{path: "sync.playlists_every", def: "15m", set: duration(&c.PlaylistsEvery, time.Second)},
		{path: "sync.enrich_every", def: "1h", set: duration(&c.EnrichEvery, time.Second)},
		{path: "sync.workers", def: "8", set: integer(&c.Workers, 1, 1000)},
		{path: "sync.run_timeout", def: "10m", set: duration(&c.RunTimeout, time.Second)},
		{path: "backoff.base", def: "30s", set: duration(&c.BackoffBase, 100*time.Millisecond)},
		{path: "backoff.max", def: "30m", set: duration(&c.BackoffMax, 100*time.Millisecond)},
		{path: "backoff.jitter", def: "0.25", set: fraction(&c.BackoffJitter)},
		{path: "breaker.failures", def: "5", set: integer(&c.BreakerFailures, 1, 1000)},
		{path: "breaker.cooldown", def: "60s", set: duration(&c.BreakerCooldown, 100*time.Millisecond)},
		{path: "breaker.max_open", def: "10m", set: duration(&c.BreakerMaxOpen, 100*time.Millisecond)},
		{path: "delivery.first_delay", def: "1s", set: duration(&c.DeliveryFirstDelay, 100*time.Millisecond)},
		{path: "delivery.max_delay", def: "1h", set: duration(&c.DeliveryMaxDelay, 100*time.Millisecond)},
		{path: "delivery.max_age", def: "336h", set: duration(&c.DeliveryMaxAge, time.Second)},
		{path: "delivery.max_attempts", def: "0", set: integer(&c.DeliveryMaxAttempts, 0, 10_000)},
		{path: "delivery.keep_dead", def: "720h", set: duration(&c.DeliveryKeepDead, time.Minute)},
		{path: "delivery.workers", def: "4", set: integer(&c.DeliveryWorkers, 1, 100)},
		{path: "delivery.backlog_warn", def: "1000", set: integer(&c.DeliveryBacklogWarn, 1, 1_000_000)},
		{path: "delivery.backlog_limit", def: "5000", set: integer(&c.DeliveryBacklogLimit, 1, 1_000_000)},
		{path: "notify.urls", secret: true, set: channelURLs(&c.NotifyURLs)},
		{path: "art.max_mib", def: "512", set: integer(&c.ArtMaxMiB, 0, 1_000_000)},
		{path: "allowed_upstreams", set: upstreams(&c.AllowedUpstreams)},
		{path: "allow_private_upstreams", def: "true", set: boolean(&c.AllowPrivateUpstreams)},
	}
}

// providerSettings returns the rows of the providers' settings, from their descriptions.
func (c *Config) providerSettings(all []providers.Description) (table []setting) {
	c.Providers = make(map[string]providers.Settings, len(all))
	for _, d := range all {
		values := providers.Settings{}
		c.Providers[d.Name] = values
		for _, s := range d.Settings {
			table = append(table, setting{path: d.Path(s.Name), def: s.Default, secret: s.Secret(),
				set: func(text string) error {
					v, err := s.Parse(text)
					values[s.Name] = v
					return err
				}})
		}
	}
	return table
}

// defaultMaxOpen is breaker.max_open when nobody sets it.
const defaultMaxOpen = 10 * time.Minute

// validate checks rules that span several settings. A setting that failed its own check is zero here.
func (c *Config) validate() (problems Problems) {
	if c.BackoffMax > 0 && c.BackoffMax < c.BackoffBase {
		problems = append(problems, fmt.Sprintf("backoff.max (%v) must not be shorter than backoff.base (%v).",
			c.BackoffMax, c.BackoffBase))
	}
	if c.BreakerMaxOpen == defaultMaxOpen { // a longer cooldown alone is no mistake
		c.BreakerMaxOpen = max(c.BreakerMaxOpen, c.BreakerCooldown)
	}
	if c.BreakerMaxOpen > 0 && c.BreakerMaxOpen < c.BreakerCooldown {
		problems = append(problems, fmt.Sprintf("breaker.max_open (%v) must not be shorter than "+
			"breaker.cooldown (%v); set both to the same for one probe every %v.",
			c.BreakerMaxOpen, c.BreakerCooldown, c.BreakerCooldown))
	}
	if c.DeliveryMaxDelay > 0 && c.DeliveryMaxDelay < c.DeliveryFirstDelay {
		problems = append(problems, fmt.Sprintf("delivery.max_delay (%v) must not be shorter than "+
			"delivery.first_delay (%v).", c.DeliveryMaxDelay, c.DeliveryFirstDelay))
	}
	return problems
}

// LoopbackFor returns the address at which a browser on this machine reaches a server with this listen address.
func LoopbackFor(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func plainText(to *string) func(string) error {
	return func(s string) error { *to = strings.TrimSpace(s); return nil }
}

// contact returns a setter for the administrator's e-mail or web address, which must fit into the comment of a
// User-Agent header.
func contact(to *string) func(string) error {
	return func(s string) error {
		s = strings.TrimSpace(s)
		at, err := mail.ParseAddress(s)
		isMail := err == nil && at.Address == s
		_, err = providers.PageURL.Parse(s)
		isPage := err == nil // also for the empty text
		unfit := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("()\\", r) }
		if !isMail && !isPage || strings.ContainsFunc(s, unfit) {
			return errors.New("this is neither an e-mail address such as me@example.org nor a web address such as " +
				"https://example.org")
		}
		*to = s
		return nil
	}
}

func (c *Config) setDatabaseURL(s string) error {
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	// The driver ends the password at the first @. The rest of a password with an @ would become the host or database
	// name, which messages show.
	address, _, _ := strings.Cut(s, "?")
	u, err := url.Parse(s) // the error would contain the password
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.Trim(u.Path, "/") == "" ||
		strings.Count(address, "@") > 1 || strings.Contains(u.EscapedPath(), "@") {
		return errors.New("it has to look like postgres://user:password@host:5432/database, with what is special " +
			"in the password written as %40 for @; leave it empty to keep everything in data_dir")
	}
	c.DatabaseURL = resilience.Secret(s)
	return nil
}

func (c *Config) setSecretKey(s string) error {
	if s = strings.TrimSpace(s); s != "" && len(s) < 16 {
		return errors.New("it needs at least 16 characters; leave it empty to have one made in the data directory")
	}
	c.SecretKey = resilience.Secret(s)
	return nil
}

func (c *Config) setAdminToken(s string) error {
	if s = strings.TrimSpace(s); s != "" && len(s) < 16 {
		return errors.New("it needs at least 16 characters; leave it empty to have none")
	}
	c.AdminToken = resilience.Secret(s)
	return nil
}

func oneOf(to *string, names ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(names, s) {
			*to = s
			return nil
		}
		return fmt.Errorf("%q is none of %s%s", s, strings.Join(names, ", "), didYouMean(s, names))
	}
}

func (c *Config) setLogLevel(s string) error {
	var name string
	if err := oneOf(&name, "debug", "info", "warn", "error")(strings.ToLower(s)); err != nil {
		return err
	}
	return c.LogLevel.UnmarshalText([]byte(name))
}

func boolean(to *bool) func(string) error {
	return func(s string) (err error) {
		if *to, err = strconv.ParseBool(s); err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		return nil
	}
}

func integer(to *int, low, high int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%q is not a whole number from %d to %d", s, low, high)
		}
		*to = n
		return nil
	}
}

func fraction(to *float64) func(string) error {
	return func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f < 1) {
			return fmt.Errorf("%q is not a number from 0 to less than 1", s)
		}
		*to = f
		return nil
	}
}

func duration(to *time.Duration, least time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30s, 5m or 1h30m", s)
		}
		if d < least {
			return fmt.Errorf("%v is too short, the least is %v", d, least)
		}
		*to = d
		return nil
	}
}

func address(to *string) func(string) error {
	return func(s string) error {
		s = strings.TrimSpace(s)
		_, port, err := net.SplitHostPort(s)
		if n, convErr := strconv.Atoi(port); err != nil || convErr != nil || n < 0 || n > 65535 {
			return fmt.Errorf("%q is not an address such as 127.0.0.1:8420 or :8420", s)
		}
		*to = s
		return nil
	}
}

// addressOf returns a setter for an address of this kind.
func addressOf(kind providers.Kind, to *string) func(string) error {
	return func(s string) error {
		v, err := kind.Parse(s)
		*to = v.Text
		return err
	}
}

func networks(to *[]string) func(string) error {
	return func(s string) error {
		*to = nil
		for item := range strings.SplitSeq(s, ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			if ip, err := netip.ParseAddr(item); err == nil {
				item = netip.PrefixFrom(ip, ip.BitLen()).String()
			}
			if _, err := netip.ParsePrefix(item); err != nil {
				return fmt.Errorf("%q is neither an IP address nor a network such as 10.0.0.0/8", item)
			}
			*to = append(*to, item)
		}
		return nil
	}
}

// didYouMean ends a sentence about a wrong name with the right one that is most like it.
func didYouMean(name string, names []string) string {
	if n := nearest.To(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return "."
}
