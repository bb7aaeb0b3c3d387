// Package example is a whole provider in one file, for docs/new-provider.md: OAuth, listens, playlists and an error
// table. Tests compile and run it; no installation offers it, because it has no line in the registry.
package example

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const apps = "https://jukebox.example.org/apps"

// Route templates of the API, which name endpoints in logs and metrics.
const (
	meRoute        = "GET /v1/me"
	playsRoute     = "GET /v1/plays"
	playlistsRoute = "GET /v1/playlists"
	tracksRoute    = "GET /v1/playlists/{id}/tracks"
)

// Describe returns the description of the provider.
func Describe() providers.Description {
	return providers.Description{
		Name: "example", DisplayName: "Jukebox", Icon: "M4 4h16v16H4z", Purpose: words.New("example.purpose"),
		Streams: []string{library.Listens, library.Playlists}, Owner: "jukebox",
		Endpoints: []string{meRoute, playsRoute, playlistsRoute, tracksRoute},
		Settings: []providers.Setting{
			{Name: "api_url", Kind: providers.BaseURL, Called: true, Default: "https://api.jukebox.example.org"},
			{Name: "token_url", Kind: providers.PageURL, Called: true, Default: "https://jukebox.example.org/token"},
			{Name: "client_id", Label: words.New("register.client_id"), Required: true, From: apps},
		},
		Registration: &providers.Registration{Page: apps, Identity: "client id", Source: apps,
			RedirectAs: "at " + apps + ", as callback", Redirect: providers.RedirectRules{Secure: true},
			Guide: providers.Guide{Steps: []providers.Step{{Text: words.New("example.create"), Page: apps,
				Copy: []string{providers.RedirectURI}}}},
			Try: func(ctx context.Context, t providers.Trying) error {
				return providers.TryToken(ctx, t, url.Values{"grant_type": {"client_credentials"}})
			}},
		Tables: providers.Tables{Provider: "Jukebox", Sources: []string{"https://jukebox.example.org/docs/errors"},
			Reading: "The API has no codes besides the status.",
			Of:      []providers.NamedTable{{Calls: "all calls", Table: table}}},
		Build: build,
	}
}

// table lists the statuses whose meaning differs from the general table.
var table = providers.Table{
	{Status: http.StatusPaymentRequired, Meaning: resilience.Meaning{Class: resilience.Fatal,
		Category: resilience.Permission, Scope: resilience.ScopeConnection, Advice: words.New("example.ended")}},
}

func build(s providers.Settings, _ providers.Installation) (providers.Provider, error) {
	id := s.Text("client_id")
	return providers.Provider{
		OAuth: &providers.OAuth{
			ClientID: id, AuthURL: "https://jukebox.example.org/allow", TokenURL: s.Text("token_url"),
			Scopes: []string{"read"},
		},
		App: func(library.Credentials) string { return id },
		Open: func(call resilience.Call, _ library.Credentials) providers.Adapter {
			return &adapter{call: call, base: s.Text("api_url")}
		},
	}, nil
}

type adapter struct {
	call resilience.Call // adds the access token
	base string
}

// get reads the answer to one GET into v.
func (a *adapter) get(ctx context.Context, endpoint, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return &resilience.SettingError{Setting: "providers.example.api_url", Problem: words.New("field.web_address")}
	}
	answer, err := providers.Send(a.call, req, endpoint, table, nil)
	if err != nil {
		return err
	}
	return providers.DecodeJSON(answer, v)
}

// list reads a list, which the API calls "items".
func list[T any](ctx context.Context, a *adapter, endpoint, path string) ([]T, error) {
	var body struct{ Items []T }
	err := a.get(ctx, endpoint, path, &body)
	if err == nil && body.Items == nil {
		err = &resilience.ContractError{Endpoint: endpoint, What: "no items"}
	}
	return body.Items, err
}

// Prove implements providers.Adapter.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	var me struct{ ID, Name string }
	if err := a.get(ctx, meRoute, "/v1/me", &me); err != nil {
		return providers.Account{}, err
	}
	if me.ID == "" {
		return providers.Account{}, &resilience.ContractError{Endpoint: meRoute, What: "an account without an id"}
	}
	return providers.Account{ID: me.ID, Name: me.Name}, nil
}

// Listens implements providers.ListenSource. The API has all plays of a span in one answer, newest first.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		plays, err := list[struct {
			ID, Title, Artist string
			At                time.Time
		}](ctx, a, playsRoute, "/v1/plays?after="+span.After.Format(time.RFC3339))
		var page providers.ListenPage
		for _, p := range plays {
			page.Oldest = p.At.UTC()
			page.Listens = append(page.Listens, library.Listen{SourceID: p.ID, PlayedAt: page.Oldest,
				Track: library.Track{Title: p.Title, Artist: p.Artist}})
		}
		if err != nil || len(plays) > 0 {
			yield(page, err)
		}
	}
}

// Playlists implements providers.PlaylistSource.
func (a *adapter) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		yield(list[library.Playlist](ctx, a, playlistsRoute, "/v1/playlists"))
	}
}

// Tracks implements providers.PlaylistSource.
func (a *adapter) Tracks(
	ctx context.Context, p library.Playlist, _ providers.LeaveOut,
) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		yield(list[library.Track](ctx, a, tracksRoute, "/v1/playlists/"+url.PathEscape(p.SourceID)+"/tracks"))
	}
}
