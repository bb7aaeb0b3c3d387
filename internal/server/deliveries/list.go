package deliveries

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listView is the page of deliveries one by one.
type listView struct {
	Lead   string
	Empty  string      // a sentence, if there are none at all
	Next   []ui.Action // what to do then
	Chips  []ui.Chip
	Kept   []ui.Hidden // parts of the filter that the form does not show
	Fields []ui.Field
	Again  *ui.Action // sends everything shown again; nil if nothing can be
	Groups []groupView
	Rows   []row
	Pages  ui.Pages
}

// row is a delivery in a list.
type row struct {
	ID, Title string
	State     ui.Mark
	Why       string
	Facts     []fact
	Actions   []ui.Action
	Answer    string // what the service answered last
}

// fact is a word with a time; the zero time for none.
type fact struct {
	Label string
	At    time.Time
}

// row returns a delivery in a list, in the reader's language.
func (n Names) row(d Delivery) row {
	t := func(text words.Text) string { return n.say(text) }
	r := row{ID: d.ID, Title: d.Subject, Why: d.Reason,
		State: ui.Mark{Shape: d.State, Word: t(words.Each("mark.", d.State))}}
	if !d.NextAttemptAt.IsZero() {
		r.Why = t(words.Join(words.Plain(d.Reason), words.New("deliveries.row.next", "At", d.NextAttemptAt.Time)))
		if d.Reason == "" {
			r.Why = t(words.New("deliveries.row.next", "At", d.NextAttemptAt.Time))
		}
	}
	done := d.State == string(delivery.Done)
	r.Facts = []fact{{t(words.New("deliveries.row.added")), d.CreatedAt.Time}}
	switch {
	case done: // which the state says already
		r.Facts = []fact{{At: d.EndedAt.Time}}
	case !d.EndedAt.IsZero():
		r.Facts = append(r.Facts, fact{t(words.New("deliveries.row.gave_up")), d.EndedAt.Time})
	}
	if d.Attempts > 0 && !done {
		r.Facts = append(r.Facts, fact{Label: t(words.New("deliveries.row.tries", "Count", d.Attempts))})
	}
	if !done {
		r.Answer = d.LastAnswer
	}
	subject := "subject-" + d.ID
	if d.Discardable && d.Question != nil {
		r.Actions = append(r.Actions, ui.Action{Label: t(words.New("deliveries.choose")), URL: *d.Question, Main: true,
			DescribedBy: subject})
	}
	if d.Redrivable {
		r.Actions = append(r.Actions, ui.Action{ID: "again-" + d.ID, Label: t(words.New("deliveries.again")),
			Post: "/deliveries/" + d.ID + "/redrive", DescribedBy: subject})
	}
	if d.Discardable {
		r.Actions = append(r.Actions, ui.Action{Label: t(words.New("deliveries.discard")),
			URL: "/deliveries/" + d.ID + "/discard", DescribedBy: subject})
	}
	return r
}

func (h *pages) listPage(c echo.Context) error {
	in, f, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := listView{Lead: words.T(ctx, "deliveries.lead")}
	all := f
	if in.Reason == "" && (f.State == "" || f.State == delivery.Dead) {
		if v.Groups, err = h.groups(c, in, f); err != nil {
			return err
		}
		f.Except = delivery.Dead
	}
	page, next, err := h.Handler.page(c, f)
	if err != nil {
		return err
	}
	names, err := h.names.For(ctx, f.User)
	if err != nil {
		return err
	}
	for _, d := range page {
		v.Rows = append(v.Rows, names.row(d))
	}
	if next != "" {
		v.Pages.Earlier = in.address("/deliveries", "before", next)
	}
	if c.QueryParam("before") != "" {
		v.Pages.Newest = in.address("/deliveries", "list", "all")
	}
	counts, err := h.counts(ctx, all)
	if err != nil {
		return err
	}
	v.addCounts(ctx, in, counts)
	v.Kept, v.Fields = in.kept(), []ui.Field{
		{Name: "provider", Label: words.T(ctx, "deliveries.filter.service"), Value: in.Provider,
			Options: h.places(ctx, in, page)},
		{Name: "kind", Label: words.T(ctx, "deliveries.filter.kind"), Value: in.Kind, Options: h.kinds(ctx)}}
	if in == (filter{}) && len(v.Rows)+len(v.Groups) == 0 && c.QueryParam("before") == "" {
		v.Lead, v.Empty, v.Next = "", words.T(ctx, "deliveries.empty_days"), names.takers(ctx)
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "deliveries.title"), list(v))
}

