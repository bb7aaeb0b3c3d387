package sync

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// Position is how far a stream of listens has been read. It is stored as JSON with every page.
type Position struct {
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

func parsePosition(text string) (Position, error) {
	var p Position
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read stored position: %w", err)
	}
	return p, nil
}

func (p *Position) String() string {
	b, _ := json.Marshal(p) // times and numbers only
	return string(b)
}

// begin adds the span of what has been played since the newest stored play, to be read first.
func (p *Position) begin() {
	p.Unread = append([]library.Span{{After: p.High}}, p.Unread...)
}

// took notes a page read now from the span at index i. A play that is dated in the future is read again until its time
// has come: taken for the newest, it would hide all that follow.
func (p *Position) took(i int, page providers.ListenPage, now time.Time) {
	for j := range page.Listens {
		if at := page.Listens[j].PlayedAt; at.After(p.High) && !at.After(now) {
			p.High = at
		}
	}
	span := &p.Unread[i]
	if isHistory(*span) {
		p.Done += len(page.Listens)
		p.Total = max(p.Total, page.Total, p.Done)
	}
	if !page.Oldest.IsZero() && (span.Before.IsZero() || page.Oldest.Before(span.Before)) {
		// Other plays of that same instant may come on the next page.
		span.Before = page.Oldest.Add(time.Millisecond)
	}
}

// finish removes the span at index i, which has been read to its end.
func (p *Position) finish(i int) { p.Unread = append(p.Unread[:i:i], p.Unread[i+1:]...) }

// outage is the shortest time without reading that is worth telling.
const outage = time.Hour

// resume notes the gap that a run ends which has begun at now, where loops come by so often.
func (p *Position) resume(now time.Time, every time.Duration) {
	if p.At.IsZero() || now.Sub(p.At) <= max(outage, 3*every) {
		return
	}
	if p.Gap == nil {
		p.Gap = &library.Gap{From: p.At}
	}
	p.Gap.To = now
}

// lost notes that what was played in a span before an instant is no longer offered.
func (p *Position) lost(span library.Span, before, now time.Time) {
	if p.Gap == nil {
		p.Gap = &library.Gap{From: span.After}
		if p.At.After(span.After) {
			p.Gap.From = p.At
		}
	}
	p.Gap.To = now
	if before.After(p.Gap.LostTo) {
		p.Gap.LostTo = before
	}
}

// caughtUp ends a gap, which it returns, when all but the history has been read by a run that has begun at now.
func (p *Position) caughtUp(now time.Time) (ended *library.Gap) {
	if slices.ContainsFunc(p.Unread, func(s library.Span) bool { return !isHistory(s) }) {
		return nil
	}
	p.At, ended, p.Gap = now, p.Gap, nil
	return ended
}

// History says whether some of the history before the first sync is still to be read.
func (p *Position) History() bool {
	return slices.ContainsFunc(p.Unread, isHistory)
}

func isHistory(s library.Span) bool { return s.After.IsZero() }
