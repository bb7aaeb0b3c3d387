package connections

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
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
type Forwarding struct {
	Enabled        bool           `json:"enabled"`
	EarlierListens int            `json:"earlier_listens" minimum:"0" doc:"Stored here, unknown to the provider, and not on the way there."`
	Sent           int            `json:"sent" minimum:"0"`
	Waiting        int            `json:"waiting" minimum:"0"`
	Parked         int            `json:"parked" minimum:"0" doc:"Waiting for a person."`
	Refused        int            `json:"refused" minimum:"0" doc:"Could not be sent."`
	There          int            `json:"there" minimum:"0" doc:"The provider already had them."`
	NextAttemptAt  core.MaybeTime `json:"next_attempt_at"`
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
) (Forwarding, error) {
	var v Forwarding
	rules, err := h.store.ForwardingRules(ctx, user)
	if err != nil {
		return v, err
	}
	a, err := h.store.ForwardingCounts(ctx, user, conn)
	if err != nil {
		return v, err
	}
	v = Forwarding{Sent: a.Sent, Waiting: a.Waiting, Parked: a.Parked, Refused: a.Refused, There: a.There,
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

func (h *forwarding) api(c echo.Context, _ *core.ConnectionID) (out Forwarding, _ error) {
	st, err := h.taker(c)
	if err != nil {
		return out, err
	}
	return h.view(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID)
}

type startForwardingRequest struct {
	core.ConnectionID
	Body struct {
		Earlier bool `json:"earlier" required:"false"`
	}
}

func (h *forwarding) startAPI(c echo.Context, in *startForwardingRequest) (out Forwarding, _ error) {
	st, err := h.taker(c)
	if err != nil {
		return out, err
	}
	if _, err = h.set(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID, true, in.Body.Earlier); err != nil {
		return out, err
	}
	return h.api(c, &in.ConnectionID)
}

func (h *forwarding) stopAPI(c echo.Context, _ *core.ConnectionID) (out core.None, _ error) {
	st, err := h.taker(c)
	if err == nil {
		_, err = h.set(c.Request().Context(), core.UserOf(c).ID, st.Connection.ID, false, false)
	}
	return out, err
}

// forwardPart is the part of a connection's page about forwarding.
type forwardPart struct {
	Forwarding
	Page     string // address of the connection's page
	Name     string // of the connection
	Lead     string
	Figures  []ui.Figure
	Songs    string // address of the questions which song it is; empty where there are none
	Obstacle string // why what waits is not sent; empty if the page says it elsewhere
	Earlier  string // how many earlier listens could be sent, in a sentence; empty for none
	SendThem string // label of the choice to send those
	Listens  []forwardedView
}

// forwardedView is a listen with what became of it.
type forwardedView struct {
	ID, Track, Artist string
	PlayedAt          time.Time
	State             string // a state, or "there"
	Says              string
	URL               string    // of what could not be sent
	At                time.Time // said after Says
}

// forwardedShown is the number of newest listens on a connection's page.
const forwardedShown = 10

// part returns the part of a connection's page about forwarding. calm says that nothing else is the matter with it.
func (h *forwarding) part(
	ctx context.Context, c library.Connection, p *providers.Provider, calm bool,
) (*forwardPart, error) {
	v, err := h.view(ctx, c.User, c.ID)
	if err != nil {
		return nil, err
	}
	part := &forwardPart{Forwarding: v, Page: "/connections/" + string(c.ID), Name: c.Label(p.Called().T(ctx))}
	part.say(ctx, span(ctx, p.Takes.Oldest))
	if p.Takes.Library && len(part.Figures) > 0 {
		part.Songs = part.Page + "/songs"
	}
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
		part.Listens = append(part.Listens, forwardedOf(ctx, l, until))
		if state := delivery.State(l.Outcome); state == delivery.Scheduled || state == delivery.Retrying {
			part.Obstacle = cmp.Or(part.Obstacle, l.Reason.T(ctx))
		}
	}
	if !calm {
		part.Obstacle = ""
	}
	return part, err
}

// say puts the counts into words. oldest is the age of the oldest listen that the service takes; empty for any.
func (p *forwardPart) say(ctx context.Context, oldest string) {
	p.Lead = words.T(ctx, "connection.forward.lead")
	if oldest != "" {
		p.Lead += " " + words.T(ctx, "connection.forward.oldest", "Name", p.Name, "Span", oldest)
	}
	if p.EarlierListens > 0 {
		p.Earlier = words.T(ctx, "connection.forward.earlier", "Count", p.EarlierListens, "Name", p.Name)
		p.SendThem = words.T(ctx, "connection.forward.send_earlier", "Count", p.EarlierListens)
	}
	if !p.Enabled && p.Sent+p.Waiting+p.Parked+p.Refused == 0 {
		return
	}
	add := func(n int, state, url, label string) {
		if n > 0 || state == "" {
			p.Figures = append(p.Figures, ui.Figure{Count: n, Label: label, State: state, URL: url})
		}
	}
	waiting := words.T(ctx, "connection.forward.waiting")
	if !p.NextAttemptAt.IsZero() {
		waiting = words.T(ctx, "connection.forward.waiting_until", "Until", p.NextAttemptAt.Time)
	}
	add(p.Sent, "", "", words.T(ctx, "connection.forward.sent"))
	add(p.Waiting, "waiting", "", waiting)
	add(p.Parked, "parked", "", words.T(ctx, "connection.forward.parked"))
	add(p.Refused, "dead", "/deliveries?state=dead&connection="+strings.TrimPrefix(p.Page, "/connections/"),
		words.T(ctx, "connection.forward.refused"))
	add(p.There, "", "", words.T(ctx, "connection.forward.there"))
}

// forwardedOf says what became of a listen. until is when what keeps it from going out ends at the earliest.
func forwardedOf(ctx context.Context, l delivery.ForwardedListen, until time.Time) forwardedView {
	v := forwardedView{ID: strconv.FormatInt(l.ID, 10), Track: l.Title, Artist: l.Artist, PlayedAt: l.PlayedAt,
		State: l.Outcome}
	switch l.Outcome {
	case "there":
		v.Says = words.T(ctx, "connection.became.there") // since when is unknown: it was only noticed at a time
	case string(delivery.Done):
		v.Says, v.At = words.T(ctx, "connection.became.sent"), l.EndedAt
	case string(delivery.Dead):
		v.URL = "/deliveries?state=dead#delivery-" + strconv.FormatInt(l.Delivery, 10)
		v.Says = words.T(ctx, "connection.became.refused", "Reason", l.Reason)
	case string(delivery.Parked):
		v.Says = words.T(ctx, "connection.became.parked")
	case string(delivery.Running):
		v.Says = words.T(ctx, "connection.became.running")
	default:
		v.Says = words.T(ctx, "connection.became.next")
		if due := deliveries.Later(l.Due, until); due.After(time.Now()) {
			v.Says, v.At = words.T(ctx, "connection.became.waits"), due
		}
	}
	return v
}

// span returns a duration in days or weeks; empty for zero.
func span(ctx context.Context, d time.Duration) string {
	const week = 7
	switch days := int(d / (24 * time.Hour)); {
	case days == 0:
		return ""
	case days%week == 0:
		return words.T(ctx, "connection.weeks", "Count", days/week)
	default:
		return words.T(ctx, "connection.days", "Count", days)
	}
}

// manyListens is the number of earlier listens above which the user must confirm.
const manyListens = 2000

func (h *forwarding) form(c echo.Context) error {
	st, err := h.taker(c)
	if err != nil {
		return err
	}
	ctx, user, id := c.Request().Context(), core.UserOf(c).ID, st.Connection.ID
	label, page := st.Connection.Label(st.Provider.Called().T(ctx)), "/connections/"+string(id)
	on, earlier := c.FormValue("forward") == "on", c.FormValue("earlier") == "yes"
	if on && earlier && c.FormValue("sure") != "yes" {
		n, err := h.deliveries.Earlier(ctx, user, id)
		if err != nil {
			return err
		}
		if n > manyListens {
			return h.core.Confirm(c, core.Confirmation{
				Title:  words.T(ctx, "connection.forward.ask", "Count", n, "Name", label),
				Lead:   words.T(ctx, "connection.forward.ask_lead", "Name", label),
				Action: page + "/forwarding", Fields: []core.Field{{Name: "forward",
					Value: "on"}, {Name: "earlier", Value: "yes"}, {Name: "sure", Value: "yes"}},
				Button: words.T(ctx, "connection.forward.send"), Back: page})
		}
	}
	sent, err := h.set(ctx, user, id, on, earlier)
	if err != nil {
		return err
	}
	sentence := words.New("connection.forward.stopped", "Name", label)
	if on {
		sentence = words.New("connection.forward.started", "Name", label)
		if earlier {
			sentence = words.Join(sentence, words.New("connection.forward.earlier_go", "Count", sent))
		}
	}
	return h.core.Done(c, page+"#forwarding", sentence)
}
