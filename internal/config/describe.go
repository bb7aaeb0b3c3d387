package config

import (
	"strings"

	"reprise/internal/providers"
	"reprise/internal/words"
)

// Setting describes one setting.
type Setting struct {
	Path     string // "sync.listens_every"
	Default  string
	Group    Group
	Kind     Kind
	Choices  []string // of a Choice
	Least    string   // the least value of a Duration or an Integer; empty for none
	Most     string   // the largest value of an Integer; empty for none
	Provider string   // whose setting it is; empty for one of the server
	own      bool     // see [providers.Setting]
}

// Label returns what people call the setting.
func (s Setting) Label() words.Text {
	if number, path := further(s.Path); number != 0 {
		return words.New("setting.page.of_issuer", "Label", words.Each("setting.label.", path), "Number", number)
	}
	if s.Provider == "" {
		return words.Each("setting.label.", s.Path)
	}
	return providers.SettingLabel(s.Provider, s.name(), s.own)
}

// Help returns what the setting does, for its page and for configs/reprise.yaml.
func (s Setting) Help() words.Text {
	switch {
	case s.Provider == "":
		_, path := further(s.Path)
		return words.Each("setting.help.", path)
	case s.own:
		return words.Each("setting.help.own.", s.Provider+"_"+s.name())
	}
	return words.Each("setting.help.service.", s.name())
}

// Further returns which issuer of OpenID Connect the setting is about, from 2 on; 0 for any other setting.
func (s Setting) Further() int {
	number, _ := further(s.Path)
	return number
}

// name returns the last part of the path.
func (s Setting) name() string { return s.Path[strings.LastIndex(s.Path, ".")+1:] }

// Group says what a setting is about.
type Group string

// The groups.
const (
	Server        Group = "server"
	SignIn        Group = "signin"
	Backups       Group = "backups"
	Network       Group = "network"
	Services      Group = "services" // what people connect to
	Reading       Group = "reading"
	Delivery      Group = "delivery"
	Resilience    Group = "resilience"
	Notifications Group = "notifications"
	Metadata      Group = "metadata" // facts and pictures
	Digest        Group = "digest"
	Restart       Group = "restart" // what is read at the start only, from the file or the environment
)

// Groups returns all groups, in the order in which people see them.
func Groups() []Group {
	return []Group{Server, SignIn, Backups, Services, Metadata, Digest, Reading, Delivery, Notifications, Network,
		Resilience, Restart}
}

// Kind is the type of a setting's value.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Contact  Kind = "contact" // an e-mail or web address
	URL      Kind = "url"
	Duration Kind = "duration" // as Go writes them: 1h30m
	Integer  Kind = "integer"
	Fraction Kind = "fraction" // from 0 to less than 1
	Boolean  Kind = "boolean"
	Choice   Kind = "choice"
	Rate     Kind = "rate"  // requests a second
	Price    Kind = "price" // an amount of money
	List     Kind = "list"
	Secret   Kind = "secret"
	Secrets  Kind = "secrets" // a list of them
)

var kinds = map[providers.Kind]Kind{providers.Text: Text, providers.Secret: Secret, providers.Keys: Secrets,
	providers.BaseURL: URL, providers.PageURL: URL, providers.Rate: Rate, providers.Price: Price}

// Secret reports whether the value must never be shown.
func (s Setting) Secret() bool { return s.Kind == Secret || s.Kind == Secrets }

// List reports whether the setting holds several values, with commas or line breaks between.
func (s Setting) List() bool { return s.Kind == List || s.Kind == Secrets }

// Restart reports whether the setting is read at the start only.
func (s Setting) Restart() bool { return s.Group == Restart }

func groupOf(d providers.Description) Group {
	switch {
	case d.Connects():
		return Services
	case d.Enriches != nil:
		return Metadata
	}
	return Digest
}

// Source is the layer that a value comes from.
type Source string

// The layers, the weakest first. CommandLine is a flag, or the demo.
const (
	FromDefault     Source = "default"
	FromDatabase    Source = "database"
	FromFile        Source = "file"
	FromEnvironment Source = "environment"
	FromCommandLine Source = "command_line"
)

// All returns all settings, the server's and those of these providers, in the order of the sample file.
func All(known []providers.Description) (all []Setting) {
	var c Config
	for _, r := range append(c.settings(), c.providerSettings(known)...) {
		all = append(all, r.Setting)
	}
	return all
}
