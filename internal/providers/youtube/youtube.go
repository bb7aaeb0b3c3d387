// Package youtube reads playlists through the YouTube Data API v3: the person's own, and the liked videos as one more.
//
// Liked videos are a playlist and not listens. The API offers no plays, and a like is not a play: it would be mixed
// with real plays of other services and forwarded to them.
//
// What only the person may see (the list of their playlists, their likes, private playlists) is read with their
// permission. What anybody may see (public and unlisted playlists, videos) is read with the installation's keys, if it
// has any, and with the person's permission while every key is spent. Every call costs one unit of the daily quota, so
// unchanged pages are recognised by their ETag, and facts about a video are kept, and asked for once a day.
package youtube

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

// putKey adds an API key to the headers of a request, because logs and errors show URLs.
func putKey(req *http.Request, key resilience.Secret) { req.Header.Set("X-Goog-Api-Key", string(key)) }

type adapter struct {
	call   resilience.Call // with the person's permission
	public resilience.Call // with a key of the installation; without a client if there is none
	base   string          // without a trailing slash
	known  *memory
	owner  string // key of the connection's pages in memory; empty to remember none
}

// get reads the answer to one GET into v. It leaves v unchanged when etag is still valid.
func (a *adapter) get(
	ctx context.Context, call resilience.Call, route string, query url.Values, etag string, v any,
) (unchanged bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+route+"?"+query.Encode(), nil)
	if err != nil {
		return false, &resilience.SettingError{Setting: "providers.youtube.api_url",
			Problem: words.New("field.web_address")}
	}
	req.Header.Set("Accept", "application/json")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	answer, err := providers.Send(call, req, endpoint(route), table, explain)
	if err != nil || answer.Unchanged() {
		return err == nil, err
	}
	return false, providers.DecodeJSON(answer, v)
}

// getPublic is get for what anybody may see. It asks with a key of the installation, if there are any, and with the
// person's own permission when every key is spent for now, or when the object is closed to keys: that is no fault of
// the key, because the object may be the person's own and private.
func (a *adapter) getPublic(
	ctx context.Context, route string, query url.Values, etag string, v any,
) (unchanged bool, err error) {
	if a.public.Client == nil {
		return a.get(ctx, a.call, route, query, etag, v)
	}
	unchanged, err = a.get(ctx, a.public, route, query, etag, v)
	none, short := errors.AsType[*keys.Error](err)
	spent := short && !none.Until.IsZero() // else the administrator has to mend the keys
	if spent || resilience.IsItem(err) && !tokenRejected(err) {
		return a.get(ctx, a.call, route, query, etag, v)
	}
	return unchanged, err
}

// getOwn is get with the person's own permission.
func (a *adapter) getOwn(
	ctx context.Context, route string, query url.Values, etag string, v any,
) (unchanged bool, err error) {
	return a.get(ctx, a.call, route, query, etag, v)
}

// tokenRejected reports whether YouTube did not accept a page token, so that the listing has to begin again.
func tokenRejected(err error) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && e.Code == invalidPageToken
}

func endpoint(route string) string { return http.MethodGet + " /youtube/v3" + route }

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
	if _, err := a.get(ctx, a.call, channelsRoute, query, "", &p); err != nil {
		return providers.Account{}, err
	}
	if p.empty() {
		return providers.Account{}, table.Apply(&resilience.AnswerError{
			Endpoint: endpoint(channelsRoute), Status: http.StatusOK, Code: noChannel, Message: "no channel",
		})
	}
	if len(p.Items) == 0 || p.Items[0] == nil || p.Items[0].ID == "" {
		return providers.Account{}, providers.Broken(endpoint(channelsRoute), "an account without an id")
	}
	c := p.Items[0]
	return providers.Account{ID: c.ID, Name: cmp.Or(c.Snippet.Title, c.ID)}, nil
}
