package sync

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// position is how far a stream of listens has been read. It is stored as JSON with every page.
type position struct {
	// High is the newest stored play that is not dated in the future; zero before the first.
	High time.Time `json:"high,omitzero"`
	// Unread are the spans that have not been read yet, the newest first. One without a start is the history before
	// the first sync.
	Unread []library.Span `json:"unread,omitempty"`
	// Done and Total count the plays of the history: those read so far, and all, as far as the provider says.
	Done  int `json:"done,omitempty"`
	Total int `json:"total,omitempty"`
	// At is when everything but the history had been read last.
	At time.Time `json:"at,omitzero"`
	// Gap is the time in which nothing was read; nil if it is too short to report, or has been reported.
	Gap *library.Gap `json:"gap,omitempty"`
	// Counted is how many plays older than CountedTo the provider had, and Looked when the plays of the last month were
	// read once more; see readLate.
	Counted   int       `json:"counted,omitempty"`
	CountedTo time.Time `json:"counted_to,omitzero"`
	Looked    time.Time `json:"looked,omitzero"`
	// Refused are hashes of the ids of plays that were refused, so that a play counts once however often it is read; at
	// most mostRefused.
	Refused []uint32 `json:"refused,omitempty"`
}

// mostRefused is how many refused plays are counted.
const mostRefused = 200

// refuse notes a play that was not stored because its time is impossible, and reports whether it was unknown.
func (p *position) refuse(sourceID string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(sourceID))
	if len(p.Refused) >= mostRefused || slices.Contains(p.Refused, h.Sum32()) {
		return false
	}
	p.Refused = append(p.Refused, h.Sum32())
	return true
}

// note says how many plays were refused, for a person; empty for none.
func (p *position) note() words.Text {
	switch n := len(p.Refused); {
	case n == 0:
		return words.Text{}
	case n < mostRefused:
		return words.New("sync.refused", "Count", n)
	}
	return words.New("sync.refused_more", "Most", mostRefused)
}

func parsePosition(text string) (position, error) {
	var p position
	if text == "" || text == library.NotOffered {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read stored position: %w", err)
	}
	return p, nil
}

func (p *position) String() string {
	b, _ := json.Marshal(p) // times and numbers only
	return string(b)
}

// begin adds the span since the newest stored play, to be read first.
func (p *position) begin() {
	p.Unread = append([]library.Span{{After: p.High}}, p.Unread...)
}

// took notes a page read from the span at index i. A play that is dated in the future does not count as the newest,
// which would hide all that follow; it is read again until its time has come.
func (p *position) took(i int, page providers.ListenPage, now time.Time) {
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
		// The next page may hold other plays of that same instant.
		span.Before = page.Oldest.Add(time.Millisecond)
	}
}

// finish removes the span at index i, which has been read to its end.
func (p *position) finish(i int) { p.Unread = append(p.Unread[:i:i], p.Unread[i+1:]...) }

// outage is the shortest time without reading that is reported.
const outage = time.Hour

// resume notes the gap that a run beginning now ends, if the loop comes by this often.
func (p *position) resume(now time.Time, every time.Duration) {
	if p.At.IsZero() || now.Sub(p.At) <= max(outage, 3*every) {
		return
	}
	if p.Gap == nil {
		p.Gap = &library.Gap{From: p.At}
	}
	p.Gap.To = now
}

// lost notes that plays in a span before an instant are no longer offered.
func (p *position) lost(span library.Span, before, now time.Time) {
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

// caughtUp ends a gap, which it returns, if a run that began at now has read everything but the history.
func (p *position) caughtUp(now time.Time) (ended *library.Gap) {
	if slices.ContainsFunc(p.Unread, func(s library.Span) bool { return !isHistory(s) }) {
		return nil
	}
	p.At, ended, p.Gap = now, p.Gap, nil
	return ended
}

// history reports whether some of the history before the first sync has not been read.
func (p *position) history() bool {
	return slices.ContainsFunc(p.Unread, isHistory)
}

func isHistory(s library.Span) bool { return s.After.IsZero() }
