package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/events"
	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// auditStore keeps what comparing histories with what is here has shown.
type auditStore interface {
	// Audits returns those of a connection, the latest month first, with all months until now.
	Audits(ctx context.Context, user int64, conn library.ConnectionID, now library.Month) ([]library.Audit, error)
	// SaveAudit stores one, unless the connection has changed since. What its person has decided meanwhile stays.
	SaveAudit(context.Context, library.Connection, library.Audit) error
	// FailAudit notes that comparing a month has failed.
	FailAudit(context.Context, library.Connection, library.Month) error
	// NoAudits notes that the server keeps no history.
	NoAudits(context.Context, library.Connection) error
	// Reported returns the plays of a time that the connection has reported.
	Reported(ctx context.Context, user int64, conn library.ConnectionID, from, to time.Time) ([]library.Reported, error)
	// KnownPlays returns which of some ids the connection has reported.
	KnownPlays(ctx context.Context, user int64, conn library.ConnectionID, ids []string) (map[string]bool, error)
	// ZoneOf returns the time zone in which a person reads, the server's if they have chosen none.
	ZoneOf(ctx context.Context, user int64) (*time.Location, error)
}

// auditPages is how many pages of a month are read at most: tens of thousands of plays.
const auditPages = 200

// audit compares a month of the history with what is here, if one is due. All that was played has been read before, so
// trouble with an old month is no trouble of the stream.
func (r *listenRun) audit(ctx context.Context) error {
	source, ok := r.source.(providers.Historian)
	k := Key{r.c.User, r.c.ID, library.Listens}
	read := !r.position.High.IsZero() && len(r.position.Unread) == 0
	if !ok || !r.rd.opt.now().Audits || !read || r.rd.endsSoon(ctx) || r.begun.Before(r.rd.last.get(k).audit) {
		return nil
	}
	p := r.rd.guard.opt.Registry.Get(r.c.Provider())
	if p == nil || !p.Keeps {
		return nil
	}
	now := time.Now()
	all, err := r.rd.store.Audits(ctx, r.c.User, r.c.ID, library.MonthOf(now))
	if err != nil {
		return err
	}
	zone, err := r.rd.store.ZoneOf(ctx, r.c.User)
	if err != nil {
		return err
	}
	a, due, ask := ledger.Next(all, now, zone)
	if !due {
		r.rd.last.audited(k, ask)
		return nil
	}
	v := &audit{listenRun: r, source: source, Audit: a, now: now}
	v.from, v.to = ledger.Bounds(all, a.Month, now)
	if late := now.Add(-ledger.Lateness).Truncate(time.Second); v.to.After(late) {
		v.to = late
	}
	err = v.compare(ctx)
	switch {
	case errors.Is(err, providers.ErrNotOffered):
		err = r.rd.store.NoAudits(ctx, r.c)
	case err == nil:
		v.CheckedAt = now
		err = r.rd.store.SaveAudit(ctx, r.c, v.Audit)
	case errors.Is(err, errCutOff), ofMonth(err):
		r.rd.guard.opt.Log.Debug("a month can't be compared", "provider", r.c.Provider(), "month", a.Month.String(),
			"err", err)
		err = r.rd.store.FailAudit(ctx, r.c, a.Month)
	}
	if err != nil {
		return err
	}
	r.rd.bus.Publish(r.c.User, events.Event{Type: events.Connection, Connection: r.c.ID})
	return r.rd.guard.opt.Alerts.History(ctx, p, r.c, r.rd.store)
}

// ofMonth reports whether an error may concern one month only. A fault of the service may; a refused sign-in, a rate
// limit, or the end of the program does not.
func ofMonth(err error) bool {
	switch v := resilience.VerdictOf(err); v.Category {
	case resilience.Upstream, resilience.Contract, resilience.Item, resilience.Unknown:
		return v.Failed()
	}
	return false
}

// errCutOff says that there is no time to read a month to its end.
var errCutOff = errors.New("no time for a whole month")

// audit is one comparison.
type audit struct {
	*listenRun
	library.Audit
	source        providers.Historian
	now, from, to time.Time
}

