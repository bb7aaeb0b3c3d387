package connections

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/activity"
	"reprise/internal/server/core"
	"reprise/internal/server/imports"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// page answers for the page of one connection.
type page struct {
	core        *core.Core
	store       Store
	connections *syncer.Connections
	statuses    *Statuses
	forwarding  *forwarding
	runs        *runs
	skipped     *skipped
	imports     *imports.Handler
	activity    *activity.Handler
	history     History
}

// connectionDetails is the page of a connection. Parts that do not apply are nil.
type connectionDetails struct {
	Card       CardView
	Path       string // of the page
	Head       ui.Heading
	Facts      []string
	Actions    []ui.Action
	Detail     string
	Forward    *forwardPart // if the provider takes listens
	Archive    *archivePart
	StreamsOf  string // heading of the streams
	Streams    ui.Grid
	Runs       *runsPart // if something is read
	Late       string    // what is read of plays that arrive late; empty if nothing is read
	Skipped    *skippedPart
	Gaps       []string
	FillGaps   bool          // one of them can be filled by an import
	Import     *imports.Part // if its export can be imported
	Activity   []activity.Activity
	Disconnect disconnectPart
}

func (h *page) show(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	id, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	st, err := h.statuses.Status(ctx, user, id)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, "/settings")
	}
	if err != nil {
		return err
	}
	open, err := h.core.Open(ctx, user)
	if err != nil {
		return err
	}
	r := readerOf(core.UserOf(c), c.Request().URL.Path, open)
	view := h.statuses.view(ctx, st)
	v := detailsOf(ctx, view, r)
	if err := v.Card.through(ctx, h.history, user, view); err != nil {
		return err
	}
	v.Late = lateWords(ctx, st)
	if err := h.parts(c, st, &v); err != nil {
		return err
	}
	v.Disconnect = disconnectOf(ctx, st, v.Forward != nil)
	if next, err := h.connections.Next(ctx, user, id.Provider()); err == nil {
		v.Disconnect.Another = &ui.Named{Text: words.T(ctx, "connection.another", "Service", st.Provider.Called()),
			URL: "/connect/" + string(next)}
	}
	return h.core.Show(c, http.StatusOK, v.Card.Name, connectionPage(v))
}

// detailsOf returns what the page of a connection says of its state.
func detailsOf(ctx context.Context, w Connection, r reader) connectionDetails {
	v := connectionDetails{Card: newCard(ctx, w, r), Path: r.Path, Detail: w.Detail,
		Streams: streamTable(ctx, w, r.Admin)}
	v.Head = ui.Heading{ID: "name-" + w.ID, Title: w.DisplayName, Sub: w.Account, State: &v.Card.State, Back: "/",
		BackTo: words.T(ctx, "status.title")}
	if w.ConsecutiveFailures > 1 && v.Card.Since != "" {
		v.Facts = append(v.Facts, words.T(ctx, "connection.failures", "Count", w.ConsecutiveFailures))
	}
	if !w.ExpiresAt.IsZero() && syncer.Condition(w.State) != syncer.NeedsReconnect {
		v.Facts = append(v.Facts, words.T(ctx, "connection.expires", "Date", words.Day(w.ExpiresAt.Time)))
	}
	if w.Spread != "" && syncer.Condition(w.State) != syncer.Paused {
		v.Facts = append(v.Facts, w.Spread)
	}
	for _, a := range w.offered() {
		v.Actions = append(v.Actions, *button(w, a))
	}
	if main := v.Card.Action; main != nil && len(v.Actions) > 0 && main.ID != v.Actions[0].ID {
		v.Actions = append([]ui.Action{*main}, v.Actions...)
	}
	switch {
	case !w.Reads:
		v.StreamsOf = words.T(ctx, "connection.sent_part")
	case w.has(library.Deliveries):
		v.StreamsOf = words.T(ctx, "connection.both_part")
	default:
		v.StreamsOf = words.T(ctx, "connection.read_part")
	}
	return v
}

// streamTable returns the table of what is read and sent.
func streamTable(ctx context.Context, w Connection, admin bool) ui.Grid {
	g := ui.Grid{Class: "streams", Columns: []string{words.T(ctx, "connection.stream"),
		words.T(ctx, "connection.state"), words.T(ctx, "connection.last"), words.T(ctx, "connection.next_time")}}
	for _, s := range w.Streams {
		last, next := ui.Name(words.T(ctx, "connection.not_yet")), ui.Name(s.Next)
		if !s.LastSuccessAt.IsZero() {
			last = ui.Time(s.LastSuccessAt.Time, ui.Ago)
		}
		if !s.NextAttemptAt.IsZero() {
			next = ui.Time(s.NextAttemptAt.Time, ui.Until)
		}
		g.Rows = append(g.Rows, ui.Line{ID: "stream-" + s.Stream, Note: s.Note, Cells: []templ.Component{
			ui.Name(words.Each("part.", s.Stream).T(ctx)),
			ui.State(StateMark(ctx, s.State, admin)), last, next}})
	}
	return g
}

