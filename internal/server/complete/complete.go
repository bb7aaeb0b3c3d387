// Package complete shows how complete a person's history is: month by month, what each source has and what of it is
// here, with the proof.
package complete

import (
	"context"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store is what this package reads and keeps.
type Store interface {
	Ledgers(ctx context.Context, user int64) ([]library.Ledger, error)
	Outages(ctx context.Context, user int64) ([]library.Outage, error)
	StandIns(ctx context.Context, user int64, o library.Outage) (library.StandIns, error)
	Reported(ctx context.Context, user int64, conn library.ConnectionID, from, to time.Time) ([]library.Reported, error)
	CountFound(context.Context, library.ListenFilter) (int, error)
	Audit(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) (library.Audit, error)
	DecideGone(ctx context.Context, user int64, conn library.ConnectionID, m library.Month, ids []string) error
	TakeHeld(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error
	RefuseHeld(ctx context.Context, user int64, conn library.ConnectionID, m library.Month) error
	DeleteListens(context.Context, library.Selection) (library.Correction, error)
}

// Comparer has months compared; see sync.Connections.
type Comparer interface {
	Compare(ctx context.Context, user int64, conn library.ConnectionID, month library.Month) error
	// Decided closes the notification if a person has decided about all.
	Decided(ctx context.Context, user int64, conn library.ConnectionID) error
}

// Handler answers for how complete histories are.
type Handler struct {
	core     *core.Core
	store    Store
	comparer Comparer
	imports  func(provider string) bool // whether exports of a provider can be imported
}

// New returns a Handler.
func New(k *core.Core, store Store, comparer Comparer, imports func(provider string) bool) *Handler {
	return &Handler{core: k, store: store, comparer: comparer, imports: imports}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/complete", h.page)
	g.GET("/complete/:id/:month", h.monthPage)
	g.POST("/complete/:id/:month/compare", h.compareForm)
	g.GET("/complete/:id/:month/gone", h.gonePage)
	g.POST("/complete/:id/:month/gone", h.goneForm)
	g.POST("/complete/:id/:month/held", h.heldForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/completeness", h.all, core.Call{
		ID:      "getCompleteness",
		Summary: "How complete your history is, by source and month",
		Answer: "Since when everything is here, and what is known of each month of each connection that is read. " +
			"A month is one of UTC.",
	})
	core.Get(a, "/completeness/{id}/{month}", h.one, core.Call{
		ID:      "getMonthOfSource",
		Summary: "What comparing a month of a connection's history has shown, with its days",
		Answer:  "The month.",
	})
	core.Post(a, "/completeness/{id}/{month}/compare", h.compareAPI, core.Call{
		ID:      "compareMonth",
		Summary: "Compare a month with what the service has, now",
		Description: "The service is read again, within its limits; what was missing is stored. A 'connection' event " +
			"says when that is done. 404 if the history of this connection can't be compared.",
		Answer: "Begun.",
	})
	core.Post(a, "/completeness/{id}/{month}/gone", h.goneAPI, core.Call{
		ID:      "decideAboutGone",
		Summary: "Decide about plays that a service no longer has",
		Answer:  "Done. Deleted listens can be brought back with the correction.",
	})
	core.Post(a, "/completeness/{id}/{month}/held", h.heldAPI, core.Call{
		ID:      "decideAboutHeld",
		Summary: "Decide about plays that a service suddenly has",
		Answer:  "Done. If they are taken, they are read with the next run.",
	})
}

// Completeness is how complete a person's history is.
type Completeness struct {
	Since   core.MaybeTime   `json:"since" doc:"Everything played from then on is here; null while not even the present is."`
	Until   core.MaybeTime   `json:"until" doc:"Until then, because a source is no longer read; null for now."`
	Sources []CompleteSource `json:"sources"`
}

// CompleteSource is a connection that is read.
type CompleteSource struct {
	Connection string         `json:"connection"`
	Name       string         `json:"name"`
	Compared   bool           `json:"compared" doc:"Its whole history can be read, and is compared with what is here."`
	StandIn    string         `json:"stand_in" doc:"The connection through which its plays come meanwhile, because it isn't read; empty for none."`
	Outages    []SourceOutage `json:"outages" doc:"When its plays could come through others only: what was lost, and the time since it was read last. Times in which nothing came are left out; the latest first."`
	Months     []SourceMonth  `json:"months" doc:"The latest first."`
}

// SourceOutage is a time whose plays of a source could come through others only.
type SourceOutage struct {
	From  core.Time      `json:"from"`
	To    core.MaybeTime `json:"to" doc:"When it was read again; null if it still isn't."`
	By    []string       `json:"by" doc:"The connections through which plays came, the one with the most first."`
	Plays int            `json:"plays" minimum:"0" doc:"How many came through them and are not known from the source itself."`
}

// SourceMonth is a month of a source.
type SourceMonth struct {
	Month     string         `json:"month" doc:"As in '2026-11', or 'before' for everything before the first."`
	State     string         `json:"state" enum:"MonthState"`
	There     int            `json:"there" minimum:"-1" doc:"How many plays the service has, as it counts or lists them; -1 if that is unknown."`
	Here      int            `json:"here" minimum:"0" doc:"How many of its plays are here."`
	Refilled  int            `json:"refilled" minimum:"0" doc:"How many of those were missing until a comparison."`
	Renamed   int            `json:"renamed" minimum:"0" doc:"Plays that it lists under another name, or at another time."`
	Short     int            `json:"short" minimum:"0" doc:"Plays that it counts and doesn't list."`
	Gone      int            `json:"gone" minimum:"0" doc:"Plays that it had and has no more; they are kept here."`
	Held      int            `json:"held" minimum:"0" doc:"Plays that it suddenly lists, and that are stored only if you say so."`
	From      core.MaybeTime `json:"from" doc:"Since when the month is here, in the state 'part'."`
	CheckedAt core.MaybeTime `json:"checked_at"`
}

// named is a month that a request names.
type named struct {
	id    library.ConnectionID
	month library.Month
	of    library.Ledger
	label string
	ledger.Cell
}

// ledgers returns what is known of a person's histories.
func (h *Handler) ledgers(ctx context.Context, user int64) ([]library.Ledger, error) {
	all, err := h.store.Ledgers(ctx, user)
	for i := range all {
		p := h.core.Registry.Get(all[i].Connection.Provider())
		all[i].Kept = p != nil && p.Keeps
	}
	return all, err
}

// find returns the month that a request names, or library.ErrNotFound.
func (h *Handler) find(c echo.Context) (v named, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if v.id, _, err = h.core.Connection(c); err != nil {
		return v, err
	}
	month, ok := library.ParseMonth(c.Param("month"))
	if !ok || month > library.MonthOf(time.Now()) {
		return v, library.ErrNotFound
	}
	v.month = month
	all, err := h.ledgers(ctx, user)
	if err != nil {
		return v, err
	}
	i := slices.IndexFunc(all, func(l library.Ledger) bool { return l.Connection == v.id })
	if i < 0 {
		return v, library.ErrNotFound
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return v, err
	}
	v.of, v.label, v.Cell = all[i], label(v.id), ledger.Judge(all[i], month, time.Now())
	if v.Known {
		v.Audit, err = h.store.Audit(ctx, user, v.id, month) // with its days
	}
	return v, err
}

func viewMonth(m library.Month, c ledger.Cell) SourceMonth {
	a := c.Audit
	v := SourceMonth{Month: m.String(), State: string(c.State), There: -1, Here: a.Here, Refilled: a.Refilled,
		Renamed: a.Renamed, Short: a.Short, Gone: len(a.Gone), Held: len(a.Held), From: core.Moment(c.From),
		CheckedAt: core.Moment(a.CheckedAt)}
	if a.Compared() {
		v.There = a.Plays()
	}
	return v
}

// months returns the months of a history that are shown, the latest first: back to the first month that any history
// tells of, and everything before where it can be compared.
func months(l library.Ledger, first library.Month, now time.Time) (all []library.Month) {
	for m := library.MonthOf(now); m >= first; m-- {
		all = append(all, m)
	}
	if ledger.Compared(l) {
		all = append(all, library.Before)
	}
	return all
}

// mostOutages is of how many outages, the latest ones, plays are counted at once.
const mostOutages = 24

// standIns returns the plays that came through others when a source couldn't be read, of some outages, the latest
// first.
func (h *Handler) standIns(ctx context.Context, user int64, some func(library.Outage) bool) (found []library.StandIns,
	err error) {
	all, err := h.store.Outages(ctx, user)
	if err != nil {
		return nil, err
	}
	left := mostOutages
	for _, o := range all {
		if !some(o) {
			continue
		}
		if left--; left < 0 {
			break
		}
		in, err := h.store.StandIns(ctx, user, o)
		if err != nil {
			return nil, err
		}
		if in.Plays > 0 {
			found = append(found, in)
		}
	}
	return found, nil
}

// each and present are some outages: all of them, and those of sources that aren't read now.
func each(library.Outage) bool      { return true }
func present(o library.Outage) bool { return o.To.IsZero() }

func (h *Handler) all(c echo.Context, _ *core.None) (out Completeness, _ error) {
	ctx, user, now := c.Request().Context(), core.UserOf(c).ID, time.Now()
	all, err := h.ledgers(ctx, user)
	if err != nil {
		return out, err
	}
	stand, err := h.standIns(ctx, user, each)
	if err != nil {
		return out, err
	}
	label, err := h.core.Labels(ctx, user)
	whole, first := ledger.WholeOf(all, now), ledger.First(all, now)
	out = Completeness{Since: core.Moment(whole.Since), Until: core.Moment(whole.Until), Sources: []CompleteSource{}}
	for _, l := range all {
		s := CompleteSource{Connection: string(l.Connection), Name: label(l.Connection), Compared: ledger.Compared(l),
			Outages: []SourceOutage{}, Months: []SourceMonth{}}
		for _, in := range stand {
			if in.Connection != l.Connection {
				continue
			}
			o := SourceOutage{From: core.Stamp(in.From), To: core.Moment(in.To), Plays: in.Plays,
				By: core.ViewAll(in.By, func(id library.ConnectionID) string { return string(id) })}
			if in.To.IsZero() {
				s.StandIn = o.By[0]
			}
			s.Outages = append(s.Outages, o)
		}
		for _, m := range months(l, first, now) {
			s.Months = append(s.Months, viewMonth(m, ledger.Judge(l, m, now)))
		}
		out.Sources = append(out.Sources, s)
	}
	return out, err
}

// OfMonth names a month of a connection.
type OfMonth struct {
	core.ConnectionID
	Month string `path:"month" pattern:"^([0-9]{4}-[0-9]{2}|before)$"`
}

// MonthWithDays is a month with its days.
type MonthWithDays struct {
	SourceMonth
	Days []SourceDay `json:"days" doc:"Of the latest reading; days without plays are left out."`
}

// SourceDay is a day of a month.
type SourceDay struct {
	Day   int `json:"day" minimum:"1" maximum:"31"`
	There int `json:"there" minimum:"0" doc:"Plays that the service listed."`
	Here  int `json:"here" minimum:"0" doc:"Plays that are here as its."`
}

func (h *Handler) one(c echo.Context, _ *OfMonth) (out MonthWithDays, _ error) {
	v, err := h.find(c)
	out = MonthWithDays{SourceMonth: viewMonth(v.month, v.Cell), Days: core.ViewAll(v.Audit.Days,
		func(d library.DayCount) SourceDay { return SourceDay(d) })}
	return out, err
}

type compareRequest struct {
	OfMonth
	core.IdempotencyKey
}

func (h *Handler) compareAPI(c echo.Context, _ *compareRequest) (out core.None, _ error) {
	return out, h.compare(c)
}

func (h *Handler) compare(c echo.Context) error {
	v, err := h.find(c)
	if err != nil {
		return err
	}
	if !comparable(v) {
		return library.ErrNotFound
	}
	return h.comparer.Compare(c.Request().Context(), core.UserOf(c).ID, v.id, v.month)
}

// comparable reports whether a month can be compared now.
func comparable(v named) bool { return v.Known && v.month <= ledger.Latest(time.Now()) }

func (h *Handler) compareForm(c echo.Context) error {
	if err := h.compare(c); err != nil {
		return err
	}
	return h.core.Done(c, pathOf(c.Param("id"), c.Param("month")), words.New("ledger.comparing"))
}