// compare counts, and unless that proves the month, reads it and stores what was missing.
func (v *audit) compare(ctx context.Context) error {
	count, err := v.source.CountBetween(ctx, v.from, v.to)
	if err != nil {
		return err
	}
	here, err := v.rd.store.Reported(ctx, v.c.User, v.c.ID, v.from, v.to)
	if err != nil {
		return err
	}
	same := count == len(here) && len(v.Suspect) == 0 && len(v.Gone) == 0
	asBefore := v.Listed >= 0 && count == v.Counted && len(here) == v.Here && len(v.Suspect) == len(v.Gone) &&
		(v.Short == 0 || v.Tries > 1)
	switch {
	case v.Wanted || count < 0:
	case same:
		v.Counted, v.Listed, v.Here, v.Short, v.Tries, v.Renamed = count, -1, count, 0, 0, 0
		v.Held, v.Days = nil, nil
		return nil
	case asBefore:
		if v.Short > 0 {
			v.Tries++
		}
		return nil
	}
	there, around, err := v.list(ctx)
	if err != nil {
		return err
	}
	v.Counted, v.Listed = count, len(there)
	return v.settle(ctx, there, here, count > around)
}

// settle compares what the service lists with what it has reported before, and stores what is missing. Where the
// service counts more than it lists, its list proves nothing.
func (v *audit) settle(ctx context.Context, there []library.Listen, here []library.Reported, cut bool) error {
	ids := make([]string, len(there))
	for i := range there {
		ids[i] = there[i].SourceID
	}
	known, err := v.rd.store.KnownPlays(ctx, v.c.User, v.c.ID, ids)
	if err != nil {
		return err
	}
	d := ledger.Compare(there, here, known)
	missing := slices.DeleteFunc(d.Missing, func(l library.Listen) bool {
		_, refused := slices.BinarySearch(v.Refused, l.SourceID)
		return refused
	})
	v.Held = nil
	if ledger.Sudden(v.Audit, len(missing)) {
		for _, l := range missing {
			v.Held = append(v.Held, l.SourceID)
		}
		slices.Sort(v.Held)
		missing = nil
	}
	before := v.added
	for chunk := range slices.Chunk(v.possible(missing), maxPage) {
		if err := v.save(ctx, chunk); err != nil {
			return err
		}
	}
	v.Refilled += v.added - before
	if len(missing) > 0 {
		if here, err = v.rd.store.Reported(ctx, v.c.User, v.c.ID, v.from, v.to); err != nil {
			return err
		}
	}
	v.Here, v.Renamed, v.Days = len(here), d.Renamed, ledger.Days(there, here, v.Month)
	v.Short = 0
	if cut {
		v.Short = max(v.Counted-max(v.Here, v.Listed), 0)
	} else {
		ledger.Suspects(&v.Audit, d.Gone, v.now)
	}
	if v.Tries++; v.Short == 0 {
		v.Tries = 0
	}
	return nil
}

// list returns the plays that the service lists for the month, and the number of them together with those of the
// second before it and the second after it, which the service may count too.
func (v *audit) list(ctx context.Context) (there []library.Listen, around int, err error) {
	pages := 0
	span := library.Span{After: v.from.Add(-time.Second), Before: v.to}
	for page, err := range ahead(ctx, v.turn, v.source, span) {
		if err != nil {
			return nil, 0, err
		}
		if pages++; pages > auditPages || len(page.Listens) > maxPage {
			return nil, 0, &resilience.ContractError{Endpoint: "plays",
				What: fmt.Sprintf("more than %d pages", auditPages)}
		}
		for _, l := range page.Listens {
			if at := l.PlayedAt; !at.Before(v.from) && at.Before(v.to) {
				there = append(there, l)
			} else if !at.Before(v.from.Add(-time.Second)) && !at.After(v.to) {
				around++
			}
		}
		if v.rd.endsSoon(ctx) {
			return nil, 0, errCutOff
		}
	}
	return there, around + len(there), nil
}
