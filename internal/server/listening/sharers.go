package listening

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// sharersView is the list of people with whom the reader can compare, and the two ways to compare with somebody who has
// a Reprise of their own.
type sharersView struct {
	People []ui.Entry
	Next   []ui.Action // where there are none
	Paste  ui.Form
	Links  ui.Grid // of the reader's own links; no rows for none
	Make   ui.Form

	// What was typed into the two forms, and what is wrong with it.
	Link, LinkProblem string
	Name, NameProblem string
	Days              string
}

// sharers lists the people with whom the reader can compare.
func (h *Handler) sharers(c echo.Context) error {
	return h.showSharers(c, http.StatusOK, sharersView{})
}

func (h *Handler) showSharers(c echo.Context, status int, v sharersView) error {
	ctx, me := c.Request().Context(), core.UserOf(c)
	all, err := h.store.Sharers(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(u accounts.User) bool { return u.ID == me.ID })
	v.People = core.ViewAll(all, func(u accounts.User) ui.Entry {
		a := asked{hour: -1, day: -1, owner: u, other: true, Question: listening.Question{Now: time.Now()}}
		return ui.Entry{Label: words.T(ctx, "common.title", "Person", u.Name),
			URL: a.common(listening.Span{Name: listening.All})}
	})
	apart, err := h.store.Comparisons(ctx, me.ID)
	if err != nil {
		return err
	}
	for _, one := range apart {
		v.People = append(v.People, entryOf(ctx, one))
	}
	if !me.SharesListening {
		v.Next = append(v.Next, ui.Action{Label: words.T(ctx, "common.share"), URL: "/settings/account#sharing",
			Main: true})
	}
	if household, err := h.household(ctx); err != nil {
		return err
	} else if !household && me.Role == accounts.Admin {
		v.Next = []ui.Action{{Label: words.T(ctx, "common.invite"), URL: "/settings/people", Main: true}}
	}
	v.Next = append(v.Next, ui.Action{Label: words.T(ctx, "common.paste"), URL: "#paste"})
	links, err := h.store.Shares(ctx, me.ID, library.ShareCompare)
	if err != nil {
		return err
	}
	v.Links = linkTable(ctx, links, time.Now())
	v.forms(ctx)
	return h.core.Show(c, status, words.T(ctx, "common.heading"), sharers(v))
}

// entryOf returns the entry of somebody with a Reprise of their own.
func entryOf(ctx context.Context, one library.Comparison) ui.Entry {
	lead := words.T(ctx, "common.on", "Host", one.Host)
	if p := problemOf(one, time.Now()); p != "" {
		lead = p.Text(one.Host).T(ctx)
	}
	return ui.Entry{Label: words.T(ctx, "common.title", "Person", one.Name), URL: apartPath(one.ID), Lead: lead}
}

// linkTable returns the reader's own links as a table.
func linkTable(ctx context.Context, all []library.Share, now time.Time) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "common.link.person"), words.T(ctx, "program.used"),
		words.T(ctx, "program.expires"), words.T(ctx, "program.action")}}
	for _, s := range all {
		id := "link-" + strconv.FormatInt(s.ID, 10)
		expires := ui.Time(s.ExpiresAt, ui.Date)
		if s.Expired(now) {
			expires = ui.Say(words.T(ctx, "program.expired"))
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Labelled(id, s.Name),
			ui.TimeOr(s.UsedAt, ui.Ago, words.T(ctx, "program.never")),
			expires,
			ui.Button(ui.Action{Label: words.T(ctx, "common.link.open"), URL: linkPath(s.ID), DescribedBy: id}),
		}})
	}
	return g
}

// linkDays are the days after which a link can expire.
var linkDays = []int{30, 90, 365}

// forms fills in the two forms.
func (v *sharersView) forms(ctx context.Context) {
	v.Paste = ui.Form{ID: "paste-form", Post: commonPath + "/apart", Submit: words.T(ctx, "common.compare"),
		Main: len(v.People) == 0, Fields: []ui.Field{{Name: "link", Label: words.T(ctx, "common.link.label"),
			Value: v.Link, Problem: v.LinkProblem, Required: true, Exact: true, Autocomplete: "off",
			MaxLength: strconv.Itoa(longestLink), Placeholder: "https://reprise.example.org/compare/…"}}}
	days := ui.Field{Name: "days", ID: "link-days", Label: words.T(ctx, "common.link.days"), Value: v.Days}
	if days.Value == "" {
		days.Value = "90"
	}
	for _, n := range linkDays {
		days.Options = append(days.Options, ui.Option{Value: strconv.Itoa(n),
			Label: words.Each("program.days.", strconv.Itoa(n)).T(ctx)})
	}
	v.Make = ui.Form{ID: "link-form", Post: commonPath + "/links", Submit: words.T(ctx, "common.link.make"),
		Fields: []ui.Field{{Name: "name", ID: "link-name", Label: words.T(ctx, "common.link.person"), Value: v.Name,
			Problem: v.NameProblem, Help: words.T(ctx, "common.link.person_help"), MaxLength: strconv.Itoa(longestName),
			Autocomplete: "off", Required: true}, days}}
}
