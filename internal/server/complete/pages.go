package complete

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page of all sources.
type pageView struct {
	Head  ui.Heading
	Says  []string // what is worth saying, one below the other
	Years []yearView
	Signs []sign // that occur
	Fill  *ui.Action
	Hint  string
}

// yearView is a year of all sources.
type yearView struct {
	ID     string
	Name   string
	Months []string
	Rows   []rowView
}

// rowView is a year of a source.
type rowView struct {
	Name  string
	Cells []cellView
}

// cellView is a month of a source.
type cellView struct {
	State string // empty: not there yet
	Mark  string
	Label string
	URL   string
}

// sign is what a mark means.
type sign struct{ State, Mark, Means string }

// marks are those of the states: none is shown by its colour alone.
var marks = map[ledger.State]string{ledger.Proven: "✓", ledger.Empty: "·", ledger.Live: "●", ledger.Imported: "↓",
	ledger.Part: "◐", ledger.Pending: "○", ledger.Short: "<", ledger.Gone: "−", ledger.Held: "+", ledger.Lost: "!",
	ledger.Unknown: "?"}

func pathOf(conn, month string) string { return "/complete/" + conn + "/" + month }

// monthName returns what people read for a month.
func monthName(ctx context.Context, m library.Month) string {
	if m == library.Before {
		return words.T(ctx, "ledger.before")
	}
	return words.From(ctx).Month(m.Start())
}

// stateWords says what is known of a month, in a few words.
func stateWords(ctx context.Context, s ledger.State) string {
	return words.Each("ledger.state.", string(s)).T(ctx)
}

// Figure says since when a person's history is complete, for the start page; empty if nothing is read, or nothing is
// known yet.
func (h *Handler) Figure(ctx context.Context, user int64) (said string, err error) {
	all, err := h.ledgers(ctx, user)
	if w := ledger.WholeOf(all, time.Now()); err == nil && !w.Since.IsZero() {
		said = wholeWords(ctx, w)
	}
	return said, err
}

// StandIns says, for each of a person's connections that hasn't been read for days, which one its plays come through.
func (h *Handler) StandIns(ctx context.Context, user int64) (map[library.ConnectionID]string, error) {
	stand, err := h.standIns(ctx, user, present)
	if err != nil || len(stand) == 0 {
		return nil, err
	}
	label, err := h.core.Labels(ctx, user)
	said := map[library.ConnectionID]string{}
	for _, in := range stand {
		if err == nil {
			said[in.Connection] = standInWords(ctx, in, label)
		}
	}
	return said, err
}

func standInWords(ctx context.Context, in library.StandIns, label func(library.ConnectionID) string) string {
	return words.T(ctx, "ledger.stand_in", "Name", label(in.Connection), "Other", names(in.By, label), "Since",
		words.Day(in.From), "Count", in.Plays)
}

// names returns what connections are called, in a row.
func names(all []library.ConnectionID, label func(library.ConnectionID) string) string {
	return strings.Join(core.ViewAll(all, label), ", ")
}

// stoodIn says what came through others, source by source: while one isn't read, and of what it has lost.
func stoodIn(ctx context.Context, all []library.StandIns, label func(library.ConnectionID) string) (said []string) {
	lost := map[library.ConnectionID]library.StandIns{}
	for _, in := range all {
		if in.To.IsZero() {
			said = append(said, standInWords(ctx, in, label))
			continue
		}
		sum := lost[in.Connection]
		sum.Plays += in.Plays
		for _, id := range in.By {
			if !slices.Contains(sum.By, id) {
				sum.By = append(sum.By, id)
			}
		}
		lost[in.Connection] = sum
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		said = append(said, words.T(ctx, "ledger.stood_in", "Name", label(id), "Other", names(lost[id].By, label),
			"Count", lost[id].Plays))
	}
	return said
}

// wholeWords says how far back everything is here.
func wholeWords(ctx context.Context, w ledger.Whole) string {
	since := words.New("ledger.day", "Day", words.Day(w.Since))
	if w.Since.Equal(library.MonthOf(w.Since).Start()) {
		since = words.Plain(words.From(ctx).Month(w.Since))
	}
	if w.Until.IsZero() {
		return words.T(ctx, "ledger.since", "Since", since)
	}
	return words.T(ctx, "ledger.until", "Since", since, "Until", words.Day(w.Until))
}

