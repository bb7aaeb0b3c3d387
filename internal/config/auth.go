package config

import (
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// How the sign-in page shows the form of the password when there is an issuer of OpenID Connect.
const (
	FormShown   = "shown"   // beside the issuer's button
	FormHidden  = "hidden"  // at /login?local only
	FormSkipped = "skipped" // as hidden, and the browser goes on to the issuer by itself
)

var forms = []string{FormShown, FormHidden, FormSkipped}

// Slots name the places for issuers, in their order: in the paths of settings, and in addresses. Each issuer has
// addresses of its own, so that none can answer for another.
var Slots = [...]string{"oidc", "oidc2", "oidc3"}

// OpenID is where people sign in who have an account elsewhere, by OpenID Connect.
type OpenID struct {
	Issuers [len(Slots)]Issuer
	Session time.Duration // after which people have to come from there again
	Form    string        // of the password: FormShown, FormHidden, FormSkipped
}

// Issuer is an issuer of OpenID Connect.
type Issuer struct {
	Issuer         string // its address; empty for none
	ClientID       string
	ClientSecret   resilience.Secret // empty for a public client
	Scopes         []string
	Button         string // what the sign-in page calls it; empty: the issuer's host
	AllowGroup     string // who may come in; empty: everybody
	AdminGroup     string // who administers; empty: that is decided here
	GroupsClaim    string
	CreateAccounts bool // for who has none; without it they need an invitation
}

// On reports whether people can sign in there.
func (i Issuer) On() bool { return i.Issuer != "" && i.ClientID != "" }

// Rechecks reports whether the issuer is asked once an hour about those who have come from there.
func (i Issuer) Rechecks() bool { return i.On() && slices.Contains(i.Scopes, "offline_access") }

// Proxy is a reverse proxy that says in a header who somebody is.
type Proxy struct {
	Header         string   // in its canonical form; empty for none
	From           []string // networks of the proxies that are believed
	CreateAccounts bool     // for names without one
	SignOut        string   // where a session of the proxy ends; empty for nowhere
}

// On reports whether a proxy is believed.
func (p Proxy) On() bool { return p.Header != "" && len(p.From) > 0 }

func (c *Config) ofSignIn() []row {
	in := func(name, def string, kind Kind, set func(string) error) row {
		return row{Setting{Path: "auth." + name, Default: def, Group: SignIn, Kind: kind}, set}
	}
	p := &c.Proxy
	table := []row{{Setting{Path: "auth.require_second_step", Default: who[0], Group: SignIn, Kind: Choice,
		Choices: who}, oneOf(&c.SecondStep, who...)}}
	for n, slot := range Slots {
		o := &c.OpenID.Issuers[n]
		table = append(table,
			in(slot+".issuer", "", URL, issuer(&o.Issuer)),
			in(slot+".client_id", "", Text, plainText(&o.ClientID)),
			in(slot+".client_secret", "", Secret, func(s string) error {
				o.ClientSecret = resilience.Secret(strings.TrimSpace(s))
				return nil
			}),
			in(slot+".button", "", Text, plainText(&o.Button)),
			in(slot+".create_accounts", "false", Boolean, boolean(&o.CreateAccounts)),
			in(slot+".allow_group", "", Text, plainText(&o.AllowGroup)),
			in(slot+".admin_group", "", Text, plainText(&o.AdminGroup)),
			in(slot+".groups_claim", "groups", Text, plainText(&o.GroupsClaim)),
			in(slot+".scopes", "openid profile email", Text, scopes(&o.Scopes)))
		if n == 0 { // these are for all
			table = append(table, lasting("auth.oidc.session", "720h", SignIn, &c.OpenID.Session, 5*time.Minute),
				row{Setting{Path: "auth.oidc.password_form", Default: FormShown, Group: SignIn, Kind: Choice,
					Choices: forms}, oneOf(&c.OpenID.Form, forms...)})
		}
	}
	return append(table,
		in("proxy_header", "", Text, header(&p.Header)),
		in("proxy_from", "", List, fewer(networks(&p.From), &p.From)),
		in("proxy_create_accounts", "false", Boolean, boolean(&p.CreateAccounts)),
		in("proxy_sign_out", "", URL, addressOf(providers.PageURL, &p.SignOut)))
}

// further returns which issuer a setting is about, from 2 on, and the path of the same setting of the first one; 0 and
// the path itself for any other setting.
func further(path string) (number int, first string) {
	for n, slot := range Slots[1:] {
		if rest, ok := strings.CutPrefix(path, "auth."+slot+"."); ok {
			return n + 2, "auth." + Slots[0] + "." + rest
		}
	}
	return 0, path
}

// wrongIssuers returns what is wrong with the issuers together.
func (o OpenID) wrongIssuers(wrong func(id string, paths []string, pairs ...any)) {
	for n, i := range o.Issuers {
		at := "auth." + Slots[n]
		if (i.Issuer == "") != (i.ClientID == "") {
			wrong("settings.wrong.together", []string{at + ".issuer", at + ".client_id"}, "One", at+".issuer", "Other",
				at+".client_id")
		}
		for m, other := range o.Issuers[:n] {
			if i.On() && i.Issuer == other.Issuer { // who somebody is, its address says
				wrong("settings.wrong.same_issuer", []string{at + ".issuer"}, "One",
					"auth."+Slots[m]+".issuer", "Other", at+".issuer")
			}
		}
	}
}

// fewer returns a setter that refuses a network of all addresses: anybody could be anybody.
func fewer(set func(string) error, to *[]string) func(string) error {
	return func(s string) error {
		if err := set(s); err != nil {
			return err
		}
		for _, network := range *to {
			if strings.HasSuffix(network, "/0") {
				return words.Errorf("settings.wrong.network_all", "Value", network)
			}
		}
		return nil
	}
}

// issuer returns a setter for the address of an issuer. It is compared with what the issuer says of itself, letter by
// letter, so a slash at its end stays.
func issuer(to *string) func(string) error {
	return func(s string) error {
		s = strings.TrimSuffix(strings.TrimSpace(s), "/.well-known/openid-configuration")
		if _, err := providers.PageURL.Parse(s); err != nil {
			return err
		}
		if strings.ContainsAny(s, "?#") {
			return words.Errorf("settings.wrong.issuer")
		}
		*to = s
		return nil
	}
}

// scopes returns a setter for what an issuer is asked for. Without openid it would not say who somebody is.
func scopes(to *[]string) func(string) error {
	return func(s string) error {
		all := []string{"openid"}
		for _, scope := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
			if !scopeName.MatchString(scope) {
				return words.Errorf("settings.wrong.scope", "Value", scope)
			}
			if scope != "openid" {
				all = append(all, scope)
			}
		}
		*to = all
		return nil
	}
}

// scopeName matches a scope of OAuth 2 (RFC 6749, section 3.3).
var scopeName = regexp.MustCompile(`^[!#-\[\]-~]+$`)

// headerName matches a name of a header that a proxy may set. The others are for browsers and programs.
var headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,60}$`)

// taken are headers that mean something else.
var taken = []string{"Authorization", "Cookie", "Host", "Origin", "Forwarded", "X-Forwarded-For", "Content-Type",
	"Content-Length", "User-Agent", "Accept-Language"}

func header(to *string) func(string) error {
	return func(s string) error {
		s = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(s))
		if s != "" && !headerName.MatchString(s) || slices.Contains(taken, s) {
			return words.Errorf("settings.wrong.header", "Value", s)
		}
		*to = s
		return nil
	}
}
