package sync

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"reprise/internal/providers"
)

// Reading is how far reading a stream of listens has come. It is stored as JSON with every page.
type Reading struct {
	// High is the newest play stored; zero before the first page.
	High time.Time `json:"high,omitzero"`
	// Unread are the spans between plays that have not been read yet, the newest first. One without a start is the
	// history before the first sync.
	Unread []providers.Span `json:"unread,omitempty"`
	// Done and Total count the plays of the history: read so far, and all of them as far as the provider says.
	Done  int `json:"done,omitempty"`
	Total int `json:"total,omitempty"`
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
	r.Unread = append([]providers.Span{{After: r.High}}, r.Unread...)
}

// took notes a page read from the span at index i.
func (r *Reading) took(i int, page providers.ListenPage) {
	for j := range page.Listens {
		if at := page.Listens[j].PlayedAt; at.After(r.High) {
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

// History says whether some of the history before the first sync is still to be read.
func (r *Reading) History() bool {
	return slices.ContainsFunc(r.Unread, isHistory)
}

func isHistory(s providers.Span) bool { return s.After.IsZero() }
