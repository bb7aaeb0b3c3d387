package deliveries

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pages are the pages of deliveries.
type pages struct{ *Handler }

// page shows everything in groups, or what a query selects one by one.
func (h *pages) page(c echo.Context) error {
	if c.Request().URL.RawQuery == "" {
		return h.overviewPage(c)
	}
	return h.listPage(c)
}

// ask shows a page that asks first.
func (h *pages) ask(c echo.Context, d ui.Dialog) error {
	return h.core.Show(c, http.StatusOK, d.Title, ui.Ask(d))
}

func (h *pages) redriveAllPage(c echo.Context) error {
	in, f, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, err := h.deliveries.Redrive(ctx, f, true)
	if err != nil {
		return err
	}
	back := in.address("/deliveries", "list", "all")
	if n == 0 {
		return h.core.Done(c, back, words.New("deliveries.ask.none_again"))
	}
	counts, err := h.store.CountDeliveries(ctx, f)
	if err != nil {
		return err
	}
	return h.ask(c, askAgain(ctx, in, n, counts))
}

// askAgain asks whether n deliveries go out again.
func askAgain(ctx context.Context, in filter, n int, counts map[delivery.State]int) ui.Dialog {
	d := ui.Dialog{Title: words.T(ctx, "deliveries.ask.again", "Count", n),
		Lead: words.T(ctx, "deliveries.ask.again_lead"), Back: in.address("/deliveries", "list", "all"),
		Do: ui.Action{Label: words.T(ctx, "deliveries.again"), Post: "/deliveries/redrive", Main: true,
			Fields: in.fields()}}
	if n := counts[delivery.Dead]; n > 0 {
		d.Facts = append(d.Facts, words.T(ctx, "deliveries.ask.dead", "Count", n))
	}
	if n := counts[delivery.Retrying]; n > 0 {
		d.Facts = append(d.Facts, words.T(ctx, "deliveries.ask.retrying", "Count", n))
	}
	return d
}

func (h *pages) redriveAllForm(c echo.Context) error {
	in, err := core.Filled[filter](c)
	if err != nil {
		return err
	}
	f, err := h.selected(c.Request().Context(), core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	n, err := h.deliveries.Redrive(c.Request().Context(), f, false)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", words.New("deliveries.done.again", "Count", n))
}

func (h *pages) redriveForm(c echo.Context) error {
	v, err := h.redriveOne(c)
	if p, ok := errors.AsType[*core.Refusal](err); ok && p.Status == http.StatusConflict {
		return h.core.Done(c, h.core.CameFrom(c), words.New("deliveries.done.not", "What", v.Subject,
			"Why", cannot(delivery.State(v.State))))
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, h.core.CameFrom(c), words.New("deliveries.done.again_one", "What", v.Subject))
}

// cannot says why a delivery in a state is neither sent again nor discarded. One that could be has just started.
func cannot(state delivery.State) words.Text {
	switch state {
	case delivery.Done:
		return words.New("deliveries.cannot.done")
	case delivery.Scheduled:
		return words.New("deliveries.cannot.scheduled")
	case delivery.Parked:
		return words.New("deliveries.cannot.parked")
	}
	return words.New("deliveries.cannot.running")
}

func (h *pages) discardPage(c echo.Context) error {
	d, v, err := h.one(c)
	if err != nil {
		return err
	}
	back := h.core.CameFrom(c)
	if !strings.HasPrefix(back, "/deliveries") && !strings.HasPrefix(back, "/settings/notifications") {
		back = "/deliveries"
	}
	if !discardable(d.State) {
		return h.core.Done(c, back, words.New("deliveries.done.not", "What", v.Subject, "Why", cannot(d.State)))
	}
	ctx := c.Request().Context()
	names, err := h.names.For(ctx, d.User, d)
	if err != nil {
		return err
	}
	return h.ask(c, ui.Dialog{Title: words.T(ctx, "deliveries.ask.discard_one"), Lead: names.loss(d).T(ctx),
		Facts: []string{v.Subject}, Back: back,
		Do: ui.Action{Label: words.T(ctx, "deliveries.discard"), Post: "/deliveries/" + v.ID + "/discard", Warn: true,
			Fields: []ui.Hidden{{Name: "back", Value: back}}}})
}

// loss says what is lost if a delivery is discarded.
func (n Names) loss(d delivery.Delivery) words.Text {
	to := n.place(d.Connection)
	switch d.Kind {
	case delivery.Notify:
		return words.New("deliveries.loss.messages", "Name", to)
	case delivery.WritePlaylist:
		return words.New("deliveries.loss.playlist", "Name", to)
	case delivery.WriteLoves:
		return words.New("deliveries.loss.loves", "Name", to)
	case delivery.Archive:
		return words.New("deliveries.loss.month")
	case delivery.DeleteListens:
		return words.New("deliveries.loss.deletions", "Count", d.Items, "Name", to)
	}
	return words.New("deliveries.loss.listens", "Count", d.Items, "Name", to)
}

func (h *pages) discardForm(c echo.Context) error {
	v, err := h.discard(c)
	if p, ok := errors.AsType[*core.Refusal](err); ok && p.Status == http.StatusConflict {
		return h.core.Done(c, "/deliveries", words.New("deliveries.done.not", "What", v.Subject,
			"Why", cannot(delivery.State(v.State))))
	}
	if err != nil {
		return err
	}
	back := core.LocalPath(c.FormValue("back"))
	return h.core.Done(c, back, words.New("deliveries.done.discarded_one", "What", v.Subject))
}

func (h *pages) discardAllPage(c echo.Context) error {
	in, _, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	f, err := h.deadFilter(c.Request().Context(), core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, err := h.deliveries.DiscardDead(ctx, f, true)
	if err != nil {
		return err
	}
	if n == 0 {
		return h.core.Done(c, "/deliveries", words.New("deliveries.ask.none_discard"))
	}
	d := ui.Dialog{Title: words.T(ctx, "deliveries.ask.discard", "Count", n),
		Lead: words.T(ctx, "deliveries.ask.discard_lead"), Back: "/deliveries",
		Do: ui.Action{Label: words.T(ctx, "deliveries.discard"), Post: "/deliveries/discard", Warn: true,
			Fields: in.fields()}}
	if in.Reason != "" {
		d.Facts = []string{in.Reason}
	}
	return h.ask(c, d)
}

func (h *pages) discardAllForm(c echo.Context) error {
	in, err := core.Filled[filter](c)
	if err != nil {
		return err
	}
	f, err := h.deadFilter(c.Request().Context(), core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	n, err := h.deliveries.DiscardDead(c.Request().Context(), f, false)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", words.New("deliveries.done.discarded", "Count", n))
}
