package connections

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/providers"
	"reprise/internal/words"
	"reprise/web/ui"
)

// welcomePath is where the first steps begin and are taken up again. The package that has them imports this one.
const welcomePath = "/welcome"

// emptyView is the start page of a person without a connection: one thing to do, and below it only what they chose
// before they put the first steps off.
type emptyView struct {
	Title, Lead string
	Begin       ui.Action
	Chosen      []ui.Entry
	Next        []ui.Named // what else can be done
}

// emptyOf returns the start page of a person who has come so far in the first steps.
func emptyOf(ctx context.Context, name string, f accounts.FirstSteps, all []*providers.Provider, admin bool) emptyView {
	v := emptyView{Title: words.T(ctx, "status.welcome.title", "Name", name),
		Begin: ui.Action{ID: "begin", URL: welcomePath, Main: true}}
	var first string // of those that are chosen
	putOff := true   // each of them is
	for _, p := range all {
		if !slices.Contains(f.Chosen, p.Name) {
			continue
		}
		putOff = putOff && slices.Contains(f.LeftOut, p.Name)
		page := "/connect/" + p.Name + "?" + url.Values{"return_to": {welcomePath}}.Encode()
		if first == "" {
			first = page
		}
		e := entryOf(ctx, p, admin)
		e.URL = page
		v.Chosen = append(v.Chosen, e)
	}
	file := ui.Named{Text: words.T(ctx, "status.welcome.file"), URL: "/imports"}
	player := ui.Named{Text: words.T(ctx, "players.add"), URL: "/players/add"}
	switch {
	case first != "":
		v.Lead = words.T(ctx, "status.welcome.chosen")
		v.Next = []ui.Named{{Text: words.T(ctx, "welcome.another"), URL: welcomePath + "/services"}, file, player}
		if f.Ended || putOff { // and the steps would only say so
			v.Begin.URL = first
		}
	case f.Begun && (f.Ended || f.Contact):
		v.Lead, v.Next = words.T(ctx, "status.welcome.left"), []ui.Named{file, player}
	default:
		v.Lead, v.Begin.Label = words.T(ctx, "status.welcome.lead"), words.T(ctx, "status.welcome.begin")
		v.Next = []ui.Named{{Text: words.T(ctx, "status.welcome.import"), URL: "/imports"},
			player}
		return v
	}
	v.Begin.Label = words.T(ctx, "welcome.continue_button")
	return v
}

// entryOf returns the row of a service that is chosen: what to do there, and in one line what it takes.
func entryOf(ctx context.Context, p *providers.Provider, admin bool) ui.Entry {
	e := ui.Entry{Provider: p.Name, Label: words.T(ctx, "status.connect", "Name", p.Called())}
	switch {
	case !p.InBrowser():
		var fields []string
		for _, label := range p.Asks() {
			fields = append(fields, label.T(ctx))
		}
		e.Lead = strings.Join(fields, " · ")
	case p.Registered():
		e.Lead = words.T(ctx, "status.welcome.consent", "Name", p.Called())
	case admin:
		e.Label, e.Lead = words.T(ctx, "status.set_up", "Name", p.Called()), words.T(ctx, "status.welcome.guided")
	default:
		e.Lead = words.T(ctx, "welcome.ask_first")
	}
	return e
}
