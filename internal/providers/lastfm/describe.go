package lastfm

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	name     = "lastfm"
	accounts = "https://www.last.fm/api/accounts"
)

// The limits of track.scrobble, see https://www.last.fm/api/scrobbling.
const (
	scrobblesPerCall = 50
	oldestScrobble   = 14 * 24 * time.Hour
)

// links are the pages of music, in any language, also those of a person's library. A part that begins with a plus is a
// word of Last.fm's own, such as +albums.
var links = []*regexp.Regexp{
	regexp.MustCompile(`^last\.fm/(?:[^?]+/)?music/(?:\+noredirect/)?(?P<artist>[^/?#+][^/?#]*)/[^/?#+][^/?#]*/` +
		`(?P<title>[^/?#+][^/?#]*)`),
	regexp.MustCompile(`^last\.fm/(?:[^?]+/)?music/(?:\+noredirect/)?(?P<artist>[^/?#+][^/?#]*)/` +
		`(?P<album>[^/?#+][^/?#]*)`),
	regexp.MustCompile(`^last\.fm/(?:[^?]+/)?music/(?:\+noredirect/)?(?P<artist>[^/?#+][^/?#]*)`),
	regexp.MustCompile(`^last\.fm/`),
}

// Describe returns the description of Last.fm.
func Describe() providers.Description {
	// https://www.last.fm/api/tos allows five requests a second, on average.
	pace := providers.Pace{PerSecond: 5, Per: "IP address"}
	return providers.Description{
		Name: name, DisplayName: "Last.fm", Links: links,
		Icon:    "M3 20v-7h4v7zM10 20V4h4v16zM17 20V9h4v11z",
		Purpose: words.New("lastfm.purpose"),
		Streams: []string{library.Listens, library.Loves}, Keeps: true,
		Endpoints: []string{endpoint(getSession), endpoint(userInfo), endpoint(recentTracks), endpoint(scrobble),
			endpoint(nowPlaying), endpoint(lovedTracks), endpoint(love), endpoint(unlove)},
		Takes: providers.Takes{Listens: "scrobble", Batch: scrobblesPerCall, Oldest: oldestScrobble, Playing: true,
			Loves:  true,
			Repeat: "It stores a track once for each second, and answers a repeat as accepted."},
		History: "https://www.last.fm/user/{account}/library",
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://ws.audioscrobbler.com/2.0/"},
			{Name: "auth_url", Kind: providers.PageURL, Default: "https://www.last.fm/api/auth/"},
			{Name: "client_id", Own: true, Label: words.New("register.api_key"), Required: true, From: accounts},
			{Name: "client_secret", Own: true, Label: words.New("register.shared_secret"), Kind: providers.Secret,
				Required: true, From: accounts},
			pace.Setting(),
		},
		Owner: name,
		Pace:  pace,
		Registration: &providers.Registration{
			Page: "https://www.last.fm/api/account/create", Identity: "API key and shared secret", Source: accounts,
			RedirectAs: "at " + accounts + ", as callback URL", Guide: guide(),
			Try: try,
		},
		Tables: tables(),
		Build:  build,
	}
}

func guide() providers.Guide {
	return providers.Guide{Steps: []providers.Step{
		{Text: words.New("register.lastfm.create"), Page: "https://www.last.fm/api/account/create",
			Copy: []string{"Reprise"}},
		{Text: words.New("register.lastfm.callback"), Copy: []string{providers.RedirectURI}},
		{Text: words.New("register.lastfm.copy"), Page: accounts},
	}}
}

func build(s providers.Settings, _ providers.Installation) (providers.Provider, error) {
	a := api{
		base: strings.TrimRight(s.Text("api_url"), "/") + "/",
		key:  s.Text("client_id"), secret: string(s.Secret("client_secret")),
	}
	return providers.Provider{
		SignIn: &providers.SignIn{
			AuthURL:  consentURL(s.Text("auth_url"), a.key),
			Token:    "token",
			Exchange: a.session,
			Ready:    a.key != "" && a.secret != "",
		},
		App: func(library.Credentials) string { return a.key },
		Open: func(call resilience.Call, cred library.Credentials) providers.Adapter {
			return &adapter{api: a, call: call, sessionKey: cred[sessionField], user: cred[userField]}
		},
	}, nil
}

// try signs a call without a session. Last.fm checks the API key and the signature first.
func try(ctx context.Context, t providers.Trying) error {
	p, err := build(t.Settings, providers.Installation{})
	if err != nil {
		return err
	}
	_, err = p.Open(t.Call, library.Credentials{sessionField: "nobody"}).Prove(ctx)
	e, ok := errors.AsType[*resilience.AnswerError](err)
	if ok && !e.HTML && e.Meaning != nil && e.Meaning.Category == resilience.Auth &&
		e.Meaning.Scope == resilience.ScopeConnection {
		return nil // only the missing session is refused
	}
	return err
}
