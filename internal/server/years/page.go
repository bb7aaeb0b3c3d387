package years

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageOf returns the address of the page of a year.
func pageOf(year int) string { return "/listening/years/" + strconv.Itoa(year) }

// pageView is a person's page of a year.
type pageView struct {
	yearView
	Year  string
	Next  []ui.Action // if nothing was heard
	Share shareView
}

// shareView is the part of the page with the link.
type shareView struct {
	On      bool
	Said    string // what it shows
	Address string // of the link; empty where it is not known
	Boxes   []ui.Field
	Since   library.Share
}

// linkPage leads those who reload the answer to the form of the link, or copy its address, to the link.
func (h *Handler) linkPage(c echo.Context) error {
	year, err := yearOf(c, time.Now().In(core.Zone(c)))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, pageOf(year)+"#share")
}

// page answers with the page of a year.
func (h *Handler) page(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := pageView{yearView: s.view(ctx, everything(), true), Year: strconv.Itoa(s.year)}
	if v.Empty != "" {
		v.Next = []ui.Action{{Label: words.T(ctx, "year.others"), URL: "/listening/years", Main: true}}
		return h.core.Show(c, http.StatusOK, v.Title, yearPage(v))
	}
	if err := h.pictures(ctx, &v.yearView); err != nil {
		return err
	}
	if v.From, err = h.sources(c, s); err != nil {
		return err
	}
	v.Card = cardOf(s.year, everything())
	v.Card.Alt, v.Card.Theme = s.contentOf(ctx, everything(), reviews.Look{}).About, core.UserOf(c).Theme
	if v.Share, err = h.shared(c, s.year); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Title, yearPage(v))
}

// storyPage answers with a year that shows one thing on each screen.
func (h *Handler) storyPage(c echo.Context) error {
	s, err := h.requested(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := s.view(ctx, everything(), true)
	if v.Empty != "" {
		return c.Redirect(http.StatusSeeOther, pageOf(s.year))
	}
	if err := h.pictures(ctx, &v); err != nil {
		return err
	}
	return h.core.ShowAlone(c, v.Title, screens(v, pageOf(s.year)))
}

// pictures fills in the pictures of the rows and the prizes.
func (h *Handler) pictures(ctx context.Context, v *yearView) error {
	lists := make([][]reviews.Row, len(v.Lists))
	for i, list := range v.Lists {
		lists[i] = list.Rows
	}
	if err := reviews.Picture(ctx, h.rows, lists...); err != nil {
		return err
	}
	return h.picture(ctx, v.Prizes)
}

// picture fills in the pictures of the prizes.
func (h *Handler) picture(ctx context.Context, prizes []prize) error {
	rows := core.ViewAll(prizes, func(p prize) reviews.Row { return p.Row })
	err := reviews.Picture(ctx, h.rows, rows)
	for i, r := range rows {
		prizes[i].Picture = r.Picture
	}
	return err
}

// sources returns how much of the year each source reported; nothing if there is only one.
func (h *Handler) sources(c echo.Context, s story) (all []sourceView, err error) {
	ctx := c.Request().Context()
	if len(s.Found.Sources) < 2 {
		return nil, nil
	}
	label, err := h.core.Labels(ctx, core.UserOf(c).ID)
	if err != nil {
		return nil, err
	}
	for _, one := range s.Found.Sources {
		all = append(all, sourceView{label(one.Connection), words.T(ctx, "year.reported", "Count", one.Listens,
			"Percent", one.Listens*100/s.Found.Totals.Listens, "Only", words.From(ctx).Number(one.Only))})
	}
	return all, nil
}

// shared returns the part of the page about the link.
func (h *Handler) shared(c echo.Context, year int) (v shareView, err error) {
	ctx := c.Request().Context()
	show := showing([]string{numbers, artists})
	v.Since, err = h.store.Share(ctx, core.UserOf(c).ID, library.ShareYear, strconv.Itoa(year))
	switch {
	case err == nil:
		v.On, show = true, showing(v.Since.Parts)
		v.Said, v.Address = show.labels(ctx), h.address(v.Since.Code)
	case !errors.Is(err, library.ErrNotFound):
		return v, err
	}
	for _, name := range parts {
		v.Boxes = append(v.Boxes, ui.Field{Name: name, Type: "checkbox", Checked: show[name],
			Label: words.Each("year.part.", name).T(ctx)})
	}
	return v, nil
}

// list shows the years that have listens.
func (h *Handler) list(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := h.all(c)
	if err != nil {
		return err
	}
	highest := 1
	for _, y := range all {
		highest = max(highest, y.Listens)
	}
	rows := core.ViewAll(all, func(y counted) ui.Item {
		return ui.Item{Title: ui.Named{Text: strconv.Itoa(y.Year), URL: pageOf(y.Year)},
			Aside: reviews.Bar(words.From(ctx).Number(y.Listens), words.T(ctx, "listening.count", "Count", y.Listens),
				y.Listens*100/highest)}
	})
	return h.core.Show(c, http.StatusOK, words.T(ctx, "year.years"), yearsPage(rows))
}

// monthBars returns the chart of the months, each named with its top artist.
func monthBars(ctx context.Context, all []monthView) ui.Bars {
	b := ui.Bars{ID: "months", Label: words.T(ctx, "year.months")}
	for _, m := range all {
		c := ui.Column{Title: ui.WithColon(ctx, m.Month) + m.Said, URL: m.URL, N: m.Listens, Height: m.Part}
		if m.Leader != "" {
			c.Title += " · " + m.Leader + ", " + m.Note
		}
		b.All, b.Axis = append(b.All, c), append(b.Axis, m.Short)
	}
	return b
}
