package config

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// row is one row of the table: a setting, and the function that sets the field from text. Its errors are words.Errors.
type row struct {
	Setting
	set func(string) error
}

// settings returns the table of all settings, bound to the fields of c.
func (c *Config) settings() []row {
	return slices.Concat(c.ofServer(), c.ofSignIn(), c.ofCluster(), c.ofReading(), c.ofCare(), c.ofDelivery(),
		c.ofNetwork(), c.ofBackup(), c.ofMQTT())
}

func (c *Config) ofServer() []row {
	return []row{
		fixed("listen", "127.0.0.1:8420", Text, address(&c.Listen)),
		{Setting{Path: "base_url", Group: Server, Kind: URL}, publicAddress(&c.BaseURL)},
		fixed("data_dir", "./data", Text, plainText(&c.DataDir)),
		fixed("database_url", "", Secret, c.setDatabaseURL),
		fixed("secret_key", "", Secret, c.setSecretKey),
		{Setting{Path: "admin_token", Group: Server, Kind: Secret}, c.setAdminToken},
		{Setting{Path: "contact", Group: Server, Kind: Contact}, contact(&c.Contact)},
		{Setting{Path: "updates.url", Group: Server, Kind: URL}, addressOf(providers.PageURL, &c.UpdatesURL)},
		{Setting{Path: "log.level", Default: "info", Group: Server, Kind: Choice, Choices: levels}, c.setLogLevel},
		{Setting{Path: "log.format", Default: "auto", Group: Restart, Kind: Choice, Choices: formats},
			oneOf(&c.LogFormat, formats...)},
		fixed("shutdown_timeout", "20s", Duration, duration(&c.ShutdownTimeout, time.Second)),
		{Setting{Path: "allowed_hosts", Group: Network, Kind: List}, hostNames(&c.AllowedHosts)},
		{Setting{Path: "trusted_proxies", Group: Network, Kind: List}, networks(&c.TrustedProxies)},
	}
}

func (c *Config) ofCluster() []row {
	return []row{
		fixed("cluster.enabled", "false", Boolean, boolean(&c.Cluster)),
		fixed("cluster.drain", "5s", Duration, duration(&c.ClusterDrain, 0)),
	}
}

// who are those that a setting may be about.
var who = []string{"nobody", "administrators", "everybody"}

var levels, formats = []string{"debug", "info", "warn", "error"}, []string{"auto", "text", "json"}

func (c *Config) ofReading() []row {
	return []row{
		lasting("sync.listens_every", "5m", Reading, &c.ListensEvery, time.Second),
		lasting("sync.playlists_every", "15m", Reading, &c.PlaylistsEvery, time.Second),
		{Setting{Path: "sync.now_playing", Default: "true", Group: Reading, Kind: Boolean}, boolean(&c.NowPlaying)},
		lasting("sync.enrich_every", "1h", Metadata, &c.EnrichEvery, time.Second),
		counting("sync.workers", "8", Reading, &c.Workers, 1, 1000),
		lasting("sync.run_timeout", "10m", Reading, &c.RunTimeout, time.Second),
	}
}

func (c *Config) ofCare() []row {
	return []row{
		lasting("backoff.base", "30s", Resilience, &c.BackoffBase, 100*time.Millisecond),
		lasting("backoff.max", "30m", Resilience, &c.BackoffMax, 100*time.Millisecond),
		{Setting{Path: "backoff.jitter", Default: "0.25", Group: Resilience, Kind: Fraction},
			fraction(&c.BackoffJitter)},
		counting("breaker.failures", "5", Resilience, &c.BreakerFailures, 1, 1000),
		lasting("breaker.cooldown", "60s", Resilience, &c.BreakerCooldown, 100*time.Millisecond),
		lasting("breaker.max_open", "10m", Resilience, &c.BreakerMaxOpen, 100*time.Millisecond),
	}
}

