package youtube

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const (
	channelsRoute  = "/channels"
	playlistsRoute = "/playlists"
	itemsRoute     = "/playlistItems"
	videosRoute    = "/videos"

	perPage  = 50  // the maximum of rows per call
	maxPages = 400 // per listing; far more than YouTube's longest
)

// privatePrivacy is what YouTube says of a playlist or video that only its owner sees.
const privatePrivacy = "private"

// The playlist of liked videos: YouTube's id, and its name on YouTube's pages.
const (
	likedID   = "LL"
	likedName = "Liked videos"
)

// page is one page of a listing. Rows may be null.
type page[R any] struct {
	ETag     string `json:"etag"`
	Next     string `json:"nextPageToken"`
	Items    []*R   `json:"items"`
	PageInfo *struct {
		Total int `json:"totalResults"`
	} `json:"pageInfo"`
}

// empty reports whether the listing has no rows. The list of rows may be missing then.
func (p *page[R]) empty() bool {
	return len(p.Items) == 0 && p.PageInfo != nil && p.PageInfo.Total == 0
}

func (p *page[R]) total() int {
	if p.PageInfo == nil {
		return 0
	}
	return p.PageInfo.Total
}

type playlist struct {
	ID      string `json:"id"`
	ETag    string `json:"etag"`
	Snippet struct {
		Title string `json:"title"`
	} `json:"snippet"`
	ContentDetails struct {
		Count int `json:"itemCount"`
	} `json:"contentDetails"`
	Status struct {
		Privacy string `json:"privacyStatus"` // private, public or unlisted
	} `json:"status"`
}

// place is one position of a playlist.
type place struct {
	Snippet struct {
		Title     string    `json:"title"`
		Owner     string    `json:"videoOwnerChannelTitle"` // missing for deleted and private videos
		Published time.Time `json:"publishedAt"`            // when it was put there
	} `json:"snippet"`
	ContentDetails struct {
		Video string `json:"videoId"`
	} `json:"contentDetails"`
	Status struct {
		Privacy string `json:"privacyStatus"` // of the video
	} `json:"status"`
}

// Playlists implements providers.PlaylistSource. The liked videos are the last.
func (a *adapter) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		query := url.Values{"part": {"snippet,contentDetails,status"}, "mine": {"true"},
			"maxResults": {strconv.Itoa(perPage)}}
		pages, err := walk[playlist](ctx, a, listing{route: playlistsRoute, query: query, remember: true})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range pages {
			lists, err := a.convert(p)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(lists) > 0 && !yield(lists, nil) {
				return
			}
		}
		liked, err := a.liked(ctx)
		if err != nil || liked != nil {
			yield(liked, err)
		}
	}
}

func (a *adapter) convert(p *page[playlist]) ([]library.Playlist, error) {
	lists := make([]library.Playlist, 0, len(p.Items))
	for _, l := range p.Items {
		if l == nil {
			continue
		}
		if l.ID == "" || l.Snippet.Title == "" {
			return nil, providers.Broken(endpoint(playlistsRoute), "a playlist without an id or a title")
		}
		a.known.keepPrivate(l.ID, l.Status.Privacy == privatePrivacy)
		lists = append(lists, library.Playlist{SourceID: l.ID, Name: l.Snippet.Title, Snapshot: snapshot(l.ID, l.ETag),
			TrackCount: l.ContentDetails.Count})
	}
	return lists, nil
}

