package lastfm

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

const (
	recentTracks   = "user.getRecentTracks"
	listensPerPage = 200 // supported by every version of the API
	// lateness is how far back known history is read again, because players send plays late.
	lateness = 24 * time.Hour
)

// listensBody is one page of plays, reduced to the fields that are used.
type listensBody struct {
	Recent struct {
		Tracks many[row] `json:"track"`
		Attr   struct {
			Pages count `json:"totalPages"`
			Total count `json:"total"`
		} `json:"@attr"`
	} `json:"recenttracks"`
}

// many is a list. Last.fm sends a single thing without a list around it.
type many[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (m *many[T]) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		b = listOf(b)
	}
	return json.Unmarshal(b, (*[]T)(m))
}

// listOf wraps a JSON value in a list.
func listOf(b []byte) []byte { return append(append([]byte("["), b...), ']') }

type row struct {
	Artist text `json:"artist"`
	Title  text `json:"name"`
	Album  text `json:"album"`
	Date   struct {
		UTS number `json:"uts"` // Unix seconds
	} `json:"date"`
	Attr struct {
		NowPlaying text `json:"nowplaying"`
	} `json:"@attr"`
}

func (r *row) playing() bool { return r.Attr.NowPlaying == "true" }

func (r *row) usable() bool { return r.Title != "" && r.Artist != "" }

func (r *row) plain() library.Listen {
	at := int64(r.Date.UTS)
	return library.Listen{
		Track:    library.Track{Title: string(r.Title), Artist: string(r.Artist), Album: string(r.Album)},
		SourceID: strconv.FormatInt(at, 10) + ":" + library.NameHash(string(r.Artist), string(r.Title)),
		PlayedAt: time.Unix(at, 0).UTC(),
	}
}

// Listens implements providers.ListenSource.
func (a *adapter) Listens(ctx context.Context, span library.Span) iter.Seq2[providers.ListenPage, error] {
	return func(yield func(providers.ListenPage, error) bool) {
		w, total := newWalk(span), -1
		for {
			body, err := a.listens(ctx, w)
			if err != nil {
				yield(providers.ListenPage{}, err)
				return
			}
			if total < 0 { // of the whole span; later answers count the rest
				total = 0
				if span.After.IsZero() {
					total = int(body.Recent.Attr.Total)
				}
			}
			page, more, err := w.take(body)
			if err != nil {
				yield(providers.ListenPage{}, err)
				return
			}
			page.Total = total
			if len(page.Listens) > 0 && !yield(page, nil) {
				return
			}
			if !more || !page.Oldest.IsZero() && !page.Oldest.After(span.After) {
				return
			}
		}
	}
}

// listens reads the walk's next page.
func (a *adapter) listens(ctx context.Context, w *walk) (*listensBody, error) {
	params := url.Values{"user": {a.user}, "limit": {strconv.Itoa(listensPerPage)}, "page": {strconv.Itoa(w.page)}}
	if w.from > 0 {
		params.Set("from", strconv.FormatInt(w.from, 10))
	}
	if w.to > 0 {
		params.Set("to", strconv.FormatInt(w.to, 10))
	}
	var body listensBody
	err := a.signed(ctx, recentTracks, params, userTable, &body)
	if a.gnu != nil && refusedWith(err, noSuchThing) {
		return &body, nil
	}
	if err != nil {
		return nil, err
	}
	if body.Recent.Tracks == nil {
		return nil, providers.Broken(endpoint(recentTracks), "no list of plays")
	}
	return &body, nil
}

// CountBetween implements providers.Historian.
func (a *adapter) CountBetween(ctx context.Context, from, before time.Time) (int, error) {
	if a.gnu != nil {
		return -1, a.bounded(ctx)
	}
	params := url.Values{"user": {a.user}, "limit": {"1"}, "to": {strconv.FormatInt(before.Unix(), 10)},
		"from": {strconv.FormatInt(max(from.Unix()-1, 1), 10)}}
	var body listensBody
	if err := a.signed(ctx, recentTracks, params, userTable, &body); err != nil {
		return 0, err
	}
	return int(body.Recent.Attr.Total), nil
}

// bounded returns providers.ErrNotOffered unless this server, which is none of Last.fm's, has plays and none of the
// first seconds of 1970: GNU FM ignores the bounds of a time, other programs with this API may keep to them.
func (a *adapter) bounded(ctx context.Context) error {
	for _, ask := range []struct {
		of   walk
		some bool
	}{{walk{page: 1, from: 1, to: 2}, false}, {walk{page: 1}, true}} {
		body, err := a.listens(ctx, &ask.of)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(body.Recent.Tracks, func(r row) bool { return !r.playing() }) != ask.some {
			return providers.ErrNotOffered
		}
	}
	return nil
}
