package config

import (
	"net/url"
	"regexp"

	"reprise/internal/providers"
	"reprise/internal/words"
)

// addressOf returns a setter for an address of this kind.
func addressOf(kind providers.Kind, to *string) func(string) error {
	return func(s string) error {
		v, err := kind.Parse(s)
		*to = v.Text
		return err
	}
}

// plainPath matches the path of an address that looks the same in a page, in a header and in a request.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]*[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// publicAddress returns a setter for the address at which browsers open this server.
func publicAddress(to *string) func(string) error {
	return func(s string) error {
		if err := addressOf(providers.BaseURL, to)(s); err != nil {
			return err
		}
		if u, err := url.Parse(*to); err != nil || !plainPath.MatchString(u.EscapedPath()) {
			return words.Errorf("settings.wrong.path", "Value", *to)
		}
		return nil
	}
}
