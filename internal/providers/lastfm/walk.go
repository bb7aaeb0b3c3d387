package lastfm

import (
	"math"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// walk goes backwards through a history. A page's number shifts with every new play, so each page is the first one of
// what was played before the page that was read last. It begins with the last second of that one, without what that
// one held, because a page can end within a second; only where a whole page is of that second, its number is counted
// up.
type walk struct {
	from, to int64 // Unix seconds, to is exclusive; 0 for open
	page     int
	border   map[string]bool // SourceIDs that have been read in the second before to
	last     int64           // the oldest second of the last answer
	deaf     bool            // the server does not heed to, so only the page's number leads on
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

// take is what an answer adds, and whether there can be more before it. It advances the walk.
func (w *walk) take(body *listensBody) (page providers.ListenPage, more bool, err error) {
	rows, usable := body.Recent.Tracks, 0
	page.Listens = make([]library.Listen, 0, len(rows))
	oldest, reached := int64(math.MaxInt64), int64(math.MaxInt64) // of what was not read before, and of all
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
			w.deaf = w.deaf || at > w.to // at the bound itself it may mean "until" and not "before"
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
		return page, false, broken(recentTracks, "plays without a time or a name")
	case w.page > 1 && len(page.Listens) == 0 && reached >= w.last:
		return page, false, broken(recentTracks, "the same page once more")
	}
	more = w.page < int(body.Recent.Attr.Pages) || body.Recent.Attr.Pages == 0 && finished >= listensPerPage
	w.advance(&page, oldest, reached)
	return page, more, nil
}

// advance moves the walk to the page after the one that was just read.
func (w *walk) advance(page *providers.ListenPage, oldest, reached int64) {
	w.last = reached
	w.page++
	if oldest == math.MaxInt64 { // all of it was known
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
