package channels

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/words"
	"reprise/web/ui"
)

// address is that of the page of channels.
const address = "/settings/notifications"

// listView is the page of channels.
type listView struct {
	Lead  string
	Cards []card
	Push  string // the public key of this installation for push services
	Forms []addForm
}

// adding reports whether somebody has chosen what to add.
func (v listView) adding() bool {
	return slices.ContainsFunc(v.Forms, func(f addForm) bool { return f.Open })
}

// card is a channel on the page.
type card struct {
	ID, Name string
	Kind     string
	Sub      string // its kind and address
	Push     string // the address by which its browser knows it
	State    ui.Mark
	Trouble  string // a sentence; empty while it works
	Facts    []string
	Failed   []failure
	Actions  []ui.Action
}

// failure is what could not be sent to a channel for one reason.
type failure struct {
	Says    string
	Actions []ui.Action
}

// addForm is a form that adds a channel.
type addForm struct {
	Kind, Label string // Kind is "url" for the one that takes an address
	Brief       string // what arrives there
	Help        string // what its brief line does not say; may be empty
	Open        bool   // it is the one that was chosen
	Problem     string
	Fields      []ui.Field
	Wishes      wishes
}

// wishes are the fields that every channel's form ends with.
type wishes struct {
	Fields []ui.Field
	Zone   string
}

// cardOf returns the card of a channel; failed is what could not be sent to it.
func cardOf(ctx context.Context, ch notify.Channel, failed []delivery.Group) card {
	v := viewChannel(ctx, ch)
	c := card{ID: v.ID, Name: v.Name, Kind: ch.Kind, Sub: v.Address,
		Push:  channels.PushAddress(ch.Kind, string(ch.URL)),
		State: ui.Mark{Shape: "healthy", Word: words.T(ctx, "channels.state.working")}}
	if label := labelOf(ctx, ch.Kind); label != v.Name {
		c.Sub = label + ", " + v.Address
	}
	switch why := ch.Reason.T(ctx); {
	case v.State == "stopped":
		c.State = ui.Mark{Shape: "needs_reconnect", Word: words.T(ctx, "channels.state.stopped")}
		c.Trouble = words.T(ctx, "channels.trouble.stopped", "Why", why, "Since", ch.FailingSince)
	case v.State == "failing" && ch.Waiting > 0:
		c.State = ui.Mark{Shape: "waiting", Word: words.T(ctx, "channels.state.retrying")}
		c.Trouble = words.T(ctx, "channels.trouble.retrying", "Why", why, "Since", ch.FailingSince)
	case v.State == "failing":
		c.State = ui.Mark{Shape: "waiting", Word: words.T(ctx, "channels.state.failing")}
		c.Trouble = words.T(ctx, "channels.trouble.failing", "Why", why, "Since", ch.FailingSince)
	}
	c.Facts = facts(ctx, ch, v)
	for _, g := range failed {
		c.Failed = append(c.Failed, failureOf(ctx, g))
	}
	name := "channel-name-" + v.ID
	c.Actions = []ui.Action{{ID: "test-" + v.ID, Label: words.T(ctx, "channels.test"),
		Post: address + "/" + v.ID + "/test", Main: v.State == "stopped", DescribedBy: name}}
	if ch.Kind == channels.Email {
		c.Actions = append(c.Actions, ui.Action{Label: words.T(ctx, "week.review"), URL: "/listening/weeks#mail",
			DescribedBy: name})
	}
	if !v.FromSettings {
		c.Actions = append(c.Actions,
			ui.Action{Label: words.T(ctx, "channels.change"), URL: address + "/" + v.ID, DescribedBy: name},
			ui.Action{Label: words.T(ctx, "channels.remove"), URL: address + "/" + v.ID + "/remove", DescribedBy: name})
	}
	return c
}

// facts say what a channel gets and when, and what waits for it.
func facts(ctx context.Context, ch notify.Channel, v Channel) []string {
	all := []string{words.Each("channels.heard.", v.Severity).T(ctx)}
	if v.QuietFrom != nil && v.QuietTo != nil {
		id := words.New("channels.quiet", "From", *v.QuietFrom, "To", *v.QuietTo)
		if v.ErrorsAtNight {
			id = words.New("channels.quiet_errors", "From", *v.QuietFrom, "To", *v.QuietTo)
		}
		all = append(all, id.T(ctx))
	}
	if !ch.Reported.IsZero() {
		all = append(all, words.T(ctx, "week.mail.gets"))
	}
	if ch.LastSentAt.IsZero() {
		all = append(all, words.T(ctx, "channels.nothing_sent"))
	} else {
		all = append(all, words.T(ctx, "channels.last_sent", "At", ch.LastSentAt))
	}
	switch {
	case v.Waiting > 0 && v.State == "working":
		all = append(all, words.T(ctx, "channels.waiting_quiet", "Count", v.Waiting))
	case v.Waiting > 0:
		all = append(all, words.T(ctx, "channels.waiting", "Count", v.Waiting))
	}
	if v.FromSettings {
		all = append(all, words.T(ctx, "channels.fixed"))
	}
	return all
}

