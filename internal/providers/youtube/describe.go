package youtube

import (
	"regexp"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const console = "https://console.cloud.google.com"

// links are the pages of videos, also of YouTube Music.
var links = []*regexp.Regexp{
	regexp.MustCompile(`^(?:(?:m|music)\.)?youtube\.com/watch\?(?:[^#]*&)?v=(?P<id>[A-Za-z0-9_-]{11})(?:[&#]|$)`),
	regexp.MustCompile(`^(?:(?:m|music)\.)?youtube\.com/(?:shorts|live|embed|v)/(?P<id>[A-Za-z0-9_-]{11})(?:[/?#]|$)`),
	regexp.MustCompile(`^youtu\.be/(?P<id>[A-Za-z0-9_-]{11})(?:[/?#]|$)`),
	regexp.MustCompile(`^(?:(?:(?:m|music)\.)?youtube\.com|youtu\.be)/`),
}

// Describe returns the description of YouTube.
func Describe() providers.Description {
	return providers.Description{
		Name: "youtube", DisplayName: "YouTube",
		Icon:    "M4 5h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM10 8.5v7l6-3.5z",
		Purpose: words.New("youtube.purpose"),
		Track:   "https://www.youtube.com/watch?v={id}", Domain: "youtube.com", Links: links,
		Streams: []string{library.Playlists, library.Loves},
		Endpoints: []string{
			endpoint(channelsRoute), endpoint(playlistsRoute), endpoint(itemsRoute), endpoint(videosRoute),
			rateEndpoint,
		},
		// 100 likes are half of the default quota of 10,000 units a day.
		Takes:      providers.Takes{Loves: true, LovesKnown: true, LovesPerDay: 100},
		QuotaReset: quotaReset,
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://www.googleapis.com/youtube/v3"},
			{Name: "auth_url", Kind: providers.PageURL, Default: "https://accounts.google.com/o/oauth2/v2/auth"},
			{Name: "token_url", Kind: providers.PageURL, Called: true, Default: "https://oauth2.googleapis.com/token"},
			{Name: "client_id", Label: words.New("register.client_id"), Required: true, From: console},
			{Name: "client_secret", Label: words.New("register.client_secret"), Kind: providers.Secret, Required: true,
				From: console},
			{Name: "keys", Own: true, Kind: providers.Keys, From: console},
		},
		Owner: "google",
		Registration: &providers.Registration{
			Page: console, Identity: "client ID and secret", Source: "Google's console, under \"Credentials\",",
			RedirectAs: "in Google's console under \"Credentials\", as authorized redirect URI",
			Redirect:   providers.RedirectRules{Secure: true},
			Guide:      guide(),
			Try:        try,
		},
		Pool: &providers.Pool{KeyName: "YouTube's key", Put: putKey, Advice: keyAdvice,
			Try: tryKey, Instead: true},
		QuotaDay: "pacific",
		Tables:   tables(),
		Build:    build,
	}
}

func guide() providers.Guide {
	return providers.Guide{First: words.New("register.youtube.first"), Steps: []providers.Step{
		{Text: words.New("register.youtube.project"), Page: console + "/projectcreate", Copy: []string{"Reprise"}},
		{Text: words.New("register.youtube.enable"), Page: console + "/apis/library/youtube.googleapis.com"},
		{Text: words.New("register.youtube.consent"), Page: console + "/auth/overview/create"},
		{Text: words.New("register.youtube.publish"), Page: console + "/auth/audience"},
		{Text: words.New("register.youtube.client"), Page: console + "/auth/clients/create",
			Copy: []string{providers.RedirectURI}},
		{Text: words.New("register.youtube.copy")},
	}}
}

func build(s providers.Settings, in providers.Installation) (providers.Provider, error) {
	base := strings.TrimRight(s.Text("api_url"), "/")
	id := s.Text("client_id")
	known := newMemory()
	return providers.Provider{
		OAuth: &providers.OAuth{
			ClientID:     id,
			ClientSecret: string(s.Secret("client_secret")),
			Confidential: true,
			AuthURL:      s.Text("auth_url"),
			TokenURL:     s.Text("token_url"),
			Scopes:       []string{"https://www.googleapis.com/auth/youtube.readonly"},
			Further: map[providers.Permission][]string{
				providers.WriteLoves: {"https://www.googleapis.com/auth/youtube.force-ssl"},
			},
			// Without these Google gives no refresh token.
			AuthParams: map[string]string{"access_type": "offline", "prompt": "consent"},
		},
		App: func(library.Credentials) string { return id },
		Open: func(call resilience.Call, credentials library.Credentials) providers.Adapter {
			a := &adapter{call: call, public: call, base: base, known: known, owner: ownerOf(credentials)}
			a.public.Client = in.Keyed
			return a
		},
	}, nil
}