// liked returns the playlist of liked videos, or none when the account has none.
func (a *adapter) liked(ctx context.Context) ([]library.Playlist, error) {
	p, err := fetch[place](ctx, a, listing{route: itemsRoute, query: itemsQuery(likedID), remember: true})
	if noLikes(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []library.Playlist{{SourceID: likedID, Name: likedName, Snapshot: snapshot(likedID, p.ETag),
		TrackCount: p.total()}}, nil
}

// noLikes reports whether an error means that the account has no liked videos.
func noLikes(err error) bool {
	missing := []string{"playlistNotFound", "playlistItemsNotAccessible", "watchLaterNotAccessible"}
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && slices.Contains(missing, e.Code)
}

// snapshot combines the list's ETag and the day. YouTube does not guarantee a new ETag when only the order changes, so
// every list is read again once a day, each at its own hour.
func snapshot(id, etag string) string {
	if etag == "" {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // cannot fail
	const day = 24 * 60 * 60
	return etag + "/" + strconv.FormatInt((time.Now().Unix()+int64(h.Sum32()%day))/day, 10)
}

func itemsQuery(id string) url.Values {
	return url.Values{"part": {"snippet,contentDetails,status"}, "playlistId": {id},
		"maxResults": {strconv.Itoa(perPage)}}
}

// Tracks implements providers.PlaylistSource. Deleted and private videos keep their places as tracks that are gone.
// The lengths are those of [adapter.Videos].
func (a *adapter) Tracks(
	ctx context.Context, l library.Playlist, _ providers.LeaveOut,
) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		public := l.SourceID != likedID && !a.known.private(l.SourceID)
		pages, err := walk[place](ctx, a, listing{route: itemsRoute, query: itemsQuery(l.SourceID), public: public})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range pages {
			tracks, err := tracksOf(p)
			if !yield(tracks, err) || err != nil {
				return
			}
		}
	}
}

func tracksOf(p *page[place]) ([]library.Track, error) {
	tracks := make([]library.Track, 0, len(p.Items))
	for _, r := range p.Items {
		switch {
		case r == nil:
			continue
		case r.ContentDetails.Video == "":
			return nil, providers.Broken(endpoint(itemsRoute), "a place without a video")
		}
		t := library.Track{Title: r.Snippet.Title} // of what is gone no more than "Deleted video"
		switch {
		case r.Snippet.Owner != "":
			t = nameOf(r.Snippet.Title, r.Snippet.Owner)
		case r.Status.Privacy == privatePrivacy:
			t.Gone = library.VideoPrivate
		default:
			t.Gone = library.VideoDeleted
		}
		t.SourceID = r.ContentDetails.Video
		tracks = append(tracks, t)
	}
	return tracks, nil
}

// listing is a list that is read page by page.
type listing struct {
	route    string
	query    url.Values
	remember bool // an unchanged page comes from memory
	public   bool // anybody may see it, as far as is known
}

// walk reads a whole listing. When YouTube rejects a page token, it starts again, once.
func walk[R any](ctx context.Context, a *adapter, l listing) ([]*page[R], error) {
	pages, err := walkOnce[R](ctx, a, l)
	if tokenRejected(err) {
		l.remember = false
		return walkOnce[R](ctx, a, l)
	}
	return pages, err
}

func walkOnce[R any](ctx context.Context, a *adapter, l listing) (pages []*page[R], err error) {
	l.query.Del("pageToken")
	for len(pages) < maxPages {
		p, err := fetch[R](ctx, a, l)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
		if p.Next == "" {
			return pages, nil
		}
		l.query.Set("pageToken", p.Next)
	}
	return nil, providers.Broken(endpoint(l.route), "a listing without an end")
}

// fetch reads one page.
func fetch[R any](ctx context.Context, a *adapter, l listing) (*page[R], error) {
	key, old := "", remembered{}
	if l.remember && a.owner != "" {
		key = a.owner + l.route + "?" + l.query.Encode()
		old = a.known.page(key)
	}
	p := &page[R]{}
	get := a.getPublic
	if !l.public {
		get = a.getOwn
	}
	unchanged, err := get(ctx, l.route, l.query, old.etag, p)
	switch {
	case err != nil:
		return nil, err
	case unchanged:
		return old.page.(*page[R]), nil
	case p.Items == nil && !p.empty(), len(p.Items) == 0 && p.Next != "":
		return nil, providers.Broken(endpoint(l.route), "a listing without items")
	case p.total() < 0:
		return nil, providers.Broken(endpoint(l.route), "a total below 0")
	}
	if key != "" && p.ETag != "" {
		a.known.keepPage(key, remembered{p.ETag, p})
	}
	return p, nil
}