func (h *Handler) page(c echo.Context) error {
	ctx, user, now := c.Request().Context(), core.UserOf(c).ID, time.Now()
	all, err := h.ledgers(ctx, user)
	if err != nil {
		return err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	stand, err := h.standIns(ctx, user, each)
	if err != nil {
		return err
	}
	v := pageView{Head: ui.Heading{Title: words.T(ctx, "ledger.title"), Lead: words.T(ctx, "ledger.nothing"), Back: "/",
		BackTo: words.T(ctx, "status.title")}}
	if len(all) > 0 {
		v.Head.Lead = words.T(ctx, "ledger.not_yet")
		v.years(ctx, all, label, now)
	}
	if w := ledger.WholeOf(all, now); !w.Since.IsZero() {
		v.Head.Lead = wholeWords(ctx, w)
	}
	v.Says = stoodIn(ctx, stand, label)
	v.hint(ctx, all, label, h.imports, now)
	return h.core.Show(c, http.StatusOK, v.Head.Title, page(v))
}

// years adds the years, the latest first, what was before them, and what their marks mean.
func (v *pageView) years(ctx context.Context, all []library.Ledger, label func(library.ConnectionID) string,
	now time.Time) {
	occurs := map[ledger.State]bool{}
	cell := func(l library.Ledger, m library.Month) cellView {
		s := ledger.Judge(l, m, now).State
		occurs[s] = true
		return cellView{State: string(s), Mark: marks[s], URL: pathOf(string(l.Connection), m.String()),
			Label: words.T(ctx, "ledger.cell", "Name", label(l.Connection), "Month", monthName(ctx, m), "State",
				stateWords(ctx, s))}
	}
	first, last := ledger.First(all, now), library.MonthOf(now)
	for year := last.Start().Year(); year >= first.Start().Year(); year-- {
		y := yearView{ID: strconv.Itoa(year), Name: strconv.Itoa(year)}
		begin := library.Month(year * 12)
		for m := begin; m < begin+12; m++ {
			y.Months = append(y.Months, words.From(ctx).ShortMonth(m.Start()))
		}
		for _, l := range all {
			row := rowView{Name: label(l.Connection)}
			for m := begin; m < begin+12; m++ {
				if m > last {
					row.Cells = append(row.Cells, cellView{})
				} else {
					row.Cells = append(row.Cells, cell(l, m))
				}
			}
			y.Rows = append(y.Rows, row)
		}
		v.Years = append(v.Years, y)
	}
	before := yearView{ID: "before", Name: words.T(ctx, "ledger.earlier")}
	for _, l := range all {
		if len(l.Audits) > 0 && ledger.Compared(l) {
			before.Rows = append(before.Rows, rowView{Name: label(l.Connection),
				Cells: []cellView{cell(l, library.Before)}})
		}
	}
	if len(before.Rows) > 0 {
		v.Years = append(v.Years, before)
	}
	for _, s := range ledger.States {
		if occurs[s] {
			v.Signs = append(v.Signs, sign{string(s), marks[s], stateWords(ctx, s)})
		}
	}
}

// hint says what would fill what is not known.
func (v *pageView) hint(ctx context.Context, all []library.Ledger, label func(library.ConnectionID) string,
	imports func(string) bool, now time.Time) {
	for _, l := range all {
		first := ledger.First(all, now)
		lacks := slices.ContainsFunc(months(l, first, now), func(m library.Month) bool {
			s := ledger.Judge(l, m, now).State
			return s == ledger.Unknown || s == ledger.Lost || s == ledger.Part
		})
		if lacks && !l.Kept && imports(l.Connection.Provider()) {
			v.Hint = words.T(ctx, "ledger.fill", "Name", label(l.Connection))
			v.Fill = &ui.Action{Label: words.T(ctx, "ledger.import"), URL: "/imports"}
			return
		}
	}
}

// monthView is the page of a month of a source.
type monthView struct {
	Head    ui.Heading
	Says    []string
	Facts   []ui.Fact
	Actions []ui.Action
	Days    *ui.Grid
}

func (h *Handler) monthPage(c echo.Context) error {
	v, err := h.find(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	title := words.T(ctx, "ledger.month", "Name", v.label, "Month", monthName(ctx, v.month))
	p := monthView{Head: ui.Heading{Title: title, Back: "/complete", BackTo: words.T(ctx, "ledger.title")}}
	stand, err := h.standIns(ctx, user, func(o library.Outage) bool {
		return o.Connection == v.id && slices.ContainsFunc(v.Lost, func(g library.Gap) bool {
			return g.From.Equal(o.From)
		})
	})
	if err != nil {
		return err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	p.proof(ctx, v, stand, label)
	if v.month != library.Before {
		n, err := h.store.CountFound(ctx, library.ListenFilter{User: user, From: v.month.Start(),
			To: v.month.End()})
		if err != nil {
			return err
		}
		p.fact(ctx, "all", n)
	}
	if ledger.Compared(v.of) {
		p.counts(ctx, v)
	}
	return h.core.Show(c, http.StatusOK, title, month(p))
}

func (p *monthView) fact(ctx context.Context, id string, n int) {
	p.Facts = append(p.Facts, ui.Fact{Label: words.Each("ledger.fact.", id).T(ctx),
		Value: ui.Name(words.From(ctx).Number(n))})
}

// proof says what the state is concluded from.
func (p *monthView) proof(ctx context.Context, v named, stand []library.StandIns,
	label func(library.ConnectionID) string) {
	a := v.Audit
	say := func(id string, args ...any) {
		args = append([]any{"Name", v.label}, args...)
		p.Says = append(p.Says, words.Each("ledger.proof.", id, args...).T(ctx))
	}
	switch v.State {
	case ledger.Live:
		say("live", "Since", words.Day(v.of.Since))
	case ledger.Imported:
		say("imported")
	case ledger.Part:
		say("part", "From", words.Day(v.From))
	case ledger.Lost:
		for _, g := range v.Lost {
			say("lost", "From", g.From, "To", g.LostTo)
			for _, in := range stand {
				if in.From.Equal(g.From) {
					say("stood_in", "Count", in.Plays, "Other", names(in.By, label))
				}
			}
		}
	case ledger.Unknown:
		if v.of.Kept && !ledger.Compared(v.of) {
			say("not_asked")
		} else {
			say("unknown")
		}
	case ledger.Pending:
		say("pending")
	case ledger.Proven, ledger.Empty:
		switch {
		case !a.Compared(), len(a.Refused) > 0, a.Short > 0, len(a.Suspect) > len(a.Gone):
		case a.Listed < 0:
			say("counted", "Count", a.Counted)
		default:
			say("listed", "Count", a.Listed)
		}
	}
	for _, part := range []struct {
		id string
		n  int
	}{{"refilled", a.Refilled}, {"renamed", a.Renamed}, {"short", a.Short}, {"gone", len(a.Gone)},
		{"suspect", len(ledger.Without(a.Suspect, a.Gone))}, {"held", len(a.Held)}, {"refused", len(a.Refused)}} {
		if part.n > 0 {
			say(part.id, "Count", part.n)
		}
	}
}

// counts adds what was counted, and what can be done.
func (p *monthView) counts(ctx context.Context, v named) {
	a, at := v.Audit, pathOf(string(v.id), v.month.String())
	if a.Compared() {
		if a.Plays() >= 0 {
			p.fact(ctx, "there", a.Plays())
		}
		p.fact(ctx, "here", a.Here)
		p.Facts = append(p.Facts, ui.Fact{Label: words.T(ctx, "ledger.fact.checked"),
			Value: ui.Time(a.CheckedAt, ui.At)})
	}
	button := func(id, path, decision string) ui.Action {
		do := ui.Action{Label: words.Each("ledger.do.", id).T(ctx), Post: at + path}
		if decision != "" {
			do.Fields = []ui.Hidden{{Name: "decision", Value: decision}}
		}
		return do
	}
	if len(ledger.Undecided(a)) > 0 {
		p.Actions = append(p.Actions, button("keep", "/gone", keep),
			ui.Action{Label: words.T(ctx, "ledger.do.delete"), URL: at + "/gone"})
	}
	if len(a.Held) > 0 {
		p.Actions = append(p.Actions, button("refuse", "/held", refuse))
	}
	if len(a.Held)+len(a.Refused) > 0 {
		p.Actions = append(p.Actions, button("take", "/held", take))
	}
	if comparable(v) {
		p.Actions = append(p.Actions, button("compare", "/compare", ""))
	}
	p.days(ctx, v)
}

// days adds what was counted on each day.
func (p *monthView) days(ctx context.Context, v named) {
	if len(v.Audit.Days) == 0 {
		return
	}
	p.Days = &ui.Grid{Class: "days", Columns: []string{words.T(ctx, "ledger.column.day"),
		words.T(ctx, "ledger.column.there", "Name", v.label), words.T(ctx, "ledger.column.here")}}
	number := words.From(ctx).Number
	for _, d := range v.Audit.Days {
		day := v.month.Start().AddDate(0, 0, d.Day-1)
		p.Days.Rows = append(p.Days.Rows, ui.Line{Cells: []templ.Component{ui.Name(words.From(ctx).ShortDay(day)),
			ui.Name(number(d.There)), ui.Name(number(d.Here))}})
	}
}

// gonePage asks before listens are deleted that a service no longer has.
func (h *Handler) gonePage(c echo.Context) error {
	v, listens, err := h.gone(c)
	if err != nil {
		return err
	}
	ctx, at := c.Request().Context(), pathOf(string(v.id), v.month.String())
	return h.core.Confirm(c, core.Confirmation{
		Title: words.T(ctx, "ledger.delete.title", "Count", len(listens)),
		Lead:  words.T(ctx, "ledger.delete.lead", "Name", v.label), Action: at + "/gone",
		Fields: []core.Field{{Name: "decision", Value: remove}}, Button: words.T(ctx, "ledger.delete.button"),
		Warn: true, Back: at})
}

func (h *Handler) goneForm(c echo.Context) error {
	decision := c.FormValue("decision")
	n, err := h.decideGone(c, decision)
	if err != nil {
		return err
	}
	said := words.New("ledger.kept", "Count", n)
	if decision == remove {
		said = words.New("ledger.deleted", "Count", n)
	}
	return h.core.Done(c, pathOf(c.Param("id"), c.Param("month")), said)
}

func (h *Handler) heldForm(c echo.Context) error {
	if err := h.decideHeld(c, c.FormValue("decision")); err != nil {
		return err
	}
	said := words.New("ledger.refused")
	if c.FormValue("decision") == take {
		said = words.New("ledger.taking")
	}
	return h.core.Done(c, pathOf(c.Param("id"), c.Param("month")), said)
}
