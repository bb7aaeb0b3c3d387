package deliveries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web"
)

// groupView is the dead letters to one place that have the same reason.
type groupView struct {
	ID      string // of the element
	To      string
	Reason  string
	Count   int
	LookAt  *string // when the first of them is looked at again; nil if that waits for the person
	Shown   []View
	All     string // address of all of them, if there are more; empty otherwise
	Redrive string // address of the question; empty if they have no reason by which they can be selected
	Discard string
}

// shownOfGroup is how many dead letters of a group the page shows.
const shownOfGroup = 10

// groups returns the dead letters that a request's filter selects, by connection and reason, on the first page.
func (h *pages) groups(c echo.Context, in filter, f delivery.Filter) (views []groupView, err error) {
	if c.QueryParam("before") != "" {
		return nil, nil
	}
	ctx := c.Request().Context()
	all, err := h.store.DeadLetters(ctx, f)
	for _, g := range all {
		mine := f
		mine.State, mine.Connection, mine.Reason = delivery.Dead, g.Connection, g.Reason
		page, _, err := h.store.Deliveries(ctx, mine, "", shownOfGroup)
		if err != nil {
			return nil, err
		}
		names, err := h.names.For(ctx, f.User, page...)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", g.Connection, g.Reason))
		v := groupView{ID: "dead-" + hex.EncodeToString(sum[:6]), To: names.place(g.Connection), Reason: g.Reason,
			Count: g.Count, Shown: core.ViewAll(page, names.View)}
		for _, d := range v.Shown {
			if d.NextLookAt != nil && (v.LookAt == nil || *d.NextLookAt < *v.LookAt) {
				v.LookAt = d.NextLookAt
			}
		}
		if g.Reason != "" {
			these := in
			these.State, these.Connection, these.Reason = string(delivery.Dead), string(g.Connection), g.Reason
			v.Redrive, v.Discard = these.address("/deliveries/redrive"), these.address("/deliveries/discard")
			if g.Count > len(v.Shown) {
				v.All = these.address("/deliveries")
			}
		}
		views = append(views, v)
	}
	return views, err
}

// lookAgain returns when a dead letter is tried again by itself; zero if that waits for the person.
func (n Names) lookAgain(d delivery.Delivery) time.Time {
	if d.State != delivery.Dead || d.EndedAt.IsZero() {
		return time.Time{}
	}
	st, connected := n.statuses[d.Connection]
	_, channel := n.channels[d.Connection]
	if connected && !st.Connection.Paused || channel {
		return d.EndedAt.Add(delivery.LookAgain)
	}
	return time.Time{}
}

func (h *pages) discardAllPage(c echo.Context) error {
	in, _, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	f, err := h.deadFilter(core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	n, err := h.deliveries.DiscardDead(c.Request().Context(), f, true)
	if err != nil {
		return err
	}
	if n == 0 {
		return h.core.Done(c, "/deliveries", words.Plain("There is nothing to discard here."))
	}
	what := web.Count(n, "dead letter", "dead letters")
	v := core.Confirmation{Title: "Discard " + what + "?", Action: "/deliveries/discard", Back: "/deliveries",
		Button: "Discard " + what, Warn: true, Fields: in.fields(),
		Lead: "What is in them stays here, but it will not be sent. Nothing that was sent before is taken back."}
	if f.Reason != "" {
		v.Facts = []string{f.Reason}
	}
	return h.core.Confirm(c, v)
}

func (h *pages) discardAllForm(c echo.Context) error {
	in, err := core.Body[filter](c)
	if err != nil {
		return err
	}
	f, err := h.deadFilter(core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	n, err := h.deliveries.DiscardDead(c.Request().Context(), f, false)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", words.Plain(web.Count(n, "dead letter", "dead letters")+" discarded."))
}
