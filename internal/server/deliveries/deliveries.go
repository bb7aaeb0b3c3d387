// Package deliveries answers for what is to be sent to providers and channels, and says in words why it waits.
package deliveries

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
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
func (h *Handler) API(a *core.API) {
	core.Get(a, "/deliveries", h.list, core.Call{
		ID:      "listDeliveries",
		Summary: "What Reprise sends to providers or has sent lately, newest first",
		Answer:  "A page of deliveries.",
	})
	core.Post(a, "/deliveries/redrive", h.redriveAPI, core.Call{
		ID:       "redriveDeliveries",
		Optional: true,
		Summary:  "Make dead or retrying deliveries due now",
		Answer:   "How many there are.",
		Refusals: map[int]string{
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Post(a, "/deliveries/discard", h.discardAllAPI, core.Call{
		ID:       "discardDeliveries",
		Optional: true,
		Summary:  "Discard dead letters; their contents stay in Reprise",
		Answer:   "How many there are.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Post(a, "/deliveries/{id}/redrive", h.redriveOneAPI, core.Call{
		ID:      "redriveDelivery",
		Summary: "Make one dead or retrying delivery due now",
		Answer:  "It is due now.",
		Status:  http.StatusAccepted,
		Refusals: map[int]string{
			http.StatusConflict:        "",
			http.StatusTooManyRequests: "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Delete(a, "/deliveries/{id}", h.discardAPI, core.Call{
		ID:       "discardDelivery",
		Summary:  "Discard a delivery that is neither running nor done; its contents stay in Reprise",
		Answer:   "Discarded.",
		Refusals: map[int]string{http.StatusConflict: ""},
	})
}

// page returns the page of deliveries that a request selects, and the cursor of the next page.
func (h *Handler) page(c echo.Context, f delivery.Filter) (views []Delivery, next string, err error) {
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

type listDeliveriesRequest struct {
	core.Paged
	State      string `query:"state" enum:"DeliveryState"`
	Provider   string `query:"provider" doc:"One, or a kind of channels."`
	Connection string `query:"connection" doc:"One, by its id."`
	Kind       string `query:"kind" enum:"DeliveryKind"`
	Category   string `query:"category" doc:"Of the latest failure."`
	Reason     string `query:"reason" doc:"Of the latest failure: its 'reason_id', or its sentence exactly, in any language."`
}

// stateCounts are how many deliveries are in each state.
type stateCounts map[delivery.State]int

// Schema implements huma.SchemaProvider.
func (stateCounts) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}}
	for _, state := range delivery.States {
		s.Properties[string(state)] = &huma.Schema{Type: huma.TypeInteger}
		s.Required = append(s.Required, string(state))
	}
	return s
}

type listDeliveriesAnswer struct {
	Deliveries []Delivery  `json:"deliveries"`
	Counts     stateCounts `json:"counts" doc:"By state, of everything that the rest of the filter selects."`
	Next       *string     `json:"next" doc:"Cursor of the next page; null at the end."`
}

func (h *Handler) list(c echo.Context, _ *listDeliveriesRequest) (out listDeliveriesAnswer, _ error) {
	_, f, err := h.queryFilter(c)
	if err != nil {
		return out, err
	}
	page, next, err := h.page(c, f)
	if err != nil {
		return out, err
	}
	counts, err := h.counts(c.Request().Context(), f)
	if err != nil {
		return out, err
	}
	return listDeliveriesAnswer{Deliveries: page, Counts: stateCounts(counts), Next: core.Text(next)}, nil
}

// one returns the delivery that a request's path names, and its view.
func (h *Handler) one(c echo.Context) (delivery.Delivery, Delivery, error) {
	var none delivery.Delivery
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return none, Delivery{}, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	page, _, err := h.store.Deliveries(ctx, delivery.Filter{User: user, ID: id}, "", 1)
	if err != nil {
		return none, Delivery{}, err
	}
	if id == 0 || len(page) == 0 {
		return none, Delivery{}, core.NotFound(words.New("problem.not_found.delivery"))
	}
	names, err := h.names.For(ctx, user, page...)
	return page[0], names.View(page[0]), err
}

// conflict returns the refusal of an action on a delivery in a state that does not admit it.
func conflict(title words.Text, state delivery.State) *core.Refusal {
	return &core.Refusal{Status: http.StatusConflict, Title: title, Detail: cannot(state)}
}

// redriveOne makes the delivery that a request's path names due.
func (h *Handler) redriveOne(c echo.Context) (Delivery, error) {
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

func (h *Handler) redriveOneAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.redriveOne(c)
	return out, err
}

func (h *Handler) discard(c echo.Context) (Delivery, error) {
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

func (h *Handler) discardAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.discard(c)
	return out, err
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
	Filter filter `json:"filter" required:"false" doc:"Which ones; without a state and an id, the dead letters."`
	DryRun bool   `json:"dry_run" required:"false" doc:"Only count them."`
}

type discardDeliveriesRequest struct {
	Body selection
}

type discardDeliveriesAnswer struct {
	Count  int  `json:"count" minimum:"0"`
	DryRun bool `json:"dry_run"`
}

// discardAllAPI discards the dead letters that a filter selects.
func (h *Handler) discardAllAPI(c echo.Context, in *discardDeliveriesRequest) (out discardDeliveriesAnswer, _ error) {
	body := in.Body
	f, err := h.deadFilter(c.Request().Context(), core.UserOf(c).ID, body.Filter)
	if err != nil {
		return out, err
	}
	n, err := h.deliveries.DiscardDead(c.Request().Context(), f, body.DryRun)
	if err != nil {
		return out, err
	}
	return discardDeliveriesAnswer{Count: n, DryRun: body.DryRun}, nil
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

type redriveDeliveriesRequest struct {
	Body selection
}

type redriveDeliveriesAnswer struct {
	Count  int  `json:"count" minimum:"0"`
	DryRun bool `json:"dry_run"`
}

func (h *Handler) redriveAPI(c echo.Context, in *redriveDeliveriesRequest) (out redriveDeliveriesAnswer, _ error) {
	body := in.Body
	f, err := h.redriveFilter(c.Request().Context(), core.UserOf(c).ID, body.Filter)
	if err != nil {
		return out, err
	}
	n, err := h.deliveries.Redrive(c.Request().Context(), f, body.DryRun)
	if err != nil {
		return out, err
	}
	return redriveDeliveriesAnswer{Count: n, DryRun: body.DryRun}, nil
}
