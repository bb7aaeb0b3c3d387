// Package librefm reads listens from Libre.fm, or from any other server that runs GNU FM, and sends listens there.
package librefm

import (
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/lastfm"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// The fields of the connect form.
const (
	urlField      = lastfm.ElsewhereURL
	userField     = "username"
	passwordField = "password"
)

// Describe returns the description of Libre.fm.
func Describe() providers.Description {
	return providers.Description{
		Name: "librefm", DisplayName: "Libre.fm",
		Icon:      "M4 4h4v12h6v4H4zM16 4h4v4h-4zM16 10h4v10h-4z",
		Purpose:   words.New("librefm.purpose"),
		Streams:   []string{library.Listens},
		Keeps:     true,
		Endpoints: lastfm.ElsewhereEndpoints(),
		Takes: providers.Takes{Listens: "scrobble", Batch: 50, Playing: true,
			Repeat: "It ignores a listen with the same names at the same second, and says so."},
		Owner: providers.OwnServer,
		Fields: []providers.Field{
			{Name: userField, Label: words.New("librefm.field.user"), Kind: "text"},
			{Name: passwordField, Label: words.New("librefm.field.password"), Kind: "password"},
			{Name: urlField, Label: words.New("librefm.field.url"), Kind: "url", Optional: true,
				Help: words.New("librefm.field.url_help")},
		},
		Tables: lastfm.ElsewhereTables("Libre.fm and other servers with GNU FM"),
		Build:  build,
	}
}

func build(providers.Settings, providers.Installation) (providers.Provider, error) {
	return providers.Provider{
		App: func(cred library.Credentials) string {
			at, err := lastfm.ElsewhereAt(cred[urlField])
			if err != nil {
				return ""
			}
			return at.Host
		},
		Open: func(call resilience.Call, cred library.Credentials) providers.Adapter {
			return lastfm.OpenElsewhere(call, cred, cred[userField], cred[passwordField])
		},
	}, nil
}