// failureOf returns what could not be sent to a channel for one reason, with its way out.
func failureOf(ctx context.Context, g delivery.Group) failure {
	f := failure{Says: words.T(ctx, "channels.failed", "Count", g.Count)}
	reason := g.Reason.T(ctx)
	if reason == "" { // nothing by which they can be selected
		return f
	}
	f.Says += " " + reason
	query := "?" + url.Values{"state": {string(delivery.Dead)}, "connection": {string(g.Connection)},
		"reason": {reason}}.Encode()
	f.Actions = []ui.Action{
		{Label: words.T(ctx, "channels.again"), URL: "/deliveries/redrive" + query, Main: true},
		{Label: words.T(ctx, "channels.discard"), URL: "/deliveries/discard" + query},
	}
	return f
}

// labelOf returns what people read for a kind of channel.
func labelOf(ctx context.Context, kind string) string {
	return words.Each("channels.kind.", kind).T(ctx)
}

// typed is what somebody entered in a form that could not be saved.
type typed struct {
	Kind    string // whose form it is: "url" for the one that takes an address
	Problem string
	Values  map[string]string // without secrets
	Wishes  wishesView
}

// formsOf returns the forms that add a channel.
func formsOf(ctx context.Context, in typed) (all []addForm) {
	for _, k := range channels.Kinds() {
		if len(k.Fields) == 0 {
			continue
		}
		f := addForm{Kind: k.Name, Label: labelOf(ctx, k.Name), Help: k.Help.T(ctx)}
		for _, field := range k.Fields {
			shown := ui.Field{Name: "field_" + field.Name, ID: k.Name + "-" + field.Name, Type: "text",
				Label: field.Label.T(ctx), Required: !field.Optional, Optional: field.Optional,
				Help: field.Help.T(ctx), Autocomplete: "off", Exact: true}
			if field.Kind == "password" {
				shown.Type = "password"
			}
			if in.Kind == k.Name {
				shown.Value = in.Values[field.Name]
			}
			f.Fields = append(f.Fields, shown)
		}
		all = append(all, f)
	}
	all = append(all, addForm{Kind: "url", Label: words.T(ctx, "channels.url.title"), Help: words.T(ctx,
		"channels.url.help"), Fields: []ui.Field{{Name: "address", ID: "url-address", Type: "password", Required: true,
		Label: words.T(ctx, "channels.url.label"), Autocomplete: "off", Exact: true}}})
	for i := range all {
		f := &all[i]
		f.Brief = words.Each("channels.brief.", f.Kind).T(ctx)
		values := wishesView{Severity: string(notify.Warning)}
		if f.Kind == in.Kind {
			f.Open, f.Problem, values = true, in.Problem, in.Wishes
		}
		f.Wishes = wishesOf(ctx, f.Kind, values)
	}
	return all
}

// wishesOf returns the fields that every channel's form ends with; the prefix makes their ids unique.
func wishesOf(ctx context.Context, prefix string, v wishesView) wishes {
	severity := ui.Field{Name: "severity", ID: prefix + "-severity", Label: words.T(ctx, "channels.wish.severity"),
		Value: cmp.Or(v.Severity, string(notify.Warning))}
	for _, s := range slices.Backward([]notify.Severity{notify.Info, notify.Success, notify.Warning, notify.Error}) {
		severity.Options = append(severity.Options, ui.Option{Value: string(s),
			Label: words.Each("channels.severity.", string(s)).T(ctx)})
	}
	return wishes{Zone: v.Zone, Fields: []ui.Field{
		{Name: "name", ID: prefix + "-name", Label: words.T(ctx, "channels.wish.name"), Value: v.Name, MaxLength: "60",
			Optional: true, Autocomplete: "off", Placeholder: words.T(ctx, "channels.wish.example")},
		severity,
		{Name: "quiet_from", ID: prefix + "-quiet-from", Type: "time", Optional: true, Value: v.QuietFrom,
			Label: words.T(ctx, "channels.wish.quiet_from")},
		{Name: "quiet_to", ID: prefix + "-quiet-to", Type: "time", Optional: true, Value: v.QuietTo,
			Label: words.T(ctx, "channels.wish.quiet_to")},
		{Name: "errors_at_night", ID: prefix + "-errors", Type: "checkbox", Checked: v.ErrorsAtNight,
			Label: words.T(ctx, "channels.wish.errors")},
	}}
}
