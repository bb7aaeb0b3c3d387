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

// CardView is a connection on the start page. No banner says there what a card says.
type CardView struct {
	ID, Provider, Name, Account string

	State    ui.Mark
	Calm     bool       // nothing is the matter
	Loud     bool       // it needs a person
	Says     string     // what is the matter and what happens next
	Sides    []sideView // reading and sending, where they differ
	Note     string     // what its server does not offer
	Since    string     // what began when
	Through  string     // through what its plays come meanwhile
	Next     time.Time  // the next attempt, if Says does not name it
	Notices  []notice   // unless it needs a person
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
	Says  string // what is the matter; empty for nothing
	Began string
	Next  time.Time // zero for none, or if Says names it
}

// notice is an open notification that is not urgent.
type notice struct {
	ID, Title string
	Button    *ui.Action // nil on the page that it leads to
}

// reader is the person who looks at a page.
type reader struct {
	ID    int64
	Admin bool
	Path  string // of the page
	Zone  *time.Location
	Open  []core.Notification // what is open for them
}

func readerOf(u accounts.User, path string, open []core.Notification) reader {
	r := reader{ID: u.ID, Admin: u.Role == accounts.Admin, Path: path, Zone: time.Local, Open: open}
	if zone, err := time.LoadLocation(u.Zone); err == nil && u.Zone != "" {
		r.Zone = zone
	}
	return r
}

// newCard returns the card of a connection.
func newCard(ctx context.Context, v Connection, r reader) CardView {
	c := CardView{ID: v.ID, Provider: v.Provider, Name: v.DisplayName, Account: v.Account, Note: v.Note,
		Progress: progressOf(ctx, v)}
	state := syncer.Condition(v.State)
	c.State = StateMark(ctx, v.State, r.Admin)
	c.Calm = v.Category == nil && (state == syncer.Healthy || state == syncer.Syncing)
	if c.Loud = needs(state); !c.Loud {
		c.Notices = noticesOf(v, r)
	}
	if c.Sides = sides(ctx, v, r.Admin); len(c.Sides) == 0 && !c.Calm {
		if main := v.main(); main != nil && state != syncer.Paused {
			c.Since = main.Began
		}
		c.Says, c.Next = v.Message, nextOf(v.Message, v.NextAttemptAt)
	}
	if len(c.Sides) > 0 && state == syncer.Healthy { // what waits is sending: the card isn't up to date
		c.State = c.Sides[1].State
	}
	c.Last, c.Checked = v.LastSuccessAt.Time, lastWords(ctx, v)
	c.Figures = waitingWords(ctx, v)
	if len(c.Notices) == 0 || c.Notices[0].Button == nil { // else that is the main one
		c.Action = mainAction(ctx, v)
		if ask := askFor(ctx, v, r.Admin); ask != nil {
			c.Action = ask
		}
	}
	return c
}

// through adds through what the plays of a connection come while it isn't read.
func (c *CardView) through(ctx context.Context, all History, user int64, v Connection) error {
	if c.Calm || !v.has(library.Listens) {
		return nil // most people's connections: nothing is asked for
	}
	stand, err := all.StandIns(ctx, user)
	c.Through = stand[library.ConnectionID(v.ID)]
	return err
}

// noticesOf returns the open notifications of a connection that are not urgent and lead somewhere.
func noticesOf(v Connection, r reader) (all []notice) {
	for _, n := range r.Open {
		if n.Connection != v.ID || n.Urgent() || n.Action == nil {
			continue
		}
		one := notice{ID: n.ID, Title: n.Title}
		if n.Action.URL != r.Path {
			one.Button = &ui.Action{Label: n.Action.Label, URL: n.Action.URL, Main: true}
		}
		all = append(all, one)
	}
	return all
}

// main returns the line that the state of a connection is of; nil if there is none.
func (v Connection) main() *ConnectionLine {
	if v.Reading != nil && v.Reading.State == v.State {
		return v.Reading
	}
	return cmp.Or(v.Sending, v.Reading)
}

