package listenbrainz

import (
	"math"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// walk goes backwards through a history. max_ts is exclusive and in seconds, and a page can end within a second. So
// each page begins with the last second of the page before, and listens already read are skipped. Only when a whole
// page lies within one second does the walk step over it, because asking again would return the same page.
type walk struct {
	count  int      // asked for per page
	maxTS  int64    // of the next page, in Unix seconds; 0 for the newest
	border []string // SourceIDs already read in the second before maxTS
}

// page returns the new listens of body and whether there may be older ones. It advances the walk.
func (w *walk) page(body *listensBody) (page providers.ListenPage, more bool) {
	all := body.Payload.Listens
	page.Listens = make([]library.Listen, 0, len(all))
	oldest, newest := int64(math.MaxInt64), int64(0)
	for i := range all {
		l := &all[i]
		if !l.usable() || w.maxTS > 0 && l.ListenedAt >= w.maxTS { // a server may ignore max_ts
			continue
		}
		oldest, newest = min(oldest, l.ListenedAt), max(newest, l.ListenedAt)
		v := l.plain()
		if l.ListenedAt != w.maxTS-1 || !slices.Contains(w.border, v.SourceID) {
			page.Listens = append(page.Listens, v)
		}
	}
	if newest == 0 {
		return page, false
	}
	page.Oldest = time.Unix(oldest, 0).UTC()
	w.border = w.border[:0]
	if oldest == newest {
		w.maxTS = oldest
		page.Oldest = page.Oldest.Add(-time.Millisecond) // so that a later run steps over it too
	} else {
		w.maxTS = oldest + 1
		for i := range page.Listens {
			if v := &page.Listens[i]; v.PlayedAt.Unix() == oldest {
				w.border = append(w.border, v.SourceID)
			}
		}
	}
	ended := len(all) < w.count && body.Payload.Oldest > 0 && oldest <= body.Payload.Oldest
	return page, !ended
}
