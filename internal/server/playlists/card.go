package playlists

import (
	"context"
	"math"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/match"
	"reprise/internal/words"
	"reprise/web/ui"
)

// copyCard is a copy of a playlist at another service, on the playlist's page.
type copyCard struct {
	ID, Title  string // ID is the connection's
	Post       string // address of its forms
	State      *ui.Mark
	Ask        string      // says that the service first asks the person for a permission
	Consent    []ui.Action // to give it
	Drift      string      // the copy was deleted or changed there
	Decide     []ui.Action // what to do about that
	Nothing    string      // nothing was written, and why
	Going      string      // what is happening to it, or why it is not
	Next       time.Time   // when it is tried again
	Answer     string      // the service's last answer
	Found      string      // how many tracks were found there
	Written    time.Time
	NotThere   string      // how many tracks are Missing
	Open       bool        // Missing is short enough to be shown at once
	Missing    []ui.Item   // tracks that were not found
	Matched    []ui.Item   // all tracks, with how each was recognised
	Back       string      // why changes aren't brought back to the playlist, or that they will be
	BackAnswer string      // the last answer of the playlist's service
	BackAgain  []ui.Action // to try it again
	OneWay     string      // why both ways isn't offered
	Allow      []ui.Action // to allow it
	When       *ui.Field   // what to do when it is deleted or changed there
	Actions    []ui.Action
	Stays      string // what stopping leaves there
}

// fewMissing is how many tracks that were not found are shown without being asked for.
const fewMissing = 10

// done is the state of a delivery that has gone out.
const done = string(delivery.Done)

// copyPath returns the address of the forms of a copy.
func copyPath(playlist string, c Copy) string {
	return "/playlists/" + playlist + "/copies/" + c.Connection
}

// cardOf returns the card of a copy of a playlist.
func cardOf(ctx context.Context, playlist string, c Copy) copyCard {
	v := copyCard{ID: c.Connection, Title: words.T(ctx, "playlists.copy_on", "Name", c.DisplayName),
		Post: copyPath(playlist, c)}
	write := func(label, value, about string) ui.Action {
		return ui.Action{Label: label, Post: v.Post, Fields: []ui.Hidden{{Name: "write", Value: value}},
			DescribedBy: about}
	}
	name := "copy-name-" + c.Connection
	if c.Consent != nil { // the permission was taken back
		v.Ask = words.T(ctx, "playlists.consent_lead", "Name", c.DisplayName)
		v.Consent = []ui.Action{{Label: words.T(ctx, "playlists.consent", "Name", c.DisplayName), URL: *c.Consent,
			Main: true}}
	}
	v.state(ctx, c)
	v.report(ctx, c)
	switch {
	case c.Drift == string(delivery.Conflict):
		v.Drift = words.T(ctx, "playlists.drift_conflict", "Name", c.DisplayName)
		v.Decide = []ui.Action{{Label: words.T(ctx, "playlists.both.decide"), URL: conflictPath(playlist, c),
			Main: true}}
	case c.Drift != "":
		v.Drift, v.Decide = drift(ctx, c, write)
	}
	v.When = &ui.Field{Name: "when_changed", ID: "when-" + c.Connection, Label: words.T(ctx, "playlists.when"),
		Value: c.WhenChanged, Options: []ui.Option{
			{Value: ask, Label: words.T(ctx, "playlists.when_ask")},
			{Value: string(delivery.Rewrite), Label: words.T(ctx, "playlists.when_write")},
			{Value: string(delivery.Leave), Label: words.T(ctx, "playlists.when_leave")}}}
	v.bothWays(ctx, playlist, c)
	if d := c.Delivery; d != nil && d.Redrivable {
		v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "playlists.again"),
			Post: "/deliveries/" + d.ID + "/redrive", DescribedBy: name})
	}
	v.Actions = append(v.Actions, write(words.T(ctx, "playlists.stop"), "stop", "stays-"+c.Connection))
	v.Stays = words.T(ctx, "playlists.stop_help")
	return v
}

// bothWays offers to bring changes of the copy back to the playlist, or says why that isn't possible.
func (v *copyCard) bothWays(ctx context.Context, playlist string, c Copy) {
	if c.OneWay == "" || c.WhenChanged == string(delivery.Both) {
		v.When.Options = append(v.When.Options,
			ui.Option{Value: string(delivery.Both), Label: words.T(ctx, "playlists.when_both")})
	}
	if c.OneWay != "" {
		v.OneWay = words.Each("playlists.one_way_", c.OneWay).T(ctx)
	}
	if c.OneWay == string(delivery.NoConsent) {
		v.Allow = []ui.Action{{Label: words.T(ctx, "playlists.one_way_allow"), URL: c.allow}}
	}
	d := c.BringsBack
	if d == nil || d.State == done {
		return
	}
	if v.Back = d.Reason; v.Back == "" {
		v.Back = words.T(ctx, "playlists.both.going")
	}
	v.BackAnswer = d.LastAnswer
	if d.Redrivable {
		v.BackAgain = []ui.Action{{Label: words.T(ctx, "playlists.again"), Post: "/deliveries/" + d.ID + "/redrive",
			DescribedBy: "copy-name-" + c.Connection}}
	}
}