func (c *Config) ofDelivery() []row {
	return []row{
		lasting("delivery.first_delay", "1s", Delivery, &c.DeliveryFirstDelay, 100*time.Millisecond),
		lasting("delivery.max_delay", "1h", Delivery, &c.DeliveryMaxDelay, 100*time.Millisecond),
		lasting("delivery.max_age", "336h", Delivery, &c.DeliveryMaxAge, time.Second),
		counting("delivery.max_attempts", "0", Delivery, &c.DeliveryMaxAttempts, 0, 10_000),
		lasting("delivery.keep_dead", "720h", Delivery, &c.DeliveryKeepDead, time.Minute),
		counting("delivery.workers", "4", Delivery, &c.DeliveryWorkers, 1, 100),
		counting("delivery.backlog_warn", "1000", Delivery, &c.DeliveryBacklogWarn, 1, 1_000_000),
		counting("delivery.backlog_limit", "5000", Delivery, &c.DeliveryBacklogLimit, 1, 1_000_000),
	}
}

func (c *Config) ofNetwork() []row {
	return []row{
		{Setting{Path: "notify.urls", Group: Notifications, Kind: Secrets}, channelURLs(&c.NotifyURLs)},
		counting("art.max_mib", "512", Metadata, &c.ArtMaxMiB, 0, 1_000_000),
		{Setting{Path: "allowed_upstreams", Group: Network, Kind: List}, upstreams(&c.AllowedUpstreams)},
		{Setting{Path: "allow_private_upstreams", Default: "true", Group: Network, Kind: Boolean},
			boolean(&c.AllowPrivateUpstreams)},
	}
}

// fixed returns the row of a setting that is read at the start only.
func fixed(path, def string, kind Kind, set func(string) error) row {
	return row{Setting{Path: path, Default: def, Group: Restart, Kind: kind}, set}
}

// lasting returns the row of a length of time.
func lasting(path, def string, g Group, to *time.Duration, least time.Duration) row {
	return row{Setting{Path: path, Default: def, Group: g, Kind: Duration, Least: least.String()}, duration(to, least)}
}

// counting returns the row of a whole number.
func counting(path, def string, g Group, to *int, low, high int) row {
	return row{Setting{Path: path, Default: def, Group: g, Kind: Integer, Least: strconv.Itoa(low),
		Most: strconv.Itoa(high)}, integer(to, low, high)}
}

