// Package deliveries answers for what is to be sent to providers and channels, and says in words why it waits.
package deliveries

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	nameStore
	Deliveries(ctx context.Context, f delivery.Filter, before string,
		limit int) (page []delivery.Delivery, next string, err error)
	CountDeliveries(context.Context, delivery.Filter) (map[delivery.State]int, error)
	TallyDeliveries(ctx context.Context, user int64, since time.Time) ([]delivery.Tally, error)
	DeadLetters(context.Context, delivery.Filter) ([]delivery.Group, error)
	DeliveryReasons(ctx context.Context, user int64) ([]words.Text, error)
}

// Handler answers for what is to be sent to providers and channels.
type Handler struct {
	core        *core.Core
	store       Store
	deliveries  *delivery.Deliveries
	connections *syncer.Connections
	names       *Namer
}

// New returns a Handler.
func New(k *core.Core, store Store, d *delivery.Deliveries, connections *syncer.Connections,
	names *Namer) *Handler {
	return &Handler{core: k, store: store, deliveries: d, connections: connections, names: names}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	p := &pages{h}
	g.GET("/deliveries", p.page)
	g.GET("/deliveries/redrive", p.redriveAllPage)
	g.POST("/deliveries/redrive", p.redriveAllForm)
	g.GET("/deliveries/discard", p.discardAllPage)
	g.POST("/deliveries/discard", p.discardAllForm)
	g.POST("/deliveries/:id/redrive", p.redriveForm)
	g.GET("/deliveries/:id/discard", p.discardPage)
	g.POST("/deliveries/:id/discard", p.discardForm)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/deliveries", h.list)
	g.POST("/deliveries/redrive", h.redriveAPI)
	g.POST("/deliveries/discard", h.discardAllAPI)
	g.POST("/deliveries/:id/redrive", h.redriveOneAPI)
	g.DELETE("/deliveries/:id", h.discardAPI)
}

// page returns the page of deliveries that a request selects, and the cursor of the next page.
func (h *Handler) page(c echo.Context, f delivery.Filter) (views []View, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	ctx := c.Request().Context()
	page, next, err := h.store.Deliveries(ctx, f, c.QueryParam("before"), n)
	if err != nil {
		return nil, "", err
	}
	names, err := h.names.For(ctx, f.User, page...)
	return core.ViewAll(page, names.View), next, err
}

// counts returns the number of deliveries in each state, including zeros. It ignores the state in f.
func (h *Handler) counts(ctx context.Context, f delivery.Filter) (map[delivery.State]int, error) {
	f.State = ""
	counts, err := h.store.CountDeliveries(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, state := range delivery.States {
		counts[state] += 0
	}
	return counts, nil
}

// queryFilter reads the filter in a request's query.
func (h *Handler) queryFilter(c echo.Context) (in filter, f delivery.Filter, err error) {
	in = filter{State: c.QueryParam("state"), Provider: c.QueryParam("provider"), Kind: c.QueryParam("kind"),
		Connection: c.QueryParam("connection"),
		Category:   c.QueryParam("category"), Reason: c.QueryParam("reason")}
	f, err = h.selected(c.Request().Context(), core.UserOf(c).ID, in)
	return in, f, err
}

func (h *Handler) list(c echo.Context) error {
	_, f, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	page, next, err := h.page(c, f)
	if err != nil {
		return err
	}
	counts, err := h.counts(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"deliveries": page, "counts": counts, "next": core.Text(next)})
}

// one returns the delivery that a request's path names, and its view.
func (h *Handler) one(c echo.Context) (delivery.Delivery, View, error) {
	var none delivery.Delivery
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return none, View{}, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	page, _, err := h.store.Deliveries(ctx, delivery.Filter{User: user, ID: id}, "", 1)
	if err != nil {
		return none, View{}, err
	}
	if id == 0 || len(page) == 0 {
		return none, View{}, core.NotFound(words.New("problem.not_found.delivery"))
	}
	names, err := h.names.For(ctx, user, page...)
	return page[0], names.View(page[0]), err
}

// conflict returns the refusal of an action on a delivery in a state that does not admit it.
func conflict(title words.Text, state delivery.State) *core.Refusal {
	return &core.Refusal{Status: http.StatusConflict, Title: title, Detail: cannot(state)}
}

// redriveOne makes the delivery that a request's path names due.
func (h *Handler) redriveOne(c echo.Context) (View, error) {
	d, v, err := h.one(c)
	if err != nil {
		return v, err
	}
	if !redrivable(d.State) {
		return v, conflict(words.New("deliveries.problem.not_again"), d.State)
	}
	n, err := h.deliveries.Redrive(c.Request().Context(),
		delivery.Filter{User: d.User, ID: d.ID, Connection: d.Connection}, false)
	if err == nil && n == 0 { // it has started in the meantime
		err = conflict(words.New("deliveries.problem.not_again"), delivery.Running)
	}
	return v, err
}

func (h *Handler) redriveOneAPI(c echo.Context) error {
	if _, err := h.redriveOne(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}

func (h *Handler) discard(c echo.Context) (View, error) {
	d, v, err := h.one(c)
	if err == nil {
		err = mayDiscard(d)
	}
	if err != nil {
		return v, err
	}
	return v, h.deliveries.Discard(c.Request().Context(), d.User, d.ID)
}

func mayDiscard(d delivery.Delivery) error {
	if discardable(d.State) {
		return nil
	}
	return conflict(words.New("deliveries.problem.not_discarded"), d.State)
}

func (h *Handler) discardAPI(c echo.Context) error {
	if _, err := h.discard(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// redriveFilter reads the filter of a re-drive. Without a state and a delivery it selects the dead letters.
func (h *Handler) redriveFilter(ctx context.Context, user int64, in filter) (delivery.Filter, error) {
	if in.State == "" && in.ID == "" {
		in.State = string(delivery.Dead)
	}
	f, err := h.selected(ctx, user, in)
	if err == nil && f.State != "" && !redrivable(f.State) {
		err = &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("deliveries.problem.none_again"),
			Detail: words.New("deliveries.problem.none_again_text")}
	}
	return f, err
}

// selection is the body of a call that is about many deliveries.
type selection struct {
	Filter filter `json:"filter"`
	DryRun bool   `json:"dry_run"`
}

// discardAllAPI discards the dead letters that a filter selects.
func (h *Handler) discardAllAPI(c echo.Context) error {
	in, err := core.Body[selection](c)
	if err != nil {
		return err
	}
	f, err := h.deadFilter(c.Request().Context(), core.UserOf(c).ID, in.Filter)
	if err != nil {
		return err
	}
	n, err := h.deliveries.DiscardDead(c.Request().Context(), f, in.DryRun)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"count": n, "dry_run": in.DryRun})
}

// deadFilter reads a filter that selects dead letters.
func (h *Handler) deadFilter(ctx context.Context, user int64, in filter) (delivery.Filter, error) {
	if in.State == "" {
		in.State = string(delivery.Dead)
	}
	f, err := h.selected(ctx, user, in)
	if err == nil && f.State != delivery.Dead {
		err = &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("deliveries.problem.none_discard"),
			Detail: words.New("deliveries.problem.none_discard_text")}
	}
	return f, err
}

func (h *Handler) redriveAPI(c echo.Context) error {
	in, err := core.Body[selection](c)
	if err != nil {
		return err
	}
	f, err := h.redriveFilter(c.Request().Context(), core.UserOf(c).ID, in.Filter)
	if err != nil {
		return err
	}
	n, err := h.deliveries.Redrive(c.Request().Context(), f, in.DryRun)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"count": n, "dry_run": in.DryRun})
}
