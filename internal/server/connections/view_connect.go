package connections

import (
	"context"
	"net/url"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Steps leads a person through their first steps.
type Steps interface {
	// Way returns how far a person has come who connects a service, and nil if they are not led.
	Way(ctx context.Context, u accounts.User, provider, returnTo string) (*ui.Way, error)
}

// Asks carries what members need from the administrators.
type Asks interface {
	NeedOf(*providers.Provider) asks.Need
	Of(ctx context.Context, user int64) (map[string]asks.Ask, error)
	Used(ctx context.Context, user int64, provider string) error
}

// connectView is the page of what a person enters to connect a service.
type connectView struct {
	ID       string
	Title    string
	Lead     string
	ReturnTo string
	Way      *ui.Way
	Problem  string
	Fields   []ui.Field // to be filled in
	More     []ui.Field // those that few people need
	Open     bool       // whether More is shown: something is wrong, perhaps there
	Kept     []ui.Field // what is kept from before
	Button   string
}

// askView is the page of a service that an administrator has to set up or put right first.
type askView struct {
	Provider string
	Title    string
	Lead     string
	ReturnTo string
	Way      *ui.Way
	Asked    *ui.Action // the button; nil if it was pressed
	At       string     // the sentence that says when
}

// typed is what a person has typed, by the names of the fields.
type typed map[string]string

// formOf returns the fields of a provider's form. Of a connection that exists everything is kept but its secret.
func formOf(ctx context.Context, p *providers.Provider, values typed, exists bool) (v connectView) {
	secrets := 0
	for _, f := range p.Fields {
		if isSecret(f) && values[had(f)] != "" {
			secrets++
		}
	}
	for _, f := range p.Fields {
		field := fieldOf(ctx, f, values)
		switch {
		case exists && (!isSecret(f) || secrets > 0 && values[had(f)] == ""):
			v.Kept = append(v.Kept, field)
			continue
		case !exists && f.Seldom:
			v.More = append(v.More, field)
			continue
		case exists && secrets > 0:
			field.Required, field.Optional, field.Help = true, false, ""
		}
		v.Fields = append(v.Fields, field)
	}
	if len(v.Fields) > 0 {
		v.Fields[0].Autofocus = true
	}
	return v
}

func isSecret(f providers.Field) bool { return f.Kind == "password" }

// had returns the name under which values say that a connection has a secret, which no page shows.
func had(f providers.Field) string { return f.Name + "?" }

func fieldOf(ctx context.Context, f providers.Field, values typed) ui.Field {
	field := ui.Field{Name: f.Name, ID: "field-" + f.Name, Label: f.Label.T(ctx), Help: f.Help.T(ctx),
		Value: values[f.Name], Required: !f.Optional, Optional: f.Optional && f.Or == "", Exact: true,
		Autocomplete: "off"}
	switch f.Kind {
	case "password":
		field.Type, field.Value = "password", ""
	case "checkbox":
		field.Type, field.Checked = "checkbox", values[f.Name] != ""
	}
	return field
}

// nameField is the field for the name of one more connection to a provider.
func nameField(ctx context.Context, p *providers.Provider, label, value string) ui.Field {
	help := words.New("connect.name_help", "Label", label)
	if p.Owner == providers.OwnServer { // which may be of another kind than the provider's name says
		help = words.New("connect.name_help_server")
	}
	return ui.Field{Name: "name", ID: "field-name", Label: words.T(ctx, "connect.name"), Value: value, Optional: true,
		MaxLength: "60", Autocomplete: "off", Help: help.T(ctx)}
}

// titleOf returns the title of the page that connects a service.
func titleOf(ctx context.Context, label string, p *providers.Provider, exists, another bool) string {
	switch {
	case exists:
		return words.T(ctx, "connect.again", "Name", label)
	case another:
		return words.T(ctx, "connect.another", "Name", p.Called())
	}
	return words.T(ctx, "connect.title", "Name", p.Called())
}

// askOf returns the page for a member who needs an administrator.
func askOf(ctx context.Context, p *providers.Provider, need asks.Need, mine map[string]asks.Ask, to string) askView {
	v := askView{Provider: p.Name, ReturnTo: to, Title: words.T(ctx, "connect.title", "Name", p.Called()),
		Lead: words.T(ctx, "connect.ask_setup", "Service", p.Called())}
	switch need {
	case asks.Keys:
		v.Lead = words.T(ctx, "connect.ask_keys", "Service", p.Called())
	case asks.App:
		v.Lead = words.T(ctx, "connect.ask_app", "Service", p.Called())
	}
	if a, ok := mine[p.Name]; ok {
		v.Lead, v.At = "", words.T(ctx, "connect.asked", "At", a.AskedAt, "Service", p.Called())
		return v
	}
	v.Asked = &ui.Action{ID: "ask-" + p.Name, Label: words.T(ctx, "connect.ask"), Post: "/ask/" + p.Name, Main: true,
		Fields: []ui.Hidden{{Name: "return_to", Value: "/connect/" + p.Name + "?" +
			url.Values{"return_to": {to}}.Encode()}}}
	return v
}

// goOn returns what puts a service off as the way on, for who has done what they can.
func goOn(ctx context.Context, later ui.Action) ui.Action {
	later.Label, later.Main = words.T(ctx, "welcome.go_on"), true
	return later
}

// backTo returns the address that the way back leads to: that of the page that a person came from.
func backTo(to string) string {
	if to == "/welcome" {
		return "" // the way through the first steps has its own
	}
	return core.LocalPath(to)
}