// providerSettings returns the rows of the providers' settings, from their descriptions.
func (c *Config) providerSettings(all []providers.Description) (table []row) {
	c.Providers = make(map[string]providers.Settings, len(all))
	for _, d := range all {
		values := providers.Settings{}
		c.Providers[d.Name] = values
		for _, s := range d.Settings {
			table = append(table, row{Setting{Path: d.Path(s.Name), Default: s.Default, Group: groupOf(d),
				Kind: kinds[s.Kind], Provider: d.Name, own: s.Own}, func(text string) error {
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
func (c *Config) validate() (faults []Fault) {
	wrong := func(id string, paths []string, pairs ...any) {
		faults = append(faults, Fault{Paths: paths, Text: words.New(id, pairs...)})
	}
	if c.BackoffMax > 0 && c.BackoffMax < c.BackoffBase {
		wrong("settings.wrong.backoff", []string{"backoff.max", "backoff.base"}, "Max", c.BackoffMax, "Base",
			c.BackoffBase)
	}
	if c.BreakerMaxOpen == defaultMaxOpen { // a longer cooldown alone is no mistake
		c.BreakerMaxOpen = max(c.BreakerMaxOpen, c.BreakerCooldown)
	}
	if c.BreakerMaxOpen > 0 && c.BreakerMaxOpen < c.BreakerCooldown {
		wrong("settings.wrong.breaker", []string{"breaker.max_open", "breaker.cooldown"}, "Max", c.BreakerMaxOpen,
			"Cooldown", c.BreakerCooldown)
	}
	if c.DeliveryMaxDelay > 0 && c.DeliveryMaxDelay < c.DeliveryFirstDelay {
		wrong("settings.wrong.delivery", []string{"delivery.max_delay", "delivery.first_delay"}, "Max",
			c.DeliveryMaxDelay, "First", c.DeliveryFirstDelay)
	}
	if c.Backup.Bucket.incomplete() {
		wrong("settings.wrong.backup_s3", []string{"backup.s3.address", "backup.s3.bucket", "backup.s3.access_key",
			"backup.s3.secret_key"})
	}
	c.OpenID.wrongIssuers(wrong)
	if (c.Proxy.Header == "") != (len(c.Proxy.From) == 0) {
		wrong("settings.wrong.together", []string{"auth.proxy_header", "auth.proxy_from"}, "One",
			"auth.proxy_header", "Other", "auth.proxy_from")
	}
	if c.Cluster && (c.DatabaseURL == "" || c.SecretKey == "") {
		wrong("settings.wrong.cluster", []string{"cluster.enabled", "database_url", "secret_key"})
	}
	return faults
}

// anyAddress reports whether a host to listen on stands for all addresses of the machine.
func anyAddress(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// together checks which settings of the providers are set without the one that belongs to them.
func (c *Config) together(known []providers.Description) (faults []Fault) {
	for _, d := range known {
		if one, other := d.Alone(c.Providers[d.Name]); one != "" {
			faults = append(faults, Fault{Paths: []string{one, other},
				Text: words.New("settings.wrong.together", "One", one, "Other", other)})
		}
	}
	return faults
}

// LoopbackFor returns the address at which a browser on this machine reaches a server with this listen address.
func LoopbackFor(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if anyAddress(host) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// OnLoopback reports whether only this machine reaches a server with this listen address.
func OnLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Port returns the port of the listen address; 0 for one that the system chooses.
func (c Config) Port() uint16 {
	_, text, _ := net.SplitHostPort(c.Listen)
	port, _ := strconv.ParseUint(text, 10, 16)
	return uint16(port)
}

// AllowsUpstream reports whether a host, with its port or without, is in the setting allowed_upstreams.
func (c Config) AllowsUpstream(host string) bool {
	host = strings.ToLower(host)
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	return slices.ContainsFunc(c.AllowedUpstreams, func(a string) bool {
		return a == "*" || a == host || strings.Trim(a, "[]") == name
	})
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
			return words.Errorf("settings.wrong.contact")
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
		return words.Errorf("settings.wrong.database_url")
	}
	c.DatabaseURL = resilience.Secret(s)
	return nil
}

func (c *Config) setSecretKey(s string) error {
	c.SecretKey = resilience.Secret(strings.TrimSpace(s)) // the database says whether it is a key
	return nil
}

func (c *Config) setAdminToken(s string) error {
	if s = strings.TrimSpace(s); s != "" && len(s) < 16 {
		return words.Errorf("settings.wrong.admin_token")
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
		listed := strings.Join(names, ", ")
		if near := words.Nearest(s, names); near != "" {
			return words.Errorf("settings.wrong.near", "Value", s, "Choices", listed, "Near", near)
		}
		return words.Errorf("settings.wrong.choice", "Value", s, "Choices", listed)
	}
}

func (c *Config) setLogLevel(s string) error {
	var name string
	if err := oneOf(&name, levels...)(strings.ToLower(s)); err != nil {
		return err
	}
	return c.LogLevel.UnmarshalText([]byte(name))
}

func boolean(to *bool) func(string) error {
	return func(s string) (err error) {
		if *to, err = strconv.ParseBool(s); err != nil {
			return words.Errorf("settings.wrong.boolean", "Value", s)
		}
		return nil
	}
}

func integer(to *int, low, high int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return words.Errorf("settings.wrong.integer", "Value", s, "Least", strconv.Itoa(low), "Most",
				strconv.Itoa(high))
		}
		*to = n
		return nil
	}
}

func fraction(to *float64) func(string) error {
	return func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f < 1) {
			return words.Errorf("settings.wrong.fraction", "Value", s)
		}
		*to = f
		return nil
	}
}

func duration(to *time.Duration, least time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return words.Errorf("settings.wrong.duration", "Value", s)
		}
		if d < least {
			return words.Errorf("settings.wrong.short", "Value", d, "Least", least)
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
			return words.Errorf("settings.wrong.listen", "Value", s)
		}
		*to = s
		return nil
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
				return words.Errorf("settings.wrong.network", "Value", item)
			}
			*to = append(*to, item)
		}
		return nil
	}
}

// didYouMean ends a sentence about a wrong name with the right one that is most like it.
func didYouMean(name string, names []string) string {
	if n := words.Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return "."
}
