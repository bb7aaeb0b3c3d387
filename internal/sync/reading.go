package sync

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// Reading is how far reading a stream of listens has come. It is stored as JSON with every page.
type Reading struct {
	// High is the newest play stored that is not dated in the future; zero before the first.
	High time.Time `json:"high,omitzero"`
	// Unread are the spans between plays that have not been read yet, the newest first. One without a start is the
	// history before the first sync.
	Unread []library.Span `json:"unread,omitempty"`
	// Done and Total count the plays of the history: read so far, and all of them as far as the provider says.
	Done  int `json:"done,omitempty"`
	Total int `json:"total,omitempty"`
	// At is when everything but the history had been read last.
	At time.Time `json:"at,omitzero"`
	// Gap is the time before, in which nothing was read; nil when it is not worth telling, or has been told.
	Gap *library.Gap `json:"gap,omitempty"`
}

func parseReading(text string) (Reading, error) {
	var r Reading
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("read stored position: %w", err)
	}
	return r, nil
}

func (r *Reading) String() string {
	b, _ := json.Marshal(r) // times and numbers only
	return string(b)
}

// begin adds the span of what has been played since the newest stored play, to be read first.
func (r *Reading) begin() {
	r.Unread = append([]library.Span{{After: r.High}}, r.Unread...)
}

// took notes a page read now from the span at index i. A play that is dated in the future is read again until its time
// has come: taken for the newest, it would hide all that follow.
func (r *Reading) took(i int, page providers.ListenPage, now time.Time) {
	for j := range page.Listens {
		if at := page.Listens[j].PlayedAt; at.After(r.High) && !at.After(now) {
			r.High = at
		}
	}
	span := &r.Unread[i]
	if isHistory(*span) {
		r.Done += len(page.Listens)
		r.Total = max(r.Total, page.Total, r.Done)
	}
	if !page.Oldest.IsZero() && (span.Before.IsZero() || page.Oldest.Before(span.Before)) {
		// Other plays of that same instant may come on the next page.
		span.Before = page.Oldest.Add(time.Millisecond)
	}
}

// finish removes the span at index i, which has been read to its end.
func (r *Reading) finish(i int) { r.Unread = append(r.Unread[:i:i], r.Unread[i+1:]...) }

// outage is the shortest time without reading that is worth telling.
const outage = time.Hour

// resume notes the gap that a run ends which has begun at now, where loops come by so often.
func (r *Reading) resume(now time.Time, every time.Duration) {
	if r.At.IsZero() || now.Sub(r.At) <= max(outage, 3*every) {
		return
	}
	if r.Gap == nil {
		r.Gap = &library.Gap{From: r.At}
	}
	r.Gap.To = now
}

// lost notes that what was played in a span before an instant is no longer offered.
func (r *Reading) lost(span library.Span, before, now time.Time) {
	if r.Gap == nil {
		r.Gap = &library.Gap{From: span.After}
		if r.At.After(span.After) {
			r.Gap.From = r.At
		}
	}
	r.Gap.To = now
	if before.After(r.Gap.LostTo) {
		r.Gap.LostTo = before
	}
}

// caughtUp ends a gap, which it returns, when all but the history has been read by a run that has begun at now.
func (r *Reading) caughtUp(now time.Time) (ended *library.Gap) {
	if slices.ContainsFunc(r.Unread, func(s library.Span) bool { return !isHistory(s) }) {
		return nil
	}
	r.At, ended, r.Gap = now, r.Gap, nil
	return ended
}

// History says whether some of the history before the first sync is still to be read.
func (r *Reading) History() bool {
	return slices.ContainsFunc(r.Unread, isHistory)
}

func isHistory(s library.Span) bool { return s.After.IsZero() }
