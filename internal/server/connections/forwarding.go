package connections

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	"reprise/web"
)

// forwarding answers for the forwarding of listens to a provider.
type forwarding struct {
	core       *core.Core
	store      Store
	statuses   *Statuses
	deliveries *delivery.Deliveries
	names      *deliveries.Namer
}

// forwardingView is what became of a person's listens on their way to a provider.
type forwardingView struct {
	Enabled        bool    `json:"enabled"`
	EarlierListens int     `json:"earlier_listens"` // that are here, not there, and on no way
	Sent           int     `json:"sent"`
	Waiting        int     `json:"waiting"`
	Parked         int     `json:"parked"`
	Refused        int     `json:"refused"`
	There          int     `json:"there"`
	NextAttemptAt  *string `json:"next_attempt_at"`
}

// taker returns the provider that a request's address names, if listens can be forwarded there and it is connected.
func (h *forwarding) taker(c echo.Context) (*providers.Provider, error) {
	p, err := h.core.Provider(c)
	if err != nil {
		return nil, err
	}
	if p.Takes.Listens == "" {
		return nil, delivery.ErrNotTaken
	}
	_, err = h.statuses.Status(c.Request().Context(), core.UserOf(c).ID, p.Name)
	return p, err
}

func (h *forwarding) view(ctx context.Context, user int64, p *providers.Provider) (forwardingView, error) {
	var v forwardingView
	rules, err := h.store.ForwardingRules(ctx, user)
	if err != nil {
		return v, err
	}
	a, err := h.store.ForwardingCounts(ctx, user, p.Name)
	if err != nil {
		return v, err
	}
	v = forwardingView{Sent: a.Sent, Waiting: a.Waiting, Parked: a.Parked, Refused: a.Refused, There: a.There,
		Enabled: slices.ContainsFunc(rules, func(r delivery.Rule) bool { return r.Provider == p.Name })}
	if a.Waiting > 0 {
		v.NextAttemptAt = core.Moment(a.Next)
	}
	v.EarlierListens, err = h.deliveries.Earlier(ctx, user, p.Name)
	return v, err
}

// set switches forwarding on, or off. What is on stays as it is, unless the earlier listens are to go, too.
func (h *forwarding) set(ctx context.Context, user int64, provider string, on, earlier bool) (sent int, err error) {
	if !on {
		return 0, h.deliveries.StopForwarding(ctx, user, provider)
	}
	rules, err := h.store.ForwardingRules(ctx, user)
	if err != nil {
		return 0, err
	}
	if !earlier && slices.ContainsFunc(rules, func(r delivery.Rule) bool { return r.Provider == provider }) {
		return 0, nil
	}
	return h.deliveries.Forward(ctx, user, provider, earlier)
}

func (h *forwarding) api(c echo.Context) error {
	p, err := h.taker(c)
	if err != nil {
		return err
	}
	v, err := h.view(c.Request().Context(), core.UserOf(c).ID, p)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (h *forwarding) startAPI(c echo.Context) error {
	p, err := h.taker(c)
	if err != nil {
		return err
	}
	in, err := core.Body[struct {
		Earlier bool `json:"earlier"`
	}](c)
	if err == nil {
		_, err = h.set(c.Request().Context(), core.UserOf(c).ID, p.Name, true, in.Earlier)
	}
	if err != nil {
		return err
	}
	return h.api(c)
}

func (h *forwarding) stopAPI(c echo.Context) error {
	p, err := h.taker(c)
	if err == nil {
		_, err = h.set(c.Request().Context(), core.UserOf(c).ID, p.Name, false, false)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// forwardPart is what a connection's page says about forwarding.
type forwardPart struct {
	forwardingView
	Oldest   string // how old a listen may be to be taken; empty for any age
	Obstacle string
	Listens  []carriedView
}

// carriedView is a listen with what became of it.
type carriedView struct {
	ID, Track, Artist, PlayedAt string
	Outcome                     string // a state, or "there"
	NextAttemptAt               *string
	EndedAt                     *string
	ThereSince                  *string
	Reason                      string
	Delivery                    string
}

// carriedShown is how many of the newest listens a connection's page follows.
const carriedShown = 10

func (h *forwarding) part(ctx context.Context, user int64, p *providers.Provider) (*forwardPart, error) {
	v, err := h.view(ctx, user, p)
	if err != nil {
		return nil, err
	}
	part := &forwardPart{forwardingView: v, Oldest: span(p.Takes.Oldest)}
	names, err := h.names.For(ctx, user)
	if err != nil {
		return nil, err
	}
	reason, until := names.Obstacle(p.Name, p.Takes.Listens)
	if v.Waiting+v.Parked > 0 {
		part.Obstacle = reason
	}
	carried, err := h.store.ForwardedListens(ctx, user, p.Name, carriedShown)
	for _, l := range carried {
		view := carriedView{ID: strconv.FormatInt(l.ID, 10), Track: l.Title, Artist: l.Artist,
			PlayedAt: library.Stamp(l.PlayedAt), Outcome: l.Outcome,
			EndedAt: core.Moment(l.EndedAt), ThereSince: core.Moment(l.ThereSince), Reason: l.Reason,
			Delivery: strconv.FormatInt(l.Delivery, 10)}
		if due := deliveries.Later(l.Due, until); due.After(time.Now()) {
			view.NextAttemptAt = core.Moment(due)
		}
		if state := delivery.State(l.Outcome); state == delivery.Scheduled || state == delivery.Retrying {
			part.Obstacle = cmp.Or(part.Obstacle, l.Reason)
		}
		part.Listens = append(part.Listens, view)
	}
	return part, err
}

// span says a length of time in days or weeks; empty for none.
func span(d time.Duration) string {
	days := int(d / (24 * time.Hour))
	switch {
	case days == 0:
		return ""
	case days == 14:
		return "two weeks"
	}
	return web.Count(days, "day", "days")
}

// manyListens is from how many earlier listens on a person is asked once more.
const manyListens = 2000

func (h *forwarding) form(c echo.Context) error {
	p, err := h.taker(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	on, earlier := c.FormValue("forward") == "on", c.FormValue("earlier") == "yes"
	if on && earlier && c.FormValue("sure") != "yes" {
		n, err := h.deliveries.Earlier(ctx, user, p.Name)
		if err != nil {
			return err
		}
		if n > manyListens {
			return h.core.Confirm(c,
				core.Confirmation{Title: "Send " + web.Count(n, "earlier listen", "earlier listens") + " to " +
					p.DisplayName + "?",
					Lead: "They go out one batch after the other, what is new first, and as fast as " +
						p.DisplayName + " likes. What is there stays there: Reprise takes nothing back.",
					Action: "/connections/" + p.Name + "/forwarding", Fields: []core.Field{{Name: "forward",
						Value: "on"}, {Name: "earlier", Value: "yes"}, {Name: "sure", Value: "yes"}},
					Button: "Send them", Back: "/connections/" + p.Name})
		}
	}
	sent, err := h.set(ctx, user, p.Name, on, earlier)
	if err != nil {
		return err
	}
	sentence := "Your listens are not forwarded to " + p.DisplayName + " any more. What waits already " +
		"still goes out."
	if on {
		sentence = "Your listens are forwarded to " + p.DisplayName + " from now on."
		if earlier {
			sentence += " " + web.Count(sent, "earlier listen goes", "earlier listens go") + " out, too."
		}
	}
	return h.core.Done(c, "/connections/"+p.Name+"#forwarding", sentence)
}
