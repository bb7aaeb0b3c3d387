// Package koito reads the listens of a person's own Koito, by the API of its pages, and sends listens there, by the
// part of ListenBrainz' API that it has.
package koito

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/words"
)

const (
	listensRoute = "/apis/web/v1/listens"
	// perPage is the most that Koito returns; see maximumLimit in its engine/handlers.
	perPage = 500
)

// Describe returns the description of Koito.
func Describe() providers.Description {
	return listenbrainz.DescribeCompatible(providers.Description{
		Name: "koito", DisplayName: "Koito", Icon: "M4 4h4v7l6-7h5l-7 8 7 8h-5l-6-7v7H4z",
		Purpose: words.New("service.purpose_own"), Endpoints: []string{http.MethodGet + " " + listensRoute},
		Keeps: true,
		Tables: providers.Tables{Reading: "Versions that ignore from and to have listens of the year 2100, too, when " +
			"they are asked for; their months are then not compared."},
		Takes: providers.Takes{Playing: true, Repeat: "It stores a track once for each second."},
	}, words.New("koito.field.token_help"), open, "https://koito.io/reference/api/")
}

type adapter struct{ *listenbrainz.Compatible }

func open(c *listenbrainz.Compatible) providers.Adapter { return &adapter{c} }

// Prove implements providers.Adapter. Besides the token, it tries to read: a Koito that lets nobody in without signing
// in may take the token for sending only.
func (a *adapter) Prove(ctx context.Context) (providers.Account, error) {
	account, err := a.Account(ctx)
	if err == nil {
		_, err = a.listens(ctx, nil, 1, 1)
	}
	return account, err
}

// page is one page of listens, reduced to what is used.
type page struct {
	Items []item `json:"items"`
	Total *int   `json:"total_record_count"`
	More  bool   `json:"has_next_page"`
}

type item struct {
	Time  time.Time `json:"time"`
	Track struct {
		ID      int64  `json:"id"`
		Title   string `json:"title"`
		Artists []struct {
			Name string `json:"name"`
		} `json:"artists"`
	} `json:"track"`
}

// between are the bounds of a page: the first second and the last one, in Unix time and not 0, which Koito takes for
// no bound. Versions before its timeframes ignore them.
func between(from, to int64) url.Values {
	return url.Values{"from": {strconv.FormatInt(max(from, 1), 10)}, "to": {strconv.FormatInt(max(to, 1), 10)}}
}

// listens reads one page, counted from 1, of all listens or of those between bounds.
func (a *adapter) listens(ctx context.Context, bounds url.Values, number, most int) (p page, err error) {
	query := url.Values{"period": {"all_time"}, "limit": {strconv.Itoa(most)}, "page": {strconv.Itoa(number)}}
	maps.Copy(query, bounds)
	err = a.Get(ctx, listensRoute, query, &p)
	if err == nil && (p.Total == nil || *p.Total < 0) { // the list is null where there are none
		err = providers.Broken(http.MethodGet+" "+listensRoute, "no number of listens")
	}
	return p, err
}

func (i *item) usable() bool {
	return i.Time.Unix() > 0 && i.Track.Title != "" && len(i.Track.Artists) > 0 && i.Track.Artists[0].Name != ""
}

func (i *item) plain() library.Listen {
	names := make([]string, len(i.Track.Artists))
	for n, artist := range i.Track.Artists {
		names[n] = artist.Name
	}
	at := i.Time.UTC().Truncate(time.Second)
	l := library.Listen{Track: library.Track{Title: i.Track.Title, SourceID: strconv.FormatInt(i.Track.ID, 10)},
		PlayedAt: at}
	l.Artist, l.Artists = library.Credited(names)
	l.SourceID = strconv.FormatInt(at.Unix(), 10) + ":" + l.Track.SourceID
	return l
}

// Listens implements providers.ListenSource.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	endpoint := http.MethodGet + " " + listensRoute
	var bounds url.Values
	if !span.After.IsZero() && !span.Before.IsZero() {
		bounds = between(span.After.Unix(), span.Before.Unix()+1)
	}
	return providers.ByNumber(ctx, span, endpoint,
		func(ctx context.Context, number int) (page providers.ListenPage, more bool, err error) {
			body, err := a.listens(ctx, bounds, number+1, perPage)
			if err != nil {
				return page, false, err
			}
			page.Total = *body.Total
			for i := range body.Items {
				if v := &body.Items[i]; v.usable() {
					page.Listens = append(page.Listens, v.plain())
				}
			}
			if len(page.Listens) == 0 && len(body.Items) > 0 {
				return page, false, providers.Broken(endpoint, "listens without a time or a name")
			}
			page.Oldest = providers.OldestOf(page.Listens)
			return page, body.More, nil
		})
}

// never is a second in which nobody has heard anything.
var never = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// CountBetween implements providers.Historian. A version whose latest listen is none of that time, or that has listens
// of the future, too, ignores the bounds.
func (a *adapter) CountBetween(ctx context.Context, from, before time.Time) (int, error) {
	body, err := a.listens(ctx, between(from.Unix(), before.Unix()-1), 1, 1)
	if err != nil || *body.Total == 0 {
		return 0, err
	}
	for _, one := range body.Items {
		if one.Time.Before(from) || !one.Time.Before(before) {
			return 0, providers.ErrNotOffered
		}
	}
	none, err := a.listens(ctx, between(never, never), 1, 1)
	if err == nil && *none.Total > 0 {
		err = providers.ErrNotOffered
	}
	return *body.Total, err
}
