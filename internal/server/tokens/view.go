package tokens

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page of programs.
type pageView struct {
	Tokens []accounts.Token
	Admin  bool // the person may make tokens for administration

	Problem     string // of the form
	Name, Scope string // what was typed in it
}

// table returns the tokens as a table.
func table(ctx context.Context, all []accounts.Token, now time.Time) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "program.name"), words.T(ctx, "program.token"),
		words.T(ctx, "program.good_for"), words.T(ctx, "program.used"), words.T(ctx, "program.expires"),
		words.T(ctx, "program.action")}}
	for _, t := range all {
		v := view(t)
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Labelled("token-"+v.ID, t.Name),
			ui.Code("…" + t.LastFour),
			ui.Say(words.Each("program.scope.", string(t.Scope)).T(ctx)),
			ui.TimeOr(t.LastUsedAt, ui.Ago, words.T(ctx, "program.never")),
			expiry(ctx, t, now),
			ui.Button(ui.Action{Label: words.T(ctx, "program.revoke"), URL: "/settings/programs/" + v.ID + "/revoke",
				DescribedBy: "token-" + v.ID}),
		}})
	}
	return g
}

// expiry says until when a token works.
func expiry(ctx context.Context, t accounts.Token, now time.Time) templ.Component {
	if t.Expired(now) {
		return ui.Say(words.T(ctx, "program.expired"))
	}
	return ui.TimeOr(t.ExpiresAt, ui.Date, words.T(ctx, "program.never"))
}

// form returns the form that makes a token.
func form(ctx context.Context, v pageView) ui.Form {
	scopes := []accounts.Scope{accounts.Read, accounts.Operate}
	if v.Admin {
		scopes = append(scopes, accounts.Full)
	}
	scope := ui.Field{Name: "scope", ID: "token-scope", Label: words.T(ctx, "program.good_for"), Value: v.Scope}
	for _, s := range scopes {
		scope.Options = append(scope.Options, ui.Option{Value: string(s),
			Label: words.Each("program.choice.", string(s)).T(ctx)})
	}
	days := ui.Field{Name: "days", ID: "token-days", Label: words.T(ctx, "program.expires"), Value: "365"}
	for _, n := range []string{"30", "90", "365", "0"} {
		days.Options = append(days.Options, ui.Option{Value: n, Label: words.Each("program.days.", n).T(ctx)})
	}
	return ui.Form{ID: "add-token", Post: "/settings/programs", Main: true, Submit: words.T(ctx, "program.make_button"),
		Fields: []ui.Field{
			{Name: "name", ID: "token-name", Label: words.T(ctx, "program.name"), Value: v.Name, MaxLength: "64",
				Autocomplete: "off", Required: true, Help: words.T(ctx, "program.name_help"), Problem: v.Problem,
				Autofocus: v.Problem != ""},
			scope, days,
		}}
}

// madeView is a token that has just been made, with its secret.
type madeView struct {
	accounts.Token
	Secret string
	Demo   bool // it ends with the demo
}

// facts says what a token allows, and until when.
func (v madeView) facts(ctx context.Context) string {
	until := words.New("program.forever")
	if v.Demo {
		until = words.New("program.demo")
	} else if !v.ExpiresAt.IsZero() {
		until = words.New("program.until", "Day", words.Day(v.ExpiresAt))
	}
	return words.Join(words.Each("program.allows.", string(v.Scope)), until).T(ctx)
}
