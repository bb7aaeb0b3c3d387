package providers

import (
	"context"
	"net/http"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Description is what a provider says of itself before it has settings. It is constant data and safe to copy.
// internal/providers/registry has the list of all.
type Description struct {
	Name        string   // lower case, also its settings' and its folder's name: "spotify"
	DisplayName string   // as a person writes it: "Spotify"
	Icon        string   // the d attribute of an SVG path in a box of 24 by 24
	Purpose     string   // what Reprise uses it for, in one sentence
	Streams     []string // what is pulled, in the order in which a first sync should run
	Takes       Takes    // what can be carried there
	// what its adapter calls, each a method and route template; see [TokenEndpoint] for that of OAuth
	Endpoints []string
	Fields    []Field // what a person fills in to connect; empty where the person consents in the browser
	Settings  []Setting
	// Owner is who runs the hosts in Settings; two providers of one owner share it. [OwnServer] where each person
	// names a server of their own.
	Owner string
	Pace  Pace // the default limit of requests; zero where the pace is learned from the answers alone
	// Contact says whether the provider is asked only when the installation names a contact.
	Contact      Contact
	Registration *Registration // how the installation is registered there; nil where it needs no registration
	Pool         *Pool         // the keys of the installation; nil without
	Enriches     *Enriches     // the facts it tells; nil for a provider that is no source of facts
	Tables       Tables        // its error tables, for docs/providers.md
	// Build makes the live parts of a provider from its settings. Others call [Description.New].
	Build func(Settings, Installation) (Provider, error)
}

// OwnServer is the owner of a provider whose server each person names when connecting.
const OwnServer = "each person"

// Pace is a provider's documented limit of requests.
type Pace struct {
	PerSecond float64
	Per       string // what the limit counts: "IP address"
}

// Contact is a provider's wish to know how to reach the administrator.
type Contact struct {
	Always  bool     // the provider is not used without a contact, whatever its address
	Domains []string // hosts in these domains are not called without one
}

// WantContact returns the display names of the providers that are not called without a contact.
func WantContact(all []Description) (names []string) {
	for _, d := range all {
		if len(d.Contact.Domains) > 0 {
			names = append(names, d.DisplayName)
		}
	}
	return names
}

// Registration is how an administrator registers the installation with a provider.
type Registration struct {
	Page  string // where to begin
	Steps string // what to do, in whole sentences
	// Identity is what registering gives, as the provider calls it: "client id and secret".
	Identity string
	// Source is where to copy it from again, after "from".
	Source string
	// RedirectAs is where and as what the redirect URI is registered: "at https://…, as redirect URI".
	RedirectAs string
	Redirect   RedirectRules
	// Try makes a call that shows whether the provider accepts the identity, without a person's consent.
	Try func(context.Context, Trying) error
}

// RedirectRules are what a provider demands of the address that it sends a browser back to.
type RedirectRules struct {
	Secure      bool // https, or http on this machine
	NoLocalhost bool // loopback only as an IP address, not as "localhost"
}

// Pool is a provider's pool of API keys, which the setting "keys" fills.
type Pool struct {
	KeyName string // one of them, at the beginning of a sentence: "YouTube's key"
	With    string // the setting without which the keys are not used; empty for none
	// Put writes a key onto a request, where no log or error of a URL shows it.
	Put    func(*http.Request, resilience.Secret)
	Advice string // what to do about keys that are refused, in whole sentences
	Spent  string // what to know about keys that are used up, in whole sentences; empty where they never are
	// Try makes a cheap call with a client that adds one key.
	Try func(context.Context, Trying) error
}

// Enriches is what a source of facts knows.
type Enriches struct {
	Kinds    []string      // of the entities that it knows
	Needs    string        // the provider without whose MBID it cannot be asked; empty for none
	NotThere time.Duration // how long a "not there" is believed
	Pictures []string      // domains that its pictures come from; empty for a source without pictures
	// SettingUp tells an administrator what it gives and how to set it up, in whole sentences.
	SettingUp string
}

// Installation is what the server gives every provider beside its settings.
type Installation struct {
	Client  *http.Client        // calls on behalf of the installation
	Keyed   *http.Client        // the same with a key of Keys on every request; nil without keys
	Keys    *resilience.KeyPool // nil without keys
	Contact string
}

// New returns the live provider with these settings. It makes no call. Settings that are missing are no error: they
// make a provider that says so in [Provider.Missing].
func (d Description) New(s Settings, in Installation) (*Provider, error) {
	p, err := d.Build(s, in)
	if err != nil {
		return nil, err
	}
	p.Description, p.Settings, p.Keys, p.Missing = d, s, in.Keys, d.Lacks(s, in.Contact)
	if len(p.Fields) > 0 && slices.Contains(p.Missing, contactSetting) {
		p.Fields = slices.Clone(p.Fields)
		p.Fields[0].Help = resilience.ContactMissing + " " + p.Fields[0].Help
	}
	return &p, nil
}

const contactSetting = "contact"

// Lacks returns the paths of the settings that the provider needs, when one of them is empty: all of those that
// belong together, or "contact". It returns nil when the provider can be used.
func (d Description) Lacks(s Settings, contact string) (paths []string) {
	empty := false
	for _, setting := range d.Settings {
		if setting.Required {
			paths = append(paths, d.Path(setting.Name))
			empty = empty || s[setting.Name].Empty()
		}
	}
	if empty {
		return paths
	}
	policy := resilience.HostPolicy{Contact: contact, NeedContact: d.Contact.Domains}
	if contact == "" && d.Contact.Always || slices.ContainsFunc(d.Hosts(s), policy.LacksContact) {
		return []string{contactSetting}
	}
	return nil
}

// Keys returns the installation's keys for the provider, where they are used.
func (d Description) Keys(s Settings) []resilience.PoolKey {
	if d.Pool == nil || d.Pool.With != "" && s[d.Pool.With].Empty() {
		return nil
	}
	return s.Keys("keys")
}

// Path returns the full name of a setting: "providers.spotify.client_id".
func (d Description) Path(setting string) string { return "providers." + d.Name + "." + setting }

// Addresses returns the addresses in the settings that requests go to, in the order of the settings.
func (d Description) Addresses(s Settings) (all []string) {
	for _, setting := range d.Settings {
		if setting.Called && s.Text(setting.Name) != "" {
			all = append(all, s.Text(setting.Name))
		}
	}
	return all
}

// Hosts returns the hosts of Addresses, with their ports.
func (d Description) Hosts(s Settings) (all []string) {
	for _, address := range d.Addresses(s) {
		if host := resilience.HostOf(address); host != "" && !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}

// APIHost returns the host that the endpoints are at, with its port; empty where each person names a server.
func (d Description) APIHost(s Settings) string {
	if hosts := d.Hosts(s); len(hosts) > 0 {
		return hosts[0]
	}
	return ""
}

// NamesServer reports whether a person can name a server when connecting.
func (d Description) NamesServer() bool {
	return slices.ContainsFunc(d.Fields, func(f Field) bool { return f.Kind == "url" })
}

// Connects says whether people connect to the provider, or the installation as a whole uses it.
func (d Description) Connects() bool { return d.Enriches == nil && !d.Writes() }

// Writes says whether the provider is a language model.
func (d Description) Writes() bool { return slices.Contains(d.Streams, library.Digest) }
