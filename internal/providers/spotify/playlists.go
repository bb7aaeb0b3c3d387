package spotify

import (
	"context"
	"hash/fnv"
	"iter"
	"net/url"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

const (
	playlistsRoute = "/v1/me/playlists"
	itemsRoute     = "/v1/playlists/{id}/items"

	playlistsPerPage = 50  // the most that Spotify returns
	itemsPerPage     = 100 // the most that Spotify returns
)

// page is one page of a listing. Rows may be null.
type page[R any] struct {
	Items []*R   `json:"items"`
	Next  string `json:"next"`
	Total int    `json:"total"`
}

type playlist struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Snapshot string `json:"snapshot_id"`
	Owner    struct {
		ID string `json:"id"`
	} `json:"owner"`
	Collaborative bool `json:"collaborative"`
	Items         struct {
		Total int `json:"total"`
	} `json:"items"`
	Tracks struct { // the name of Items before March 2026
		Total int `json:"total"`
	} `json:"tracks"`
}

// row is one position of a playlist.
type row struct {
	Item  slot `json:"item"`
	Track slot `json:"track"` // the name of Item before March 2026
}

// Playlists implements providers.PlaylistSource.
func (a *adapter) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return walk(playlistsPerPage, playlistsRoute, func(query url.Values, p *page[playlist]) error {
		return a.playlistPage(ctx, query, p)
	}, func(l *playlist) (_ library.Playlist, keep bool, err error) {
		if l.ID == "" {
			return library.Playlist{}, false, providers.Broken(endpoint(playlistsRoute), "a playlist without an id")
		}
		total := max(l.Items.Total, l.Tracks.Total)
		return library.Playlist{SourceID: l.ID, Name: l.Name, Snapshot: snapshot(l.ID, l.Snapshot),
			TrackCount: total, Locked: a.account != "" && l.Owner.ID != "" && l.Owner.ID != a.account &&
				!l.Collaborative}, true, nil
	})
}

// snapshot combines the list's snapshot_id and the week. That of Spotify changes when somebody edits the list, not when
// Spotify stops offering a song in it, so every list is read again once a week, each at its own hour.
func snapshot(id, mark string) string {
	if mark == "" {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // cannot fail
	const week = 7 * 24 * 60 * 60
	return mark + "/" + strconv.FormatInt((time.Now().Unix()+int64(h.Sum32()%week))/week, 10)
}

// playlistPage reads a page of the list of playlists, from memory when it has not changed.
func (a *adapter) playlistPage(ctx context.Context, query url.Values, p *page[playlist]) error {
	key, old := "", remembered{}
	if a.account != "" {
		key = a.account + "?" + query.Encode()
		old = a.known.page(key)
	}
	answer, err := a.fetch(ctx, playlistsRoute, playlistsRoute, query, old.etag, table)
	if err != nil {
		return err
	}
	if answer.Unchanged() {
		*p = old.page
		return nil
	}
	if err := providers.DecodeJSON(answer, p); err != nil {
		return err
	}
	if etag := answer.Header.Get("ETag"); key != "" && etag != "" && p.Items != nil {
		a.known.keep(key, remembered{etag, time.Now(), *p})
	}
	return nil
}

// Tracks implements providers.PlaylistSource.
func (a *adapter) Tracks(
	ctx context.Context, l library.Playlist, left providers.LeaveOut,
) iter.Seq2[[]library.Track, error] {
	path := pathOf(itemsRoute, l.SourceID)
	place := 0
	return walk(itemsPerPage, itemsRoute, func(query url.Values, p *page[row]) error {
		return a.get(ctx, itemsRoute, path, query, playlistTable, p)
	}, func(r *row) (_ library.Track, keep bool, err error) {
		place++
		s := r.Item
		if s.track == nil {
			s = r.Track
		}
		if !r.Item.present && !r.Track.present {
			return library.Track{}, false, providers.Broken(endpoint(itemsRoute), "a row without an item")
		}
		if !s.usable() {
			leaveOut(left, s.track, place)
			return library.Track{}, false, nil
		}
		return s.plain(), true, nil
	})
}

// leaveOut reports a track at a place in a playlist that cannot be used. An episode is no music, and is not missed.
func leaveOut(left providers.LeaveOut, t *track, place int) {
	n := strconv.Itoa(place)
	switch {
	case t == nil:
		left.Say(providers.LeftOut{SourceID: n, Name: "Track " + n,
			Reason: words.New("spotify.track_gone"), Blank: true})
	case t.Type != "episode":
		left.Say(providers.LeftOut{SourceID: n, Name: "Track " + n,
			Reason: words.New("spotify.track_unnamed"), Blank: true})
	}
}

// walk yields a listing page by page. It counts rows instead of following next, which could lead to another host; next
// only tells whether there are more pages.
func walk[R, V any](
	perPage int, route string, get func(url.Values, *page[R]) error, convert func(*R) (V, bool, error),
) iter.Seq2[[]V, error] {
	return func(yield func([]V, error) bool) {
		for offset, more := 0, true; more; {
			var p page[R]
			err := get(url.Values{"limit": {strconv.Itoa(perPage)}, "offset": {strconv.Itoa(offset)}}, &p)
			var values []V
			if err == nil {
				values, err = convertRows(route, &p, convert)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			offset += len(p.Items)
			more = p.Next != "" && (p.Total == 0 || offset < p.Total)
			if len(p.Items) > 0 && !yield(values, nil) {
				return
			}
		}
	}
}

// convertRows returns the values of a page without null rows. An empty page that is not the last one breaks the
// contract, because the rest would look deleted if it ended the walk.
func convertRows[R, V any](route string, p *page[R], convert func(*R) (V, bool, error)) ([]V, error) {
	switch {
	case p.Items == nil || len(p.Items) == 0 && p.Next != "":
		return nil, providers.Broken(endpoint(route), "a listing without items")
	case p.Total < 0:
		return nil, providers.Broken(endpoint(route), "a total below 0")
	}
	values := make([]V, 0, len(p.Items))
	for _, r := range p.Items {
		if r == nil {
			continue
		}
		v, keep, err := convert(r)
		if err != nil {
			return nil, err
		}
		if keep {
			values = append(values, v)
		}
	}
	return values, nil
}
