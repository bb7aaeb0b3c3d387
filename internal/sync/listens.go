package sync

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/turns"
)

// listenStore keeps listens and their positions.
type listenStore interface {
	Position(ctx context.Context, user int64, conn library.ConnectionID, stream string) (string, error)
	// SaveListens stores a page and the position after it in one transaction, and returns how many listens are new.
	SaveListens(context.Context, library.Intake) (added int, err error)
	countStore
	auditStore
	alerts.Histories
}

// listenRun is the reading of one connection's listens in one run.
type listenRun struct {
	rd       *reader
	c        library.Connection
	turn     *turns.Turn // of the call that reads
	source   providers.ListenSource
	position position
	begun    time.Time
	gap      *library.Gap // that has ended, and is not stored yet
	added    int          // listens that were new
	history  int          // pages of history still allowed in this run
	looked   int64        // see library.Counted
}

// readListens reads listens, and returns how many were new.
func (rd *reader) readListens(
	ctx context.Context, turn *turns.Turn, c library.Connection, source providers.ListenSource,
) (added int, err error) {
	begun := time.Now()
	text, err := rd.store.Position(ctx, c.User, c.ID, library.Listens)
	if err != nil {
		return 0, err
	}
	r := &listenRun{rd: rd, c: c, turn: turn, source: source, history: rd.opt.now().HistoryPages, begun: begun}
	if r.position, err = parsePosition(text); err != nil {
		return 0, err
	}
	if p := rd.guard.opt.Registry.Get(c.Provider()); p != nil && p.Takes.Library {
		if r.looked, err = rd.store.LastSending(ctx); err != nil {
			return 0, err
		}
	}
	every, _ := rd.habits.rhythm(Key{c.User, c.ID, library.Listens})
	r.position.resume(begun, max(every, rd.opt.now().ListensEvery))
	if !r.position.High.IsZero() || len(r.position.Unread) == 0 {
		r.position.begin()
	}
	for i := 0; i < len(r.position.Unread); {
		finished, err := r.walk(ctx, i)
		if err != nil {
			return r.added, err
		}
		if !finished {
			i++
		}
	}
	if err := r.readLate(ctx); err != nil {
		return r.added, err
	}
	if err := r.audit(ctx); err != nil {
		return r.added, err
	}
	if !slices.ContainsFunc(r.position.Unread, func(span library.Span) bool { return !isHistory(span) }) {
		rd.last.finish(Key{c.User, c.ID, library.Listens}, begun, r.position.history())
	}
	return r.added, nil
}

// walk reads the span at index i from its newest play on, and reports whether it reached the span's end.
func (r *listenRun) walk(ctx context.Context, i int) (finished bool, err error) {
	span := r.position.Unread[i]
	for page, err := range ahead(ctx, r.turn, r.source, span) {
		if err != nil {
			return false, err
		}
		if len(page.Listens) > maxPage {
			return false, &resilience.ContractError{Endpoint: "plays", What: fmt.Sprintf("a page of %d plays",
				len(page.Listens))}
		}
		r.position.took(i, page, time.Now())
		page.Listens = r.possible(page.Listens)
		if page.Lost {
			r.position.lost(span, page.Oldest, r.begun)
		}
		if err := r.saveNew(ctx, page.Listens); err != nil {
			return false, err
		}
		if isHistory(span) {
			if r.history--; r.history <= 0 {
				return false, nil
			}
		}
		if r.rd.endsSoon(ctx) {
			return false, nil // the next run goes on from here
		}
	}
	r.position.finish(i)
	r.gap = r.position.caughtUp(r.begun)
	return true, r.save(ctx, nil)
}

// maxPage is how many plays a page has at most. Adapters ask for 1,000 at most.
const maxPage = 5_000

// possible bounds what the plays of a page say, and leaves out those that cannot have been played then: stored, one
// from the year 3000 would be on top for ever.
func (r *listenRun) possible(page []library.Listen) []library.Listen {
	now := time.Now()
	kept := page[:0:len(page)]
	refused := 0
	for _, l := range page {
		if l.Clean(now) {
			kept = append(kept, l)
		} else if r.position.refuse(l.SourceID) {
			refused++
		}
	}
	r.rd.opt.now().Metrics.Refused(r.c.Provider(), refused)
	return kept
}

// saveNew is save, unless the page is the one that was stored last: most ticks bring nothing. The position after it is
// stored with the end of the span.
func (r *listenRun) saveNew(ctx context.Context, page []library.Listen) error {
	k := Key{r.c.User, r.c.ID, library.Listens}
	sum := fingerprint(r.c.Generation, page)
	if sum == r.rd.last.get(k).page {
		r.rd.opt.now().Metrics.Listens(r.c.Provider(), 0, len(page))
		return nil
	}
	if err := r.save(ctx, page); err != nil {
		return err
	}
	r.rd.last.stored(k, sum)
	return nil
}

var fingerprints = maphash.MakeSeed()

// fingerprint returns a number for what the store looks at to find out whether a page is known. It is not 0.
func fingerprint(generation int64, page []library.Listen) uint64 {
	var h maphash.Hash
	h.SetSeed(fingerprints)
	maphash.WriteComparable(&h, generation)
	for i := range page {
		l := &page[i]
		maphash.WriteComparable(&h, struct {
			id, track string
			at        int64
			plays     int
		}{l.SourceID, l.Track.SourceID, l.PlayedAt.UnixNano(), l.PlayCount})
	}
	return h.Sum64() | 1
}

// save stores a page and the position after it, and tells the browsers.
func (r *listenRun) save(ctx context.Context, page []library.Listen) error {
	hidden, err := r.hidden(ctx, page)
	if err != nil {
		return err
	}
	added, err := r.rd.store.SaveListens(ctx, library.Intake{User: r.c.User, Connection: r.c.ID,
		Generation: r.c.Generation,
		Listens:    append(page[:len(page):len(page)], hidden...), Position: r.position.String(),
		Note: r.position.note(), Gap: r.gap, Looked: r.looked})
	if err != nil {
		return err
	}
	r.added += added
	r.rd.opt.now().Metrics.Listens(r.c.Provider(), added, max(len(page)+len(hidden)-added, 0))
	if r.gap != nil { // the page of the connection tells of it
		if !r.gap.LostTo.IsZero() {
			p := r.rd.guard.opt.Registry.Get(r.c.Provider())
			if err := r.rd.guard.opt.Alerts.Lost(ctx, p, r.c, r.rd.store); err != nil {
				return err
			}
		}
		r.gap = nil
		r.rd.bus.Publish(r.c.User, events.Event{Type: events.Connection, Connection: r.c.ID})
	}
	if added > 0 {
		r.rd.perils.progress(ctx, r.turn, Key{r.c.User, r.c.ID, library.Listens})
		r.rd.bus.Publish(r.c.User, events.Event{Type: events.Listens, Connection: r.c.ID, Done: added})
	}
	if r.position.history() {
		r.rd.bus.Publish(r.c.User, events.Event{Type: events.Progress, Connection: r.c.ID, Stream: library.Listens,
			Done: r.position.Done, Total: r.position.Total})
	}
	return nil
}
