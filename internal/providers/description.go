package providers

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

// Description describes a provider independently of its settings. It is constant data and safe to copy.
// internal/providers/registry lists all of them.
type Description struct {
	Name        string     // lower case, also the name of its settings and its package: "spotify"
	DisplayName string     // for people: "Spotify"
	Named       words.Text // the same where it depends on the language; empty where it does not
	Kin         []string   // other programs that are read in the same way, whose owners look for their names
	Icon        string     // the d attribute of an SVG path in a box of 24 by 24
	Purpose     words.Text // what Reprise uses it for, in one sentence
	Streams     []string   // the pulled streams, in the order of a first sync
	Plays       bool       // what is playing there can be read: the adapter is a PlayingSource
	Keeps       bool       // it keeps the whole history of an account: the adapter is a Historian
	Takes       Takes      // what can be delivered to it
	// History is the page with a person's listens there, with {account} for the account's name; empty if it is unknown.
	History string
	Track   string // the page of a track there, with {id} for its SourceID; empty if it has none
	// Links match the addresses of its pages, as people share them: without the scheme and "www.", the more special
	// ones first. What a page is about is in the groups kind, id, mbid, title, artist and album; see ReadLink.
	Links  []*regexp.Regexp
	Domain string // by which others name the streaming service: "spotify.com"; empty for none
	// Endpoints lists what the adapter calls, each as method and route template. For OAuth see [TokenEndpoint].
	Endpoints []string
	Fields    []Field // the connect form; empty when people consent in the browser
	Settings  []Setting
	// Owner names the operator of the hosts in Settings. Providers of one operator have the same Owner. It is
	// [OwnServer] when people name their own server.
	Owner string
	Pace  Pace // the default request limit; zero when it is learned from the answers
	// Contact says when the provider requires the administrator's contact address.
	Contact      Contact
	Registration *Registration                 // how to register the installation; nil when it needs no registration
	Pool         *Pool                         // the pool of API keys; nil without
	Enriches     *Enriches                     // the facts that it has; nil for other providers
	QuotaDay     string                        // whose midnight renews its daily quota: "pacific", "utc"; empty without
	QuotaReset   func(now time.Time) time.Time // when a daily quota is renewed next; nil without Takes.LovesPerDay
	Tables       Tables                        // its error tables, for docs/providers.md
	// Build returns the live parts of a provider with these settings. Only [Description.New] calls it.
	Build func(Settings, Installation) (Provider, error)
}

// Called returns the provider's name for people.
func (d Description) Called() words.Text {
	if !d.Named.IsZero() {
		return d.Named
	}
	return words.Plain(d.DisplayName)
}

// MendAt returns the page on which an administrator can fix what delays or stops everybody's calls: where the
// installation's registration is entered, if it has one and this is about it, else the keys.
func (d Description) MendAt(category resilience.Category, scope resilience.Scope) string {
	ofKeys := d.Pool != nil && (category == resilience.Quota || scope == resilience.ScopeKey)
	if d.Registration == nil || ofKeys {
		return "/settings/server#keys"
	}
	return "/setup/" + d.Name
}

// OwnServer is the Owner of a provider when people name their own server.
const OwnServer = "each person"

// Pace is the request limit that a provider documents.
type Pace struct {
	PerSecond float64
	Per       string // what the limit counts: "IP address"
}

// Contact says when a provider requires the administrator's contact address. The zero value means never.
type Contact struct {
	Always  bool     // the provider is not used without a contact, at any address
	Domains []string // hosts in these domains are not called without one
}

// Asks reports whether the provider ever requires a contact.
func (c Contact) Asks() bool { return c.Always || len(c.Domains) > 0 }

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
	Guide Guide  // what to do, for the page
	// Identity names what registering gives, in the provider's words: "client id and secret".
	Identity string
	// Source names the place to copy it from, following "from".
	Source string
	// RedirectAs names the place and field of the redirect URI: "at https://…, as redirect URI".
	RedirectAs string
	Redirect   RedirectRules
	// Try makes a call that shows whether the provider accepts the identity, without a person's consent.
	Try func(context.Context, Trying) error
}

// RedirectRules are a provider's rules for redirect URIs.
type RedirectRules struct {
	Secure      bool // https, or http on this machine
	NoLocalhost bool // loopback only as an IP address, not as "localhost"
}

