package sync

import (
	"context"
	"fmt"
	"time"

	"reprise/internal/library"
)

// countStore knows what providers that only count plays have told, and what explains it.
type countStore interface {
	// PlayCounts returns what was counted of these tracks when they were read last, by track id.
	PlayCounts(ctx context.Context, user int64, conn library.ConnectionID,
		tracks []string) (map[string]library.Counted, error)
	// LastSending returns the number of the latest sending, or of the latest end of one.
	LastSending(context.Context) (int64, error)
	// Evidence returns what explains the grown counts of songs at the account of a connection: one for each song.
	Evidence(context.Context, library.Connection, []library.Grown) ([]library.Evidence, error)
}

// The limits of plays that are only counted: of a page, and how closely they can have followed each other.
const (
	maxHidden = 5_000
	minPlayed = 10 * time.Second
)

// hidden returns the plays that a page only counts. Where a provider has only the last play of each track and their
// number, a number that grew by more than one hides plays at unknown times, unless they are known anyway.
func (r *listenRun) hidden(ctx context.Context, page []library.Listen) ([]library.Listen, error) {
	var tracks []string
	for i := range page {
		if page[i].PlayCount > 0 {
			tracks = append(tracks, page[i].Track.SourceID)
		}
	}
	if len(tracks) == 0 {
		return nil, nil
	}
	known, err := r.rd.store.PlayCounts(ctx, r.c.User, r.c.ID, tracks)
	if err != nil {
		return nil, err
	}
	var grown []library.Grown
	var now []library.Listen
	for _, l := range page {
		before, ok := known[l.Track.SourceID]
		if ok && l.PlayCount-before.Plays > 1 {
			window := library.Window(l.Duration, 0)
			now = append(now, l)
			grown = append(grown, library.Grown{Track: l.Track, From: before.PlayedAt.Add(-window),
				To: l.PlayedAt.Add(window)})
		}
	}
	if len(grown) == 0 {
		return nil, nil
	}
	all, err := r.rd.store.Evidence(ctx, r.c, grown)
	if err != nil {
		return nil, err
	}
	var hidden []library.Listen
	for i, l := range now {
		before := known[l.Track.SourceID]
		missed := surplus(before, l, all[i])
		missed = min(missed, maxHidden-len(hidden), int(l.PlayedAt.Sub(before.PlayedAt)/minPlayed))
		step := l.PlayedAt.Sub(before.PlayedAt) / time.Duration(max(missed, 0)+1)
		for n := range max(missed, 0) {
			guess := l
			guess.Approximate = true
			guess.PlayedAt = before.PlayedAt.Add(step * time.Duration(n+1))
			guess.SourceID = fmt.Sprintf("%s#%d", l.Track.SourceID, before.Plays+1+n)
			hidden = append(hidden, guess)
		}
	}
	return hidden, nil
}

// surplus returns how many plays of a song a count tells of that nothing explains, when it was before and is now that
// of the play now. Whatever may be a play that is known counts as one, because a play that is missing does less harm
// than one that never was.
func surplus(before library.Counted, now library.Listen, e library.Evidence) int {
	explained, last := 0, false
	explain := func(at time.Time) {
		explained++
		last = last || now.PlayedAt.Sub(at).Abs() <= library.Window(now.Duration, 0)
	}
	sent := map[int64]bool{}
	for _, s := range e.Sent { // each attempt may have arrived
		sent[s.Listen] = true
		if s.Ended == 0 || s.Ended > before.Looked { // else it was counted before
			explain(s.PlayedAt)
		}
	}
	for _, h := range e.Held {
		counted := h.There && !h.PlayedAt.After(before.PlayedAt)
		if !sent[h.Listen] && !h.Waiting && !counted {
			explain(h.PlayedAt)
		}
	}
	if !last { // the last play is a listen by itself
		explained++
	}
	return max(now.PlayCount-before.Plays-explained, 0)
}
