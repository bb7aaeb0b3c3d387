package youtube

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Loves implements providers.LoveSource with the liked videos. Those that are gone or no music have no name: they only
// say that a track is there that was liked as one of these videos. Pages are not remembered: an unchanged one costs as
// much of the quota, and the token in it may be too old.
func (a *adapter) Loves(ctx context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		l := listing{route: itemsRoute, query: itemsQuery(likedID)}
		for n := range maxPages {
			p, err := fetch[place](ctx, a, l)
			if n == 0 && noLikes(err) {
				p, err = &page[place]{}, nil
			}
			var one providers.LovePage
			if err == nil {
				one, err = a.loves(ctx, p)
			}
			if !yield(one, err) || err != nil || p.Next == "" {
				return
			}
			l.query.Set("pageToken", p.Next)
		}
		yield(providers.LovePage{}, providers.Broken(endpoint(itemsRoute), "a listing without an end"))
	}
}

// loves returns what a page of liked videos has.
func (a *adapter) loves(ctx context.Context, p *page[place]) (one providers.LovePage, err error) {
	one.Total = p.total()
	var ids []string
	for _, r := range p.Items {
		if r != nil && r.ContentDetails.Video != "" {
			ids = append(ids, r.ContentDetails.Video)
		}
	}
	if len(ids) == 0 {
		return one, nil
	}
	videos, err := a.Videos(ctx, ids)
	for _, r := range p.Items {
		if r == nil || r.ContentDetails.Video == "" {
			continue
		}
		v := library.Love{Score: library.Loved, At: r.Snippet.Published.UTC(), SourceID: r.ContentDetails.Video}
		i := slices.IndexFunc(videos, func(v library.Video) bool { return v.ID == r.ContentDetails.Video })
		if i >= 0 && videos[i].Category == music {
			t := a.Named(videos[i])
			v.Title, v.Artist = t.Title, t.Artist
		}
		one.Loves = append(one.Loves, v)
	}
	return one, err
}

// rateRoute sets what the person thinks of a video. A call costs 50 units of the day's quota; see
// https://developers.google.com/youtube/v3/docs/videos/rate.
const rateRoute = "/videos/rate"

// rateEndpoint names the calls of rateRoute.
const rateEndpoint = http.MethodPost + " /youtube/v3" + rateRoute

// Love implements providers.LoveTaker: a loved track is a liked video. The track has the SourceID of a video.
func (a *adapter) Love(ctx context.Context, v library.Love) (string, error) {
	rating := "none"
	if v.Score == library.Loved {
		rating = "like"
	}
	query := url.Values{"id": {v.SourceID}, "rating": {rating}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+rateRoute+"?"+query.Encode(), nil)
	if err != nil {
		return "", &resilience.SettingError{Setting: "providers.youtube.api_url",
			Problem: words.New("field.web_address")}
	}
	_, err = providers.Send(a.call, req, rateEndpoint, rateTable, explain)
	return v.SourceID, err
}