// sides returns reading and sending where they differ, and one of them has trouble; nil otherwise.
func sides(ctx context.Context, v Connection, admin bool) []sideView {
	if v.Reading == nil || v.Sending == nil || v.Reading.State == v.Sending.State ||
		v.Reading.Category == nil && v.Sending.Category == nil || syncer.Condition(v.State) == syncer.Paused {
		return nil
	}
	one := func(label string, l *ConnectionLine) sideView {
		return sideView{Label: label, State: StateMark(ctx, l.State, admin), Says: l.Message,
			Began: l.Began, Next: nextOf(l.Message, l.NextAttemptAt)}
	}
	return []sideView{one(words.T(ctx, "status.reading"), v.Reading), one(words.T(ctx, "status.sending"), v.Sending)}
}

// nextOf returns the time of the next attempt, unless a sentence names it.
func nextOf(sentence string, next core.MaybeTime) time.Time {
	at := next.Time
	if strings.Contains(sentence, stampOf(at)) {
		return time.Time{}
	}
	return at
}

func needs(c syncer.Condition) bool { return c == syncer.NeedsReconnect || c == syncer.NeedsAdmin }

// StateMark returns a state in a word. What needs the administrator needs you, if you are one.
func StateMark(ctx context.Context, state string, admin bool) ui.Mark {
	m := ui.StateMark(ctx, state)
	if state == string(syncer.NeedsAdmin) && admin {
		m.Word = words.T(ctx, "mark.needs_reconnect")
	}
	return m
}

// lastWords says what was done with a service last.
func lastWords(ctx context.Context, v Connection) string {
	switch {
	case v.LastSuccessAt.IsZero() && !v.Reads:
		return words.T(ctx, "status.not_sent")
	case v.LastSuccessAt.IsZero():
		return words.T(ctx, "status.not_yet")
	case v.Reads:
		return words.T(ctx, "status.checked")
	case v.Archives:
		return words.T(ctx, "status.written")
	}
	return words.T(ctx, "status.sent")
}

// waitingWords says what waits to be sent to a service.
func waitingWords(ctx context.Context, v Connection) (all []string) {
	n := v.Waiting.Listens + v.Waiting.Playlists + v.Waiting.Months
	if waits := n - v.Waiting.Parked; waits > 0 {
		all = append(all, words.T(ctx, "status.owed", "Count", waits))
	}
	if v.Waiting.Parked > 0 {
		all = append(all, words.T(ctx, "status.parked", "Count", v.Waiting.Parked))
	}
	return all
}

// mainAction returns the one thing to do on a card; nil for none.
func mainAction(ctx context.Context, v Connection) *ui.Action {
	for _, a := range v.offered() {
		if a.Action != "pause" {
			return button(v, a)
		}
	}
	if syncer.Condition(v.State) == syncer.Syncing && v.Category == nil { // joins the run; nothing jumps
		return button(v, ConnectionAction{Action: "sync", Label: words.T(ctx, "action.sync")})
	}
	return nil
}

// offered returns what pages offer of what can be done: no new try where it takes a reconnection, which comes first
// then.
func (v Connection) offered() (all []ConnectionAction) {
	reconnect := false
	for _, a := range v.Actions {
		if a.Action != "retry" || !reconnect {
			all = append(all, a)
		}
		reconnect = reconnect || a.Action == "reconnect"
	}
	return all
}

// askFor returns how a member asks for the end of a wait that only an administrator can end; nil for none.
func askFor(ctx context.Context, v Connection, admin bool) *ui.Action {
	liftable := v.Reading != nil && v.Reading.Liftable || v.Sending != nil && v.Sending.Liftable
	if admin || !liftable {
		return nil
	}
	return &ui.Action{ID: v.ID + "-ask", Label: words.T(ctx, "status.ask"), Post: "/ask/" + v.Provider,
		DescribedBy: "name-" + v.ID}
}

// button returns the button of something that can be done with a connection.
func button(v Connection, a ConnectionAction) *ui.Action {
	b := &ui.Action{ID: v.ID + "-" + a.Action, Label: a.Label, URL: a.URL, DescribedBy: "name-" + v.ID}
	if a.URL == "" {
		b.Post = "/connections/" + v.ID + "/" + a.Action
	}
	b.Main = a.Action == "reconnect" || a.Action == "resume"
	return b
}

// progressOf returns the bars of a connection. Those of runs are hidden until an event says that one takes long.
func progressOf(ctx context.Context, v Connection) (all []ui.Bar) {
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
		case s.Stream == library.Loves:
			b.Label = words.T(ctx, "status.reading_loves")
		case s.Stream == library.Songs:
			b.Label = words.T(ctx, "status.reading_songs")
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
