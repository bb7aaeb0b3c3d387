// Package spotify reads listens, playlists and liked songs through the Spotify Web API, and writes playlists and liked
// songs.
//
// The HTTP client around the adapter adds the access token to every call. Spotify keeps only the last
// 50 plays; ListenPage.Lost is set when there must have been more. Playlists that apps may not read are item failures
// and do not stop the others. An unchanged list of playlists is not sent again if Spotify sends an ETag.
package spotify

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

type adapter struct {
	call    resilience.Call
	base    string // without a trailing slash
	known   *memory
	account string // key of the connection's pages in memory; empty to remember none
}

// accountField is the name of the account's id in the credentials. Unlike tokens it never changes.
const accountField = "account"

// get reads the answer to one GET into v. route is the template of path: it names the endpoint and never holds an id.
func (a *adapter) get(ctx context.Context, route, path string, query url.Values, t providers.Table, v any) error {
	answer, err := a.fetch(ctx, route, path, query, "", t)
	if err != nil {
		return err
	}
	return providers.DecodeJSON(answer, v)
}

// fetch sends one GET. With an ETag the answer may be a 304.
func (a *adapter) fetch(
	ctx context.Context, route, path string, query url.Values, etag string, t providers.Table,
) (*resilience.Answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return a.send(ctx, http.MethodGet, route, path, etag, nil, t)
}

// send sends one request, with a JSON body unless that is nil.
func (a *adapter) send(
	ctx context.Context, method, route, path, etag string, body []byte, t providers.Table,
) (*resilience.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &resilience.SettingError{Setting: "providers.spotify.api_url",
			Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	return providers.Send(a.call, req, method+" "+route, t, explain)
}

const meRoute = "/v1/me"

func endpoint(route string) string { return http.MethodGet + " " + route }

// Prove implements providers.Adapter.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	var me struct {
		ID   string `json:"id"`
		Name string `json:"display_name"`
	}
	if err := a.get(ctx, meRoute, meRoute, nil, table, &me); err != nil {
		return providers.Account{}, err
	}
	if me.ID == "" {
		return providers.Account{}, providers.Broken(endpoint(meRoute), "an account without an id")
	}
	return providers.Account{ID: me.ID, Name: cmp.Or(me.Name, me.ID),
		Learned: library.Credentials{accountField: me.ID}}, nil
}
