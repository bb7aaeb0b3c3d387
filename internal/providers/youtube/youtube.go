// Package youtube reads playlists through the YouTube Data API v3: those of the person's own, and the liked videos as
// one more.
//
// Liked videos are a playlist here and no listens. YouTube tells nobody's plays; a like says that somebody pressed a
// button at some time, and taken for a play it would stand in the history beside the real ones of other services, and
// be sent on to them.
//
// What belongs to a person is asked for in their name. What is public (how long a video is) is asked for with the
// installation's keys, where it has some. Every call costs one unit of a day's quota, so that pages which have not
// changed are recognised by their ETag, and lengths, which never change, are remembered.
package youtube

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// putKey writes an API key onto a request, where no log or error of a URL shows it.
func putKey(req *http.Request, key resilience.Secret) { req.Header.Set("X-Goog-Api-Key", string(key)) }

type adapter struct {
	client *http.Client // in the person's name
	public *http.Client
	base   string // without a trailing slash
	known  *memory
	owner  string // whose pages the memory keeps; empty for nobody's
}

// get reads the answer to one GET into v, which stays as it is when etag still holds.
func (a *adapter) get(ctx context.Context, client *http.Client, route string, query url.Values, etag string,
	v any) (unchanged bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+route+"?"+query.Encode(), nil)
	if err != nil {
		return false, &resilience.SettingError{Setting: "providers.youtube.api_url",
			Problem: "This is not a web address."}
	}
	req.Header.Set("Accept", "application/json")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	answer, err := providers.Call(client, req, endpoint(route), table, explain)
	if err != nil || answer.Unchanged() {
		return err == nil, err
	}
	return false, providers.DecodeJSON(answer, v)
}

func endpoint(route string) string { return http.MethodGet + " /youtube/v3" + route }

func broken(route, what string) error {
	return &resilience.ContractError{Endpoint: endpoint(route), What: what}
}

type channel struct {
	ID      string `json:"id"`
	Snippet struct {
		Title string `json:"title"`
	} `json:"snippet"`
}

// Prove implements providers.Adapter. The account is the person's channel.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	var p page[channel]
	query := url.Values{"part": {"snippet"}, "mine": {"true"}}
	if _, err := a.get(ctx, a.client, channelsRoute, query, "", &p); err != nil {
		return providers.Account{}, err
	}
	if p.empty() {
		return providers.Account{}, table.Apply(&resilience.AnswerError{
			Endpoint: endpoint(channelsRoute), Status: http.StatusOK, Code: noChannel, Message: "no channel",
		})
	}
	if len(p.Items) == 0 || p.Items[0] == nil || p.Items[0].ID == "" {
		return providers.Account{}, broken(channelsRoute, "an account without an id")
	}
	c := p.Items[0]
	return providers.Account{ID: c.ID, Name: cmp.Or(c.Snippet.Title, c.ID)}, nil
}
