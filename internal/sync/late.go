package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Plays arrive late: a phone that was offline for a weekend reports them on Monday, with their own times. The ordinary
// run reads what was played since the newest known play, and finds only those that are a day late. Two ways find the
// others: a provider that can count its plays is asked how many are older than that day, with every run; and all are
// read once more a month back, once a day.
const (
	// lateness is the lateness that the ordinary run covers; adapters read that much before a span.
	lateness = 24 * time.Hour
	// lookEvery is how often the plays of the last LookBack are read once more.
	lookEvery = 24 * time.Hour
	// LookBack is how late a play may arrive and still be found, where the provider does not count.
	LookBack = 31 * 24 * time.Hour
	// lookPages bounds one such look.
	lookPages = 20
)

// readLate reads what has arrived late, after everything but the history has been read.
func (r *listenRun) readLate(ctx context.Context) error {
	p := &r.position
	if p.High.IsZero() || len(p.Unread) > 0 || r.rd.endsSoon(ctx) {
		return nil
	}
	before := p.String()
	missing, err := r.countLate(ctx)
	if err != nil {
		return err
	}
	span := library.Span{After: p.High.Add(-LookBack), Before: p.High.Add(time.Millisecond)}
	// Where a play's id holds its names, a corrected one would come back as another play: nobody looks back there.
	_, stable := r.source.(providers.PlayCounter)
	due := stable && !p.Looked.IsZero() && r.begun.Sub(p.Looked) >= lookEvery
	if stable && p.Looked.IsZero() { // everything has just been read
		p.Looked = r.begun
	}
	if missing > 0 {
		span = library.Span{After: ledger.Beginning, Before: p.CountedTo.Add(time.Second)}
	}
	if missing > 0 || due {
		if err := r.look(ctx, span, missing); err != nil {
			return err
		}
		p.Looked = r.begun
	}
	if missing > 0 && r.rd.endsSoon(ctx) { // cut off: the next run looks again
		return r.save(ctx, nil)
	}
	if err := r.anchor(ctx, missing > 0); err != nil || p.String() == before {
		return err
	}
	return r.save(ctx, nil)
}

// look reads a span once more, from its newest play on, until so many new listens have been found; 0 for no number.
func (r *listenRun) look(ctx context.Context, span library.Span, missing int) error {
	pages, before := 0, r.added
	for page, err := range ahead(ctx, r.turn, r.source, span) {
		if err != nil {
			return err
		}
		if len(page.Listens) > maxPage {
			return &resilience.ContractError{Endpoint: "plays", What: fmt.Sprintf("a page of %d plays",
				len(page.Listens))}
		}
		if err := r.save(ctx, r.possible(page.Listens)); err != nil {
			return err
		}
		pages++
		if missing > 0 && r.added-before >= missing || pages >= lookPages || r.rd.endsSoon(ctx) {
			return nil
		}
	}
	return nil
}

// countLate returns how many plays have arrived since the last run that the ordinary run does not cover; 0 where the
// provider does not count.
func (r *listenRun) countLate(ctx context.Context) (int, error) {
	counter, ok := r.source.(providers.PlayCounter)
	if !ok || r.position.CountedTo.IsZero() {
		return 0, nil
	}
	n, err := counter.CountPlays(ctx, r.position.CountedTo)
	if errors.Is(err, providers.ErrNotOffered) {
		r.position.CountedTo, r.position.Counted = time.Time{}, 0
		return 0, nil
	}
	return max(n-r.position.Counted, 0), err
}

// anchor counts the plays that the next run does not cover, unless they have just been counted.
func (r *listenRun) anchor(ctx context.Context, changed bool) error {
	to := r.position.High.Add(-lateness)
	counter, ok := r.source.(providers.PlayCounter)
	if !ok || !changed && to.Equal(r.position.CountedTo) {
		return nil
	}
	n, err := counter.CountPlays(ctx, to)
	if errors.Is(err, providers.ErrNotOffered) {
		to, n, err = time.Time{}, 0, nil
	}
	if err == nil {
		r.position.CountedTo, r.position.Counted = to, n
	}
	return err
}
