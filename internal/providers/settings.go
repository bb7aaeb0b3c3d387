package providers

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

// Setting describes one setting of a provider. Its path is providers.<provider>.<name>.
type Setting struct {
	Name     string
	Label    words.Text // what the provider calls it; zero where nobody is asked for it while connecting
	Kind     Kind
	Default  string
	From     string // where to get the value; empty when it is free
	Required bool   // the provider is not used without it
	Called   bool   // requests go to this address
	With     string // the setting that must be set together with it; empty for none
	Own      bool   // it has a label and a help of its own; otherwise those of its name
}

// Kind is the type of a setting. It determines how its text is parsed.
type Kind int

// The kinds of settings.
const (
	Text    Kind = iota // any text
	Secret              // text that is never shown
	Keys                // a list of API keys, each KEY or PROJECT:KEY
	BaseURL             // a URL prefix, stored without a trailing slash
	PageURL             // a complete URL
	Rate                // requests per second; 0 for no limit
	Price               // an amount of money; unknown when empty
)

// Secret reports whether the setting's text must never be shown.
func (s Setting) Secret() bool { return s.Kind == Secret || s.Kind == Keys }

// List reports whether the setting holds several values.
func (s Setting) List() bool { return s.Kind == Keys }

// Value is the value of a setting. The setting's kind determines which field holds it.
type Value struct {
	Text   string // Text, BaseURL, PageURL
	Secret resilience.Secret
	Keys   []keys.Key
	Number *float64 // Rate, Price; nil for an unknown price
}

// Empty reports whether nothing is set.
func (v Value) Empty() bool {
	return v.Text == "" && v.Secret == "" && len(v.Keys) == 0 && v.Number == nil
}

// Settings holds the values of one provider's settings by name. It is immutable after Read.
type Settings map[string]Value

// Text returns a text or an address, or "" when it is not set.
func (s Settings) Text(name string) string { return s[name].Text }

// Secret returns a secret, or "" when it is not set.
func (s Settings) Secret(name string) resilience.Secret { return s[name].Secret }

// Keys returns API keys without duplicates.
func (s Settings) Keys(name string) []keys.Key { return s[name].Keys }

// Number returns a rate or a price, and false when it is unknown.
func (s Settings) Number(name string) (float64, bool) {
	if n := s[name].Number; n != nil {
		return *n, true
	}
	return 0, false
}

// Rate returns the limit in requests per second; 0 for no limit.
func (s Settings) Rate() float64 {
	n, _ := s.Number("rate")
	return n
}

// Setting returns the setting for this pace, for a provider's Settings.
func (p Pace) Setting() Setting {
	return Setting{Name: "rate", Kind: Rate, Default: strconv.FormatFloat(p.PerSecond, 'f', -1, 64)}
}

// Read parses the texts of settings and adds the defaults. Its error lists all problems, one per line, each with the
// path of its setting.
func (d Description) Read(texts map[string]string) (Settings, error) {
	s := Settings{}
	var errs []error
	for _, setting := range d.Settings {
		text, given := texts[setting.Name]
		if !given {
			text = setting.Default
		}
		v, err := setting.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.Path(setting.Name), err))
		}
		s[setting.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if _, known := s[name]; !known {
			errs = append(errs, fmt.Errorf("there is no setting %s", d.Path(name)))
		}
	}
	return s, errors.Join(append(errs, d.Together(s))...)
}

// Together reports settings that are set without the one that must be set with them.
func (d Description) Together(s Settings) error {
	if one, other := d.Alone(s); one != "" {
		return words.Errorf("settings.wrong.together", "One", one, "Other", other)
	}
	return nil
}

// Alone returns the paths of two settings that belong together if only one of them is set; empty for none.
func (d Description) Alone(s Settings) (one, other string) {
	for _, setting := range d.Settings {
		if setting.With != "" && s[setting.Name].Empty() != s[setting.With].Empty() {
			return d.Path(setting.Name), d.Path(setting.With)
		}
	}
	return "", ""
}

// Parse parses the setting's text. An empty address means the default.
func (s Setting) Parse(text string) (Value, error) {
	if (s.Kind == BaseURL || s.Kind == PageURL) && strings.TrimSpace(text) == "" {
		text = s.Default
	}
	return s.Kind.Parse(text)
}

// Parse parses a text of this kind.
func (k Kind) Parse(text string) (v Value, err error) {
	text = strings.TrimSpace(text)
	switch k {
	case Text:
		v.Text = text
	case Secret:
		v.Secret = resilience.Secret(text)
	case Keys:
		v.Keys, err = parseKeys(text)
	case BaseURL:
		v.Text, err = parseBaseURL(text)
	case PageURL:
		v.Text, err = parsePageURL(text)
	case Rate:
		v.Number, err = parseRate(text)
	case Price:
		v.Number, err = parsePrice(text)
	}
	return v, err
}

func parseKeys(text string) (all []keys.Key, err error) {
	separates := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
	for item := range strings.FieldsFuncSeq(text, separates) {
		project, key, ok := strings.Cut(item, ":")
		if !ok {
			project, key = "", item
		}
		if len(key) < 8 {
			return nil, words.Errorf("settings.wrong.key")
		}
		if !slices.ContainsFunc(all, func(k keys.Key) bool { return string(k.Secret) == key }) {
			all = append(all, keys.Key{Secret: resilience.Secret(key), Project: project})
		}
	}
	return all, nil
}

func parseBaseURL(text string) (string, error) {
	text, err := parsePageURL(text)
	if err == nil && strings.ContainsAny(text, "?#") {
		return "", words.Errorf("settings.wrong.part", "Value", text)
	}
	return strings.TrimRight(text, "/"), err
}

func parsePageURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err == nil && u.User != nil: // first, because the other error contains the text
		return "", words.Errorf("settings.wrong.userinfo")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", words.Errorf("settings.wrong.url", "Value", text)
	}
	return text, nil
}

func parseRate(text string) (*float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1000) || f > 0 && f < 0.01 {
		return nil, words.Errorf("settings.wrong.rate", "Value", text)
	}
	return &f, nil
}

func parsePrice(text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1e6) {
		return nil, words.Errorf("settings.wrong.price", "Value", text)
	}
	return &f, nil
}
