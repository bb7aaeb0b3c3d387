package lastfm

import (
	"context"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	lovedTracks = "user.getLovedTracks"
	love        = "track.love"
	unlove      = "track.unlove"

	lovesPerPage = 200
)

// lovedBody is one page of loved tracks, reduced to the fields that are used.
type lovedBody struct {
	Loved struct {
		Tracks many[lovedTrack] `json:"track"`
		Attr   struct {
			Pages count `json:"totalPages"`
			Total count `json:"total"`
		} `json:"@attr"`
	} `json:"lovedtracks"`
}

type lovedTrack struct {
	Artist text `json:"artist"`
	Title  text `json:"name"`
	MBID   text `json:"mbid"`
	Date   struct {
		UTS number `json:"uts"` // Unix seconds
	} `json:"date"`
}

func (t *lovedTrack) plain() library.Love {
	v := library.Love{Title: string(t.Title), Artist: string(t.Artist), RecordingMBID: string(t.MBID),
		Score: library.Loved}
	if t.Date.UTS > 0 {
		v.At = time.Unix(int64(t.Date.UTS), 0).UTC()
	}
	return v
}

// Loves implements providers.LoveSource.
func (a *adapter) Loves(ctx context.Context) iter.Seq2[providers.LovePage, error] {
	return func(yield func(providers.LovePage, error) bool) {
		for page, pages := 1, 1; page <= pages; page++ {
			params := url.Values{"user": {a.user}, "limit": {strconv.Itoa(lovesPerPage)}, "page": {strconv.Itoa(page)}}
			var body lovedBody
			err := a.signed(ctx, lovedTracks, params, userTable, &body)
			if err == nil {
				pages = pagesOf(&body)
				if body.Loved.Tracks == nil || len(body.Loved.Tracks) == 0 && page < pages {
					err = providers.Broken(endpoint(lovedTracks), "no list of tracks")
				}
			}
			if err != nil {
				yield(providers.LovePage{}, err)
				return
			}
			p := providers.LovePage{Total: int(body.Loved.Attr.Total)}
			for _, t := range body.Loved.Tracks {
				p.Loves = append(p.Loves, t.plain())
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// pagesOf returns how many pages there are.
func pagesOf(body *lovedBody) int {
	attr := body.Loved.Attr
	return max(int(attr.Pages), (int(attr.Total)+lovesPerPage-1)/lovesPerPage)
}

// loveTable is scrobbleTable for one loved track.
var loveTable = slices.Concat(rows(resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item,
	Scope: resilience.ScopeItem, Advice: words.New("lastfm.track")}, "6", "7"), callTable)

// Love implements providers.LoveTaker.
func (a *adapter) Love(ctx context.Context, v library.Love) (string, error) {
	method := love
	if v.Score != library.Loved {
		method = unlove
	}
	var answer struct{} // says nothing of use
	return "", a.signed(ctx, method, url.Values{"artist": {v.Artist}, "track": {v.Title}}, loveTable, &answer)
}
