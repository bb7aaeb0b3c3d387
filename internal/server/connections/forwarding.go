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
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web"
)

// forwarding answers for forwarding listens to a provider.
type forwarding struct {
	core       *core.Core
	store      Store
	statuses   *Statuses
	deliveries *delivery.Deliveries
	names      *deliveries.Namer
}

// forwardingView counts a user's listens by what became of them at a provider.
type forwardingView struct {
	Enabled        bool    `json:"enabled"`
	EarlierListens int     `json:"earlier_listens"` // neither there nor waiting
	Sent           int     `json:"sent"`
	Waiting        int     `json:"waiting"`
	Parked         int     `json:"parked"`
	Refused        int     `json:"refused"`
	There          int     `json:"there"`
	NextAttemptAt  *string `json:"next_attempt_at"`
}

// taker returns the connection that a request's path names, if it takes listens.
func (h *forwarding) taker(c echo.Context) (syncer.Status, error) {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return syncer.Status{}, err
	}
	if p.Takes.Listens == "" {
		return syncer.Status{}, delivery.ErrNotTaken
	}
	return h.statuses.Status(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *forwarding) view(
	ctx context.Context, user int64, conn library.ConnectionID,
) (forwardingView, error) {
	var v forwardingView
	rules, err := h.store.ForwardingRules(ctx, user)
	if err != nil {
		return v, err
	}
	a, err := h.store.ForwardingCounts(ctx, user, conn)
	if err != nil {
		return v, err
	}
	v = forwardingView{Sent: a.Sent, Waiting: a.Waiting, Parked: a.Parked, Refused: a.Refused, There: a.There,
		Enabled: slices.ContainsFunc(rules, func(r delivery.Rule) bool { return r.Connection == conn })}
	if a.Waiting > 0 {
		v.NextAttemptAt = core.Moment(a.Next)
	}
	v.EarlierListens, err = h.deliveries.Earlier(ctx, user, conn)
	return v, err
}

// set switches forwarding on or off. With earlier it also sends the listens from before. It returns how many those
// are.
func (h *forwarding) set(
	ctx context.Context, user int64, conn library.ConnectionID, on, earlier bool,
) (sent int, err error) {
	if !on {
		return 0, h.deliveries.StopForwarding(ctx, user, conn)
	}
	rules, err := h.store.ForwardingRules(ctx, user)
	if err != nil {
		return 0, err
	}
	if !earlier && slices.ContainsFunc(rules, func(r delivery.Rule) bool { return r.Connection == conn }) {
		return 0, nil
	}
	return h.deliveries.Forward(ctx, user, conn, earlier)
}

func (h *forwarding) api(c echo.Context) error {
	st, err := h.taker(c)
	if err != nil {
		return err
	}
	v, err := h.view(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (h *forwarding) startAPI(c echo.Context) error {
	st, err := h.taker(c)
	if err != nil {
		return err
	}
	in, err := core.Body[struct {
		Earlier bool `json:"earlier"`
	}](c)
	if err == nil {
		_, err = h.set(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID, true, in.Earlier)
	}
	if err != nil {
		return err
	}
	return h.api(c)
}

func (h *forwarding) stopAPI(c echo.Context) error {
	st, err := h.taker(c)
	if err == nil {
		_, err = h.set(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID, false, false)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// forwardPart is the part of a connection's page about forwarding.
type forwardPart struct {
	forwardingView
	Library  bool   // plays are of songs in a library, which may be unclear
	Oldest   string // the age of the oldest listen that the provider takes; empty for any
	Obstacle string
	Listens  []forwardedView
}

// forwardedView is a listen with what became of it.
type forwardedView struct {
	ID, Track, Artist, PlayedAt string
	Outcome                     string // a state, or "there"
	NextAttemptAt               *string
	EndedAt                     *string
	ThereSince                  *string
	Reason                      string
	Delivery                    string
}

// forwardedShown is the number of newest listens on a connection's page.
const forwardedShown = 10

func (h *forwarding) part(
	ctx context.Context, c library.Connection, p *providers.Provider,
) (*forwardPart, error) {
	v, err := h.view(ctx, c.User, c.ID)
	if err != nil {
		return nil, err
	}
	part := &forwardPart{forwardingView: v, Library: p.Takes.Library, Oldest: span(p.Takes.Oldest)}
	names, err := h.names.For(ctx, c.User)
	if err != nil {
		return nil, err
	}
	reason, until := names.Obstacle(c.ID, p.Takes.Listens)
	if v.Waiting+v.Parked > 0 {
		part.Obstacle = reason
	}
	forwarded, err := h.store.ForwardedListens(ctx, c.User, c.ID, forwardedShown)
	for _, l := range forwarded {
		view := forwardedView{ID: strconv.FormatInt(l.ID, 10), Track: l.Title, Artist: l.Artist,
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

// span returns a duration in days or weeks; empty for zero.
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

// manyListens is the number of earlier listens above which the user must confirm.
const manyListens = 2000

func (h *forwarding) form(c echo.Context) error {
	st, err := h.taker(c)
	if err != nil {
		return err
	}
	ctx, user, id := c.Request().Context(), core.UserOf(c).ID, st.Connection.ID
	label, page := st.Connection.Label(st.Provider.DisplayName), "/connections/"+string(id)
	on, earlier := c.FormValue("forward") == "on", c.FormValue("earlier") == "yes"
	if on && earlier && c.FormValue("sure") != "yes" {
		n, err := h.deliveries.Earlier(ctx, user, id)
		if err != nil {
			return err
		}
		if n > manyListens {
			return h.core.Confirm(c,
				core.Confirmation{Title: "Send " + web.Count(n, "earlier listen", "earlier listens") + " to " +
					label + "?",
					Lead: "They go out one batch after the other, what is new first, and as fast as " +
						label + " likes. What is there stays there: Reprise takes nothing back.",
					Action: page + "/forwarding", Fields: []core.Field{{Name: "forward",
						Value: "on"}, {Name: "earlier", Value: "yes"}, {Name: "sure", Value: "yes"}},
					Button: "Send them", Back: page})
		}
	}
	sent, err := h.set(ctx, user, id, on, earlier)
	if err != nil {
		return err
	}
	sentence := "Your listens are not forwarded to " + label + " any more. What waits already " +
		"still goes out."
	if on {
		sentence = "Your listens are forwarded to " + label + " from now on."
		if earlier {
			sentence += " " + web.Count(sent, "earlier listen goes", "earlier listens go") + " out, too."
		}
	}
	return h.core.Done(c, page+"#forwarding", words.Plain(sentence))
}