// state says what is happening to a copy.
func (v *copyCard) state(ctx context.Context, c Copy) {
	d := c.Delivery
	switch {
	case d != nil && d.State != done:
		m := ui.StateMark(ctx, d.State)
		v.State = &m
	case c.UpToDate:
		m := ui.StateMark(ctx, "healthy")
		v.State = &m
	}
	if d == nil || d.State == done || nothingWritten(c) {
		return
	}
	v.Next, v.Answer = d.NextAttemptAt.Time, d.LastAnswer
	switch {
	case d.Reason != "":
		v.Going = d.Reason
	case d.State == string(delivery.Running):
		v.Going = words.T(ctx, "playlists.looking_up")
	default:
		v.Going = words.T(ctx, "playlists.next")
	}
}

// nothingWritten says whether a copy was not written because too few of its tracks are there.
func nothingWritten(c Copy) bool { return c.Report != nil && c.Report.Done == "nothing" }

// report says what became of the tracks when the copy was last written.
func (v *copyCard) report(ctx context.Context, c Copy) {
	r := c.Report
	if r == nil {
		return
	}
	if nothingWritten(c) {
		v.Nothing = words.T(ctx, "playlists.nothing", "Count", r.Total, "Found", r.Matched, "Name", c.DisplayName)
		if !c.WrittenAt.IsZero() {
			v.Nothing += " " + words.T(ctx, "playlists.kept")
		}
	} else {
		v.Found, v.Written = words.T(ctx, "playlists.found", "Count", r.Total, "Found", r.Matched), c.WrittenAt.Time
		if r.Done == "unchanged" {
			v.Found += " " + words.T(ctx, "playlists.unchanged")
		}
	}
	for _, t := range r.Tracks {
		item := ui.Item{Title: ui.Named{Text: t.Title}, By: []ui.Named{{Text: t.Artist}}}
		if t.How == match.ByNothing {
			v.Missing = append(v.Missing, missing(ctx, c, t, item))
		}
		item.Note = howWords(ctx, t)
		v.Matched = append(v.Matched, item)
	}
	if r.Matched == 0 {
		v.Matched = nil // the list of what is missing says it all
	}
	v.Open = len(v.Missing) <= fewMissing
	v.NotThere = words.T(ctx, "playlists.missing", "Count", len(v.Missing), "Name", c.DisplayName)
}

// missing adds the way to choose which song a track is, if there are some.
func missing(ctx context.Context, c Copy, t delivery.ReportTrack, item ui.Item) ui.Item {
	if t.Question != "" {
		item.Aside = ui.Linked(ui.Named{Text: words.T(ctx, "playlists.choose", "Count", t.Offered),
			URL: "/connections/" + c.Connection + "/songs/" + t.Question})
	}
	return item
}

// howWords says how a track was recognised.
func howWords(ctx context.Context, t delivery.ReportTrack) string {
	switch t.How {
	case match.ByNothing:
		return words.T(ctx, "playlists.how_none")
	case match.ByScore:
		return words.T(ctx, "playlists.how_score", "Percent", int(math.Round(t.Score*100)), "Found", t.Found)
	default:
		return words.Each("playlists.how_", string(t.How)).T(ctx)
	}
}

// drift says that a copy was deleted or changed there, and offers what can be done. write makes a button.
func drift(ctx context.Context, c Copy, write func(label, value, about string) ui.Action) (string, []ui.Action) {
	left, name := c.WhenChanged == string(delivery.Leave), "copy-name-"+c.Connection
	says, again := c.Drift+"_ask", words.T(ctx, "playlists.overwrite")
	if left {
		says = c.Drift + "_leave"
	}
	if c.Drift == string(delivery.Gone) {
		again = words.T(ctx, "copy.rewrite")
	}
	decide := []ui.Action{write(again, "rewrite", name)}
	if !left {
		decide = append(decide, write(words.T(ctx, "copy.leave"), "leave", name))
	}
	return words.Each("playlists.drift_", says, "Name", c.DisplayName).T(ctx), decide
}
