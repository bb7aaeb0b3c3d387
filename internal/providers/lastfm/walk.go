package lastfm

import (
	"math"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// walk goes backwards through a history. Page numbers shift with every new play, so each request asks for the first
// page before the oldest second read so far. That second is included, because a page can end within a second, and
// plays already read are skipped. Only when a whole page lies within that second is the page number increased.
type walk struct {
	from, to int64 // Unix seconds, to is exclusive; 0 for open
	page     int
	border   map[string]bool // SourceIDs already read in the second before to
	last     int64           // the oldest second of the last answer
	deaf     bool            // the server ignores to, so only the page number advances
}

func newWalk(span library.Span) *walk {
	w := &walk{page: 1, last: math.MaxInt64, border: map[string]bool{}}
	if !span.After.IsZero() {
		w.from = max(span.After.Add(-lateness).Unix(), 1)
	}
	if !span.Before.IsZero() {
		w.to = span.Before.Unix() + 1
	}
	return w
}

// take returns the new plays of an answer and whether there may be older ones. It advances the walk.
func (w *walk) take(body *listensBody) (page providers.ListenPage, more bool, err error) {
	rows, usable := body.Recent.Tracks, 0
	page.Listens = make([]library.Listen, 0, len(rows))
	oldest, reached := int64(math.MaxInt64), int64(math.MaxInt64) // of the new plays, and of all
	finished := 0
	for i := range rows {
		r := &rows[i]
		if r.playing() {
			continue
		}
		finished++
		at := int64(r.Date.UTS)
		if at <= 0 {
			continue
		}
		reached = min(reached, at)
		if w.to > 0 && at >= w.to {
			usable++
			w.deaf = w.deaf || at > w.to // to may be inclusive
			continue
		}
		oldest = min(oldest, at)
		if !r.usable() {
			continue
		}
		usable++
		if l := r.plain(); at != w.to-1 || !w.border[l.SourceID] {
			page.Listens = append(page.Listens, l)
		}
	}
	switch {
	case finished == 0:
		return page, false, nil
	case usable == 0:
		return page, false, providers.Broken(endpoint(recentTracks), "plays without a time or a name")
	case w.page > 1 && len(page.Listens) == 0 && reached >= w.last:
		return page, false, providers.Broken(endpoint(recentTracks), "the same page once more")
	}
	more = w.page < int(body.Recent.Attr.Pages) || body.Recent.Attr.Pages == 0 && finished >= listensPerPage
	w.advance(&page, oldest, reached)
	return page, more, nil
}

// advance moves the walk to the page after the one that was just read.
func (w *walk) advance(page *providers.ListenPage, oldest, reached int64) {
	w.last = reached
	w.page++
	if oldest == math.MaxInt64 { // all plays were known
		return
	}
	page.Oldest = time.Unix(oldest, 0).UTC()
	if w.to == 0 || oldest < w.to-1 {
		w.to, w.border = oldest+1, map[string]bool{}
		if !w.deaf {
			w.page = 1
		}
	}
	for i := range page.Listens {
		if l := &page.Listens[i]; l.PlayedAt.Unix() == oldest {
			w.border[l.SourceID] = true
		}
	}
}
