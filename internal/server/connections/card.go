package connections

import (
	"cmp"
	"context"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// CardView is a connection on the start page. Nothing is said twice: what a banner says, the card does not.
type CardView struct {
	ID, Provider, Name, Account string

	State    ui.Mark
	Calm     bool       // nothing is the matter
	Loud     bool       // it needs a person, and no banner says so
	Banner   string     // id of the banner that says what is the matter
	Says     string     // what is the matter and what happens next; empty if a banner says it
	Sides    []sideView // reading and sending, where they differ
	Since    string     // what began when
	Next     time.Time  // the next attempt, if Says does not name it
	Notices  []notice   // if no banner says more
	Progress []ui.Bar
	Sum      string    // what the last 24 hours brought; empty if nothing is read
	Slots    []ui.Slot // of the last 24 hours
	Figures  []string
	Checked  string    // what was done last, such as "checked"; then comes Last
	Last     time.Time // zero for never
	Action   *ui.Action
}

// sideView is reading from a service, or sending to it.
type sideView struct {
	Label string
	State ui.Mark
	Next  time.Time // zero for none
}

// notice is an open notification that is not urgent.
type notice struct {
	ID, Title string
	Button    *ui.Action // nil on the page that it leads to
}

// reader is the person who looks at a page.
type reader struct {
	Admin bool
	Path  string // of the page
	Zone  *time.Location
	Open  []core.Notification // what is open for them
}

func readerOf(u accounts.User, path string, open []core.Notification) reader {
	r := reader{Admin: u.Role == accounts.Admin, Path: path, Zone: time.Local, Open: open}
	if zone, err := time.LoadLocation(u.Zone); err == nil && u.Zone != "" {
		r.Zone = zone
	}
	return r
}

// newCard returns the card of a connection.
func newCard(ctx context.Context, v View, r reader) CardView {
	c := CardView{ID: v.ID, Provider: v.Provider, Name: v.DisplayName, Account: v.Account, Progress: progressOf(ctx, v)}
	state := standing(v)
	c.State, c.Sides = stateMark(ctx, state, r.Admin), sides(ctx, v, r.Admin)
	c.Calm = v.Category == nil && (state == syncer.Healthy || state == syncer.Syncing)
	needsPerson := needs(syncer.Condition(v.State))
	c.announced(v, r, needsPerson)
	c.Loud = needsPerson && c.Banner == ""
	if !c.Calm && c.Banner == "" {
		c.Says = v.Message
		if at := core.At(v.NextAttemptAt); !strings.Contains(v.Message, stampOf(at)) {
			c.Next = at
		}
	}
	if v.Since != nil && v.Category != nil && syncer.Condition(v.State) != syncer.Paused {
		c.Since = sinceWords(ctx, *v.Category, core.At(v.Since))
	}
	c.Last, c.Checked = core.At(v.LastSuccessAt), lastWords(ctx, v)
	c.Figures = waitingWords(ctx, v)
	if len(c.Notices) == 0 || c.Notices[0].Button == nil { // else that is the main one
		c.Action = mainAction(ctx, v, c.Banner != "")
		if way := lift(ctx, v, r.Admin); way != nil && c.Banner == "" {
			c.Action = way
		}
	}
	return c
}

// announced notes what notifications say about a connection: the banner that says what is the matter, or notices.
func (c *CardView) announced(v View, r reader, needsPerson bool) {
	for _, n := range r.Open {
		switch {
		case n.Connection != v.ID:
		case n.Urgent() && needsPerson && n.AcknowledgedAt == nil:
			c.Banner = "banner-" + n.ID
		case !n.Urgent() && n.Action != nil:
			one := notice{ID: n.ID, Title: n.Title}
			if n.Action.URL != r.Path {
				one.Button = &ui.Action{Label: n.Action.Label, URL: n.Action.URL, Main: true}
			}
			c.Notices = append(c.Notices, one)
		}
	}
	if c.Banner != "" {
		c.Notices = nil
	}
}

// standing returns the state that a connection's card shows. What only concerns sending is no state of the connection,
// unless a person is needed: it has a line of its own.
func standing(v View) syncer.Condition {
	state := syncer.Condition(v.State)
	if !v.Reads || needs(state) || state == syncer.Paused {
		return state
	}
	var reading syncer.Condition
	for _, s := range v.Streams {
		if s.Stream != library.Deliveries && (reading == "" || syncer.Graver(syncer.Condition(s.State), reading)) {
			reading = syncer.Condition(s.State)
		}
	}
	return cmp.Or(reading, state)
}

// sides returns reading and sending where they differ; nil where they do not.
func sides(ctx context.Context, v View, admin bool) []sideView {
	reading, sending := standing(v), syncer.Condition("")
	read := sideView{Label: words.T(ctx, "status.reading")}
	send := sideView{Label: words.T(ctx, "status.sending")}
	for _, s := range v.Streams {
		state := syncer.Condition(s.State)
		if s.Stream == library.Deliveries {
			sending, send.Next = state, core.At(s.NextAttemptAt)
		} else if state == syncer.Waiting || state == syncer.Held {
			read.Next = core.At(s.NextAttemptAt)
		}
	}
	if needs(reading) {
		reading = readingOf(v)
	}
	troubled := func(c syncer.Condition) bool { return c == syncer.Waiting || c == syncer.Held || needs(c) }
	if !v.Reads || sending == "" || reading == sending || !troubled(reading) && !troubled(sending) {
		return nil
	}
	read.State, send.State = stateMark(ctx, reading, admin), stateMark(ctx, sending, admin)
	return []sideView{read, send}
}

// readingOf returns the gravest state of what is read.
func readingOf(v View) (state syncer.Condition) {
	for _, s := range v.Streams {
		if c := syncer.Condition(s.State); s.Stream != library.Deliveries && (state == "" || syncer.Graver(c, state)) {
			state = c
		}
	}
	return state
}

func needs(c syncer.Condition) bool { return c == syncer.NeedsReconnect || c == syncer.NeedsAdmin }

// stateMark returns a state in a word. What needs the administrator needs you, if you are one.
func stateMark(ctx context.Context, c syncer.Condition, admin bool) ui.Mark {
	m := ui.StateMark(ctx, string(c))
	if c == syncer.NeedsAdmin && admin {
		m.Word = words.T(ctx, "mark.needs_reconnect")
	}
	return m
}

// sinceCategories are the categories whose beginning has words of its own.
var sinceCategories = map[string]bool{"auth": true, "permission": true, "rate_limit": true, "quota": true,
	"network": true, "upstream": true, "contract": true}

// sinceWords says what began when.
func sinceWords(ctx context.Context, category string, at time.Time) string {
	if !sinceCategories[category] {
		category = "unknown"
	}
	return words.Each("status.since.", category, "Since", at).T(ctx)
}

// lastWords says what was done with a service last.
func lastWords(ctx context.Context, v View) string {
	switch {
	case v.LastSuccessAt == nil:
		return words.T(ctx, "status.not_yet")
	case v.Reads:
		return words.T(ctx, "status.checked")
	}
	return words.T(ctx, "status.written")
}

// waitingWords says what waits to be sent to a service.
func waitingWords(ctx context.Context, v View) (all []string) {
	n := v.Waiting.Listens + v.Waiting.Playlists + v.Waiting.Months
	if waits := n - v.Waiting.Parked; waits > 0 {
		all = append(all, words.T(ctx, "status.owed", "Count", waits))
	}
	if v.Waiting.Parked > 0 {
		all = append(all, words.T(ctx, "status.parked", "Count", v.Waiting.Parked))
	}
	return all
}

// mainAction returns the one thing to do on a card; nil for none. What the banner offers, the card does not.
func mainAction(ctx context.Context, v View, announced bool) *ui.Action {
	for _, a := range v.Actions {
		switch {
		case a.Action == "pause", announced && a.Action == "reconnect":
			continue
		}
		return button(v, a)
	}
	if syncer.Condition(v.State) == syncer.Syncing && v.Category == nil { // joins the run; nothing jumps
		return button(v, actionView{Action: "sync", Label: words.T(ctx, "action.sync")})
	}
	return nil
}

// lift returns the way to end a wait that only an administrator can end: to it, or to ask for it. nil for none.
func lift(ctx context.Context, v View, admin bool) *ui.Action {
	spent := syncer.Condition(v.State) == syncer.Held && v.Keyed && v.Category != nil && *v.Category == "quota"
	stopped := syncer.Condition(v.State) == syncer.NeedsAdmin && v.Shared
	switch {
	case admin && spent:
		return &ui.Action{ID: v.ID + "-keys", Label: words.T(ctx, "status.add_key"), URL: "/settings/server",
			DescribedBy: "name-" + v.ID}
	case !admin && (spent || stopped):
		return &ui.Action{ID: v.ID + "-ask", Label: words.T(ctx, "status.ask"), Post: "/ask/" + v.Provider,
			DescribedBy: "name-" + v.ID}
	}
	return nil
}

// button returns the button of something that can be done with a connection.
func button(v View, a actionView) *ui.Action {
	b := &ui.Action{ID: v.ID + "-" + a.Action, Label: a.Label, URL: a.URL, DescribedBy: "name-" + v.ID}
	if a.URL == "" {
		b.Post = "/connections/" + v.ID + "/" + a.Action
	}
	b.Main = a.Action == "reconnect" || a.Action == "resume"
	return b
}

// progressOf returns the bars of a connection. Those of runs are hidden until an event says that one takes long.
func progressOf(ctx context.Context, v View) (all []ui.Bar) {
	for _, s := range v.Streams {
		if s.Stream == library.Deliveries {
			continue
		}
		b := ui.Bar{ID: "progress-" + v.ID + "-" + s.Stream, Key: v.ID + "/" + s.Stream, Done: s.HistoryDone,
			Total: s.HistoryTotal, Hidden: s.HistoryDone == 0}
		switch {
		case s.HistoryDone > 0:
			b.Label = words.T(ctx, "status.history")
		case s.Stream == library.Playlists:
			b.Label = words.T(ctx, "status.reading_playlists")
		default:
			b.Label = words.T(ctx, "status.reading_listens")
		}
		all = append(all, b)
	}
	return all
}

// stampOf returns a time as it is in a sentence.
func stampOf(at time.Time) string {
	return at.UTC().Truncate(time.Second).Format("2006-01-02T15:04:05")
}
