package spotify

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const (
	likedRoute   = "/v1/me/tracks"
	libraryRoute = "/v1/me/library"
	likedPerPage = 50 // the most that Spotify returns
)

// liked is a track among the liked songs.
type liked struct {
	AddedAt time.Time `json:"added_at"`
	Track   *track    `json:"track"`
}

// Loves implements providers.LoveSource with the liked songs. An authorization from before Reprise asked for this
// permission doesn't let them be read.
func (a *adapter) Loves(ctx context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		total := 0
		all := walk(likedPerPage, likedRoute, func(query url.Values, p *page[liked]) error {
			err := a.get(ctx, likedRoute, likedRoute, query, table, p)
			total = p.Total
			if e, _ := errors.AsType[*resilience.AnswerError](err); e != nil && e.Code == insufficientScope {
				return providers.ErrNotOffered
			}
			return err
		}, func(l *liked) (_ library.Love, keep bool, err error) {
			v := library.Love{Score: library.Loved, At: l.AddedAt.UTC()}
			if l.Track != nil { // one that Spotify doesn't offer any more has no name
				t := l.Track.plain()
				v.Title, v.Artist, v.SourceID = t.Title, t.Artist, t.SourceID
			}
			return v, true, nil
		})
		some := false
		for loves, err := range all {
			some = true
			if !yield(providers.LovePage{Loves: loves, Total: total}, err) || err != nil {
				return
			}
		}
		if !some { // an empty list is an answer, too
			yield(providers.LovePage{}, nil)
		}
	}
}

// Love implements providers.LoveTaker: a loved track is a liked song.
func (a *adapter) Love(ctx context.Context, v library.Love) (string, error) {
	method := http.MethodDelete
	if v.Score == library.Loved {
		method = http.MethodPut
	}
	query := url.Values{"uris": {uriOf(v.SourceID)}}
	_, err := a.send(ctx, method, libraryRoute, libraryRoute+"?"+query.Encode(), "", nil, loveTable)
	return v.SourceID, err
}