// Pool describes a provider's pool of API keys, which the setting "keys" fills.
type Pool struct {
	KeyName string // one of them, at the beginning of a sentence: "OpenAI's key"
	With    string // the setting without which the keys are not used; empty for none
	// Put adds a key to a request, but not to its URL, which logs and errors show.
	Put    func(*http.Request, resilience.Secret)
	Advice words.Text // what to do about refused keys, in full sentences
	// Instead means that a person's own permission is used instead while every key is spent, so that nobody waits.
	Instead bool
	Spent   words.Text // what to do about used-up keys, in full sentences; empty when keys have no quota
	// Try makes a cheap call with a client that adds one key.
	Try func(context.Context, Trying) error
}

// Enriches describes a source of facts.
type Enriches struct {
	Kinds    []string      // kinds of entities
	Needs    string        // the provider that has to find the MBID first; empty for none
	NotThere time.Duration // how long to remember that an entity is not there
	Pictures []string      // domains of its pictures; empty without pictures
	// SettingUp tells an administrator what the source offers and how to set it up, in full sentences.
	SettingUp words.Text
}

// Installation is what every provider gets from the server besides its settings.
type Installation struct {
	Client  *http.Client // calls on behalf of the installation
	Keyed   *http.Client // the same with a key of Keys on every request; nil without keys
	Keys    *keys.Pool   // nil without keys
	Contact string
	Domains map[string]string // each streaming service's [Description.Domain], by its name
	// ForwardingAccount names the account of a person here to other installations; see library.ForwardingAccount.
	ForwardingAccount func(user int64) string
}

// New returns the live provider with these settings. It makes no call. Missing settings are not an error;
// [Provider.Missing] lists them.
func (d Description) New(s Settings, in Installation) (*Provider, error) {
	p, err := d.Build(s, in)
	if err != nil {
		return nil, err
	}
	p.Description, p.Settings, p.Keys, p.Missing = d, s, in.Keys, d.Lacks(s, in.Contact)
	if len(p.Fields) > 0 && slices.Contains(p.Missing, contactSetting) {
		p.Fields = slices.Clone(p.Fields)
		p.Fields[0].Help = words.Join(words.New("provider.contact_missing"), p.Fields[0].Help)
	}
	return &p, nil
}

const contactSetting = "contact"

// Lacks returns the paths of the required settings when at least one of them is empty, or "contact". It returns nil
// when the provider can be used.
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
	policy := hosts.Policy{Contact: contact, NeedContact: d.Contact.Domains}
	if contact == "" && d.Contact.Always || slices.ContainsFunc(d.Hosts(s), policy.LacksContact) {
		return []string{contactSetting}
	}
	return nil
}

// Keys returns the installation's keys for the provider, or nil when they are not used.
func (d Description) Keys(s Settings) []keys.Key {
	if d.Pool == nil || d.Pool.With != "" && s[d.Pool.With].Empty() {
		return nil
	}
	return s.Keys("keys")
}

// Path returns the full name of a setting: "providers.spotify.client_id".
func (d Description) Path(setting string) string { return "providers." + d.Name + "." + setting }

// LabelOf returns what people call a setting that the provider needs, by its path; the path itself if it is none.
func (d Description) LabelOf(path string) words.Text {
	for _, s := range d.Settings {
		if d.Path(s.Name) == path {
			return SettingLabel(d.Name, s.Name, s.Own)
		}
	}
	if path == contactSetting {
		return words.New("setting.label.contact")
	}
	return words.Plain(path)
}

// SettingLabel returns what people call a setting of a provider; see [Setting.Own].
func SettingLabel(provider, name string, own bool) words.Text {
	if own {
		return words.Each("setting.label.own.", provider+"_"+name)
	}
	return words.Each("setting.label.service.", name)
}

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
		if host := hosts.Of(address); host != "" && !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}

// APIHost returns the host and port of the endpoints, or "" when people name their own server.
func (d Description) APIHost(s Settings) string {
	if all := d.Hosts(s); len(all) > 0 {
		return all[0]
	}
	return ""
}

// NamesServer reports whether the connect form asks for a server.
func (d Description) NamesServer() bool {
	return slices.ContainsFunc(d.Fields, func(f Field) bool { return f.Kind == "url" })
}

// Connects reports whether people connect to the provider. Otherwise only the installation uses it.
func (d Description) Connects() bool { return d.Enriches == nil && !d.Writes() }

// Writes reports whether the provider is a language model.
func (d Description) Writes() bool { return slices.Contains(d.Streams, library.Digest) }

// NamedHost returns the host of the server that a person has named in these credentials, with its port if it names one;
// empty when they have named none.
func (d Description) NamedHost(credentials library.Credentials) string {
	for _, f := range d.Fields {
		if host := hosts.Of(credentials[f.Name]); f.Kind == "url" && host != "" {
			return host
		}
	}
	return ""
}