// addCounts fills in the number of deliveries in each state, and how many can be sent again.
func (v *listView) addCounts(ctx context.Context, in filter, counts map[delivery.State]int) {
	total, again := 0, 0
	for _, state := range delivery.States {
		n := counts[state]
		total += n
		v.Chips = append(v.Chips, ui.Chip{Label: ui.StateMark(ctx, string(state)).Word, Count: n,
			State: string(state), Current: in.State == string(state), URL: in.in(state).address("/deliveries")})
		if redrivable(state) && (in.State == "" || in.State == string(state)) {
			again += n
		}
	}
	v.Chips = slices.Insert(v.Chips, 0, ui.Chip{Label: words.T(ctx, "deliveries.filter.all"), Count: total,
		Current: in.State == "", URL: in.in("").address("/deliveries", "list", "all")})
	if again > 0 {
		v.Again = &ui.Action{ID: "redrive-all", Label: words.T(ctx, "deliveries.again_shown"),
			URL: in.address("/deliveries/redrive")}
	}
}

// kept are the parts of a filter that the form does not show. Something is always there: without a query the page is
// another one.
func (f filter) kept() []ui.Hidden {
	return []ui.Hidden{{Name: "list", Value: "all"}, {Name: "state", Value: f.State},
		{Name: "connection", Value: f.Connection}, {Name: "category", Value: f.Category}}
}

// places are the services and the kinds of channels to choose from. The latter only where they matter.
func (h *pages) places(ctx context.Context, in filter, shown []Delivery) []ui.Option {
	all := []ui.Option{{Label: words.T(ctx, "deliveries.filter.any")}}
	for _, p := range h.core.Registry.All() {
		if !p.Takes.Nothing() {
			all = append(all, ui.Option{Value: p.Name, Label: p.Called().T(ctx)})
		}
	}
	for _, kind := range channels.Kinds() {
		goesThere := func(d Delivery) bool { return d.Provider == kind.Name }
		if in.Provider == kind.Name || slices.ContainsFunc(shown, goesThere) {
			all = append(all, ui.Option{Value: kind.Name, Label: kind.Label})
		}
	}
	return all
}

// kinds are the kinds of deliveries to choose from: those that an installation's providers take, and messages.
func (h *pages) kinds(ctx context.Context) []ui.Option {
	taken := map[string]bool{delivery.Notify: true}
	for _, p := range h.core.Registry.All() {
		if !p.Takes.Nothing() {
			taken[p.Takes.Listens] = true
			taken[delivery.WritePlaylist] = taken[delivery.WritePlaylist] || p.Takes.Playlists
			taken[delivery.WriteLoves] = taken[delivery.WriteLoves] || p.Takes.Loves
			taken[delivery.Archive] = taken[delivery.Archive] || p.Takes.Archive
			taken[delivery.DeleteListens] = taken[delivery.DeleteListens] || p.Takes.Deletions
		}
	}
	all := []ui.Option{{Label: words.T(ctx, "deliveries.filter.any")}}
	for _, kind := range delivery.Kinds {
		if taken[kind] {
			all = append(all, ui.Option{Value: kind, Label: words.Each("deliveries.kind.", kind).T(ctx)})
		}
	}
	return all
}

// fields returns the filter as hidden fields of a form.
func (f filter) fields() []ui.Hidden {
	return []ui.Hidden{{Name: "state", Value: f.State}, {Name: "provider", Value: f.Provider},
		{Name: "connection", Value: f.Connection}, {Name: "kind", Value: f.Kind}, {Name: "category", Value: f.Category},
		{Name: "reason", Value: f.Reason}}
}