// parts adds the parts of a connection's page.
func (h *page) parts(c echo.Context, st syncer.Status, v *connectionDetails) (err error) {
	ctx, user, conn := c.Request().Context(), st.Connection.User, st.Connection
	if st.Provider.Takes.Listens != "" {
		if v.Forward, err = h.forwarding.part(ctx, conn, st.Provider, v.Card.Calm); err != nil {
			return err
		}
	}
	if st.Provider.Takes.Archive {
		if v.Archive, err = h.archivePart(ctx, user, conn.ID); err != nil {
			return err
		}
	}
	if v.Runs, err = h.runs.part(ctx, st); err != nil {
		return err
	}
	if v.Skipped, err = h.skipped.part(ctx, user, conn.ID); err != nil {
		return err
	}
	if v.Import, err = h.imports.Part(ctx, conn, st.Provider); err != nil {
		return err
	}
	if err = h.gaps(ctx, st, v); err != nil {
		return err
	}
	v.Activity, err = h.activity.Latest(c, conn.ID)
	return err
}

// lateWords says what is read of plays that reach the service long after they were played.
func lateWords(ctx context.Context, st syncer.Status) string {
	i := slices.IndexFunc(st.Streams, func(s syncer.StreamStatus) bool { return s.Stream == library.Listens })
	if i < 0 || st.Streams[i].LastSuccessAt.IsZero() || !st.Streams[i].Reads {
		return ""
	}
	name := st.Connection.Label(st.Provider.Called().T(ctx))
	switch {
	case st.Streams[i].LateAtOnce:
		return words.T(ctx, "connection.late.at_once", "Name", name)
	case st.Streams[i].LateDaily:
		return words.T(ctx, "connection.late.daily", "Name", name)
	}
	return words.T(ctx, "connection.late.day", "Name", name)
}

// gapsShown is the number of gaps on a connection's page.
const gapsShown = 5

// gaps adds when a connection was not read.
func (h *page) gaps(ctx context.Context, st syncer.Status, v *connectionDetails) error {
	all, err := h.store.Gaps(ctx, st.Connection.User, st.Connection.ID)
	for _, g := range all[:min(len(all), gapsShown)] {
		v.Gaps = append(v.Gaps, gapWords(ctx, v.Card.Name, g))
		v.FillGaps = v.FillGaps || v.Import != nil && !g.LostTo.IsZero() && g.FilledAt.IsZero()
	}
	return err
}

// gapWords says what became of what was played while a connection was not read.
func gapWords(ctx context.Context, name string, g library.Gap) string {
	said := words.T(ctx, "connection.gap.caught_up", "Count", g.Recovered, "Name", name, "From", g.From, "To", g.To)
	if g.LostTo.IsZero() {
		return said + " " + words.T(ctx, "connection.gap.whole")
	}
	said += " " + words.T(ctx, "connection.gap.lost", "Name", name, "Before", g.LostTo)
	if !g.FilledAt.IsZero() {
		said += " " + words.T(ctx, "connection.gap.filled", "Count", g.Filled)
	}
	return said
}

// disconnectPart is the end of a connection's page: changing it, and disconnecting.
type disconnectPart struct {
	Again   ui.Named  // connecting it again
	Another *ui.Named // one more connection to the provider; nil if there can be none
	Name    string    // given by its person
	Title   string
	Owed    string // what waits to be sent there; empty for nothing
	Lead    string
	Keep    string
	Delete  string
}

func disconnectOf(ctx context.Context, st syncer.Status, forwards bool) disconnectPart {
	name, owed := st.Connection.Label(st.Provider.Called().T(ctx)), st.Waiting.Listens
	d := disconnectPart{Name: st.Connection.Name, Title: words.T(ctx, "connection.disconnect.title", "Name", name),
		Again: ui.Named{Text: words.T(ctx, "connection.again", "Name", name),
			URL: "/connect/" + string(st.Connection.ID)},
		Lead: words.T(ctx, "connection.disconnect.lead"), Keep: words.T(ctx, "connection.disconnect.keep"),
		Delete: words.T(ctx, "connection.disconnect.delete_there")}
	if forwards {
		d.Lead = words.T(ctx, "connection.disconnect.lead_sends")
	}
	if owed > 0 {
		d.Owed = words.T(ctx, "connection.disconnect.owed", "Count", owed, "Name", name)
	}
	if st.Reading != nil {
		d.Keep = words.T(ctx, "connection.disconnect.keep_read")
		d.Delete = words.T(ctx, "connection.disconnect.delete_read", "Name", name)
		if forwards {
			d.Delete = words.T(ctx, "connection.disconnect.delete_both", "Name", name)
		}
	}
	return d
}
