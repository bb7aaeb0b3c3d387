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
	"reprise/web/ui"
)

// groupView is what could not be sent to one place for one reason.
type groupView struct {
	ID      string // of the element
	Says    string
	Next    string // whether and when Reprise tries again by itself
	Open    bool
	Actions []ui.Action
	Shown   []row
	All     string // address of all of them, if there are more; empty otherwise
}

// shownOfGroup is how many deliveries of a group the page shows.
const shownOfGroup = 10

// groups returns what could not be sent and is selected by a request's filter, by place and reason. They are on the
// first page only.
func (h *pages) groups(c echo.Context, in filter, f delivery.Filter) (views []groupView, err error) {
	if c.QueryParam("before") != "" {
		return nil, nil
	}
	ctx := c.Request().Context()
	all, err := h.store.DeadLetters(ctx, f)
	for _, g := range all {
		mine := f
		mine.State, mine.Connection, mine.Reasons = delivery.Dead, g.Connection, []words.Text{g.Reason}
		page, _, err := h.store.Deliveries(ctx, mine, "", shownOfGroup)
		if err != nil {
			return nil, err
		}
		names, err := h.names.For(ctx, f.User, page...)
		if err != nil {
			return nil, err
		}
		views = append(views, names.group(in, g, core.ViewAll(page, names.View)))
	}
	return views, err
}

// group returns the view of a group, with some of its deliveries.
func (n Names) group(in filter, g delivery.Group, shown []Delivery) groupView {
	reason := n.say(g.Reason)
	stored, _ := g.Reason.Value() // of a string
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", g.Connection, stored))
	v := groupView{ID: "dead-" + hex.EncodeToString(sum[:6]), Open: g.Count == 1, Says: n.say(n.failed(g)),
		Next: n.say(words.New("deliveries.group.yours"))}
	if reason != "" {
		v.Says += " " + reason
	}
	var first time.Time
	for _, d := range shown {
		v.Shown = append(v.Shown, n.row(d))
		if !d.NextLookAt.IsZero() && (first.IsZero() || d.NextLookAt.Before(first)) {
			first = d.NextLookAt.Time
		}
	}
	if !first.IsZero() {
		v.Next = n.say(words.New("deliveries.group.daily", "At", first))
	}
	if reason == "" { // nothing by which all of them can be selected
		return v
	}
	these := in
	these.State, these.Connection, these.Reason = string(delivery.Dead), string(g.Connection), reason
	v.Actions = []ui.Action{
		{Label: n.say(words.New("deliveries.again_all")), URL: these.address("/deliveries/redrive")},
		{Label: n.say(words.New("deliveries.discard_all")), URL: these.address("/deliveries/discard")},
	}
	if g.Count > len(shown) {
		v.All = these.address("/deliveries")
	}
	return v
}

// failed says what of a group could not be sent.
func (n Names) failed(g delivery.Group) words.Text {
	if g.Kind == delivery.Notify {
		return words.New("deliveries.failed_messages", "Count", g.Count, "Name", n.place(g.Connection))
	}
	w := &delivery.Waiting{}
	w.Add(delivery.Tally{Kind: g.Kind, Items: max(g.Items, 1)})
	return words.New("deliveries.failed", "Count", many(w), "What", w.Counts(), "Name", n.place(g.Connection))
}
