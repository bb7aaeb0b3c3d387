package spotify

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// name is the provider's name.
const name = "spotify"

// links are its pages, in any language, and its own kind of address. Short links say nothing.
var links = []*regexp.Regexp{
	regexp.MustCompile(`^(?:open|play)\.spotify\.com/(?:[^?]+/)?(?P<kind>track|album|artist)/` +
		`(?P<id>[A-Za-z0-9]{22})(?:[/?#]|$)`),
	regexp.MustCompile(`^spotify:(?P<kind>track|album|artist):(?P<id>[A-Za-z0-9]{22})$`),
	regexp.MustCompile(`^(?:(?:open|play)\.spotify\.com|spotify\.link)/`),
}

// Describe returns the description of Spotify.
func Describe() providers.Description {
	return providers.Description{
		Name: name, DisplayName: "Spotify",
		Icon: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zM6.5 8.6c3.9-1.1 7.9-.8 11.2 1.1l-.9 " +
			"1.6c-2.8-1.6-6.3-1.9-9.8-.9zM7.3 12c3.2-.9 6.4-.5 9.1 1l-.8 1.5c-2.3-1.3-5-1.6-7.8-.8zM7.9 " +
			"15.2c2.5-.6 4.9-.3 7 .9l-.8 1.4c-1.7-1-3.7-1.2-5.8-.7z",
		Purpose: words.New("spotify.purpose"),
		Track:   "https://open.spotify.com/track/{id}", Domain: "spotify.com", Links: links,
		Streams: []string{library.Listens, library.Playlists, library.Loves}, Plays: true,
		Endpoints: []string{
			endpoint(meRoute), endpoint(recentlyPlayed), endpoint(currentlyPlaying), endpoint(playlistsRoute),
			endpoint(itemsRoute), endpoint(likedRoute), endpoint(searchRoute), endpoint(playlistRoute),
			http.MethodPost + " " + playlistsRoute, http.MethodPut + " " + playlistRoute,
			http.MethodPut + " " + itemsRoute, http.MethodPost + " " + itemsRoute,
			http.MethodPut + " " + libraryRoute, http.MethodDelete + " " + libraryRoute,
		},
		Takes: providers.Takes{Playlists: true, Piecewise: true, Loves: true, LovesFound: true},
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://api.spotify.com"},
			{Name: "auth_url", Kind: providers.PageURL, Default: "https://accounts.spotify.com/authorize"},
			{Name: "token_url", Kind: providers.PageURL, Called: true,
				Default: "https://accounts.spotify.com/api/token"},
			{Name: "client_id", Label: words.New("register.client_id"), Required: true, From: dashboard},
			{Name: "client_secret", Label: words.New("register.client_secret"), Kind: providers.Secret,
				From: dashboard},
		},
		Owner: name,
		Registration: &providers.Registration{
			Page: dashboard, Identity: "client id and secret", Source: dashboard,
			RedirectAs: "at " + dashboard + ", as redirect URI",
			Redirect:   providers.RedirectRules{Secure: true, NoLocalhost: true},
			Guide:      guide(),
			Try:        try,
		},
		Tables: tables(),
		Build:  build,
	}
}

func guide() providers.Guide {
	return providers.Guide{First: words.New("register.spotify.first"), Steps: []providers.Step{
		{Text: words.New("register.spotify.create"), Page: dashboard + "/create", Copy: []string{"Reprise"}},
		{Text: words.New("register.spotify.redirect"), Copy: []string{providers.RedirectURI}},
		{Text: words.New("register.spotify.save")},
		{Text: words.New("register.spotify.people")},
		{Text: words.New("register.spotify.copy")},
	}}
}

const dashboard = "https://developer.spotify.com/dashboard"

// scopes lists the permissions for reading.
var scopes = []string{"user-read-recently-played", "user-read-currently-playing", "playlist-read-private",
	"playlist-read-collaborative", "user-library-read"}

// further lists the scopes for changes. Playlists need both: a new one is private, but a restored one may be public.
var further = map[providers.Permission][]string{
	providers.WritePlaylists: {"playlist-modify-private", "playlist-modify-public"},
	providers.WriteLoves:     {"user-library-modify"},
}

// authorizationMonths is the lifetime of an authorization. Refreshing does not extend it since 2026; see
// https://developer.spotify.com/documentation/web-api/tutorials/refreshing-tokens.
const authorizationMonths = 6

func build(s providers.Settings, _ providers.Installation) (providers.Provider, error) {
	base := strings.TrimRight(s.Text("api_url"), "/")
	id := s.Text("client_id")
	known := newMemory()
	return providers.Provider{
		OAuth: &providers.OAuth{
			ClientID:     id,
			ClientSecret: string(s.Secret("client_secret")),
			AuthURL:      s.Text("auth_url"),
			TokenURL:     s.Text("token_url"),
			Scopes:       scopes,
			Further:      further,
			Months:       authorizationMonths,
		},
		App: func(library.Credentials) string { return id },
		Open: func(call resilience.Call, credentials library.Credentials) providers.Adapter {
			return &adapter{call: call, base: base, known: known, account: credentials[accountField]}
		},
	}, nil
}

// try asks for a token of the app itself, which needs no consent. An app without a secret gets none; there it exchanges
// an invalid code: Spotify checks the client first.
func try(ctx context.Context, t providers.Trying) error {
	if t.Settings.Secret("client_secret") != "" {
		return providers.TryToken(ctx, t, url.Values{"grant_type": {"client_credentials"}})
	}
	err := providers.TryToken(ctx, t, url.Values{"grant_type": {"authorization_code"}, "code": {"nothing"},
		"redirect_uri": {t.Redirect}, "code_verifier": {strings.Repeat("a", 43)}})
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Code == "invalid_grant" {
		return nil
	}
	return err
}
