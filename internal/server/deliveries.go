package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/resilience"
)

// deliveryFilter is a filter as it stands in an address, a form or a call.
type deliveryFilter struct {
	State    string `json:"state" query:"state" form:"state"`
	Provider string `json:"provider" query:"provider" form:"provider"`
	Kind     string `json:"kind" query:"kind" form:"kind"`
	Category string `json:"category" query:"category" form:"category"`
	ID       string `json:"id"`
}

// filter reads a filter, and refuses names that mean nothing.
func (s *Server) filter(user int64, in deliveryFilter) (f delivery.Filter, err error) {
	f = delivery.Filter{User: user, State: delivery.State(in.State), Provider: in.Provider, Kind: in.Kind, Category: in.Category}
	var states, names, categories []string
	for _, state := range delivery.States {
		states = append(states, string(state))
	}
	for _, p := range s.Registry.All() {
		if !p.Takes.Nothing() {
			names = append(names, p.Name)
		}
	}
	for _, k := range channels.Kinds() {
		names = append(names, k.Name)
	}
	for c := resilience.Auth; c <= resilience.Unknown; c++ {
		categories = append(categories, c.String())
	}
	for _, part := range []struct {
		name, value string
		known       []string
	}{{"state", in.State, states}, {"provider", in.Provider, names}, {"kind", in.Kind, delivery.Kinds}, {"category", in.Category, categories}} {
		if part.value != "" && !slices.Contains(part.known, part.value) {
			return f, &problem{Status: http.StatusBadRequest, Title: "Not a " + part.name,
				Detail: fmt.Sprintf("There is no %s %q of deliveries here. What there is: %s.", part.name, part.value, strings.Join(part.known, ", "))}
		}
	}
	if in.ID != "" {
		f.ID, err = number(in.ID)
	}
	return f, err
}

// deliveries returns a page of what a request's address picks, and the cursor of the next.
func (s *Server) deliveries(c echo.Context, f delivery.Filter) (views []deliveryView, next string, err error) {
	n, err := limit(c)
	if err != nil {
		return nil, "", err
	}
	ctx := c.Request().Context()
	page, next, err := s.Store.Deliveries(ctx, f, c.QueryParam("before"), n)
	if err != nil {
		return nil, "", err
	}
	names, err := s.namesFor(ctx, f.User, page...)
	return viewAll(page, names.view), next, err
}

// counts counts what a filter picks by state, whatever state it names, with a zero for states without any.
func (s *Server) counts(ctx context.Context, f delivery.Filter) (map[delivery.State]int, error) {
	f.State = ""
	counts, err := s.Store.CountDeliveries(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, state := range delivery.States {
		counts[state] += 0
	}
	return counts, nil
}

// queryFilter reads the filter of a request's address.
func (s *Server) queryFilter(c echo.Context) (in deliveryFilter, f delivery.Filter, err error) {
	in = deliveryFilter{State: c.QueryParam("state"), Provider: c.QueryParam("provider"), Kind: c.QueryParam("kind"), Category: c.QueryParam("category")}
	f, err = s.filter(userOf(c).ID, in)
	return in, f, err
}

func (s *Server) deliveriesAPI(c echo.Context) error {
	_, f, err := s.queryFilter(c)
	if err != nil {
		return err
	}
	page, next, err := s.deliveries(c, f)
	if err != nil {
		return err
	}
	counts, err := s.counts(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"deliveries": page, "counts": counts, "next": knownText(next)})
}

// delivery returns the delivery that a request's address names, and its view.
func (s *Server) delivery(c echo.Context) (delivery.Delivery, deliveryView, error) {
	var none delivery.Delivery
	id, err := number(c.Param("id"))
	if err != nil {
		return none, deliveryView{}, err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	page, _, err := s.Store.Deliveries(ctx, delivery.Filter{User: user, ID: id}, "", 1)
	if err != nil {
		return none, deliveryView{}, err
	}
	if id == 0 || len(page) == 0 {
		return none, deliveryView{}, &problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no such delivery in your account, or no more."}
	}
	names, err := s.namesFor(ctx, user, page...)
	return page[0], names.view(page[0]), err
}

// Why something cannot be done with a delivery in its state.
var cannotRedrive = map[delivery.State]string{
	delivery.Scheduled: "It has not been attempted yet, and goes out by itself.",
	delivery.Running:   "It is going out at this moment.",
	delivery.Parked:    "It is parked, and goes out by itself once its connection works again.",
	delivery.Done:      "It has been carried already.",
}

var cannotDiscard = map[delivery.State]string{
	delivery.Running: "It is going out at this moment. Try again when this attempt has ended.",
	delivery.Done:    "It has been carried already, so there is nothing to discard.",
}

// redriveOne makes the delivery that a request's address names due.
func (s *Server) redriveOne(c echo.Context) (deliveryView, error) {
	d, v, err := s.delivery(c)
	if err != nil {
		return v, err
	}
	if !redrivable(d.State) {
		return v, &problem{Status: http.StatusConflict, Title: "Not re-driven", Detail: cannotRedrive[d.State]}
	}
	n, err := s.Deliveries.Redrive(c.Request().Context(), delivery.Filter{User: d.User, ID: d.ID, Provider: d.Provider}, false)
	if err == nil && n == 0 { // it was faster
		err = &problem{Status: http.StatusConflict, Title: "Not re-driven", Detail: cannotRedrive[delivery.Running]}
	}
	return v, err
}

func (s *Server) redriveOneAPI(c echo.Context) error {
	if _, err := s.redriveOne(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}

func (s *Server) discard(c echo.Context) (deliveryView, error) {
	d, v, err := s.delivery(c)
	if err == nil {
		err = mayDiscard(d)
	}
	if err != nil {
		return v, err
	}
	return v, s.Deliveries.Discard(c.Request().Context(), d.User, d.ID)
}

func mayDiscard(d delivery.Delivery) error {
	if discardable(d.State) {
		return nil
	}
	return &problem{Status: http.StatusConflict, Title: "Not discarded", Detail: cannotDiscard[d.State]}
}

func (s *Server) discardAPI(c echo.Context) error {
	if _, err := s.discard(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// redriveFilter reads the filter of a re-drive. Where it names neither a state nor a delivery, it means the dead letters.
func (s *Server) redriveFilter(user int64, in deliveryFilter) (delivery.Filter, error) {
	if in.State == "" && in.ID == "" {
		in.State = string(delivery.Dead)
	}
	f, err := s.filter(user, in)
	if err == nil && f.State != "" && !redrivable(f.State) {
		err = &problem{Status: http.StatusUnprocessableEntity, Title: "Nothing to re-drive", Detail: "Only what is dead or retrying can be re-driven. " + cannotRedrive[f.State]}
	}
	return f, err
}

func (s *Server) redriveAPI(c echo.Context) error {
	in, err := body[struct {
		Filter deliveryFilter `json:"filter"`
		DryRun bool           `json:"dry_run"`
	}](c)
	if err != nil {
		return err
	}
	f, err := s.redriveFilter(userOf(c).ID, in.Filter)
	if err != nil {
		return err
	}
	n, err := s.Deliveries.Redrive(c.Request().Context(), f, in.DryRun)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"count": n, "dry_run": in.DryRun})
}
