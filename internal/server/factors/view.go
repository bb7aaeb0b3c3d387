package factors

import (
	"context"

	"github.com/a-h/templ"

	"reprise/internal/words"
	"reprise/web/ui"
)

// passkeysLead says what passkeys are, or what to do for them to work.
func (v view) passkeysLead(ctx context.Context) string {
	if !v.Unable.IsZero() {
		return v.Unable.T(ctx)
	}
	return words.T(ctx, "passkeys.lead")
}

// elsewhere are the other names of this server for which passkeys were made.
func (v view) elsewhere() (names []string) {
	seen := map[string]bool{}
	for _, p := range v.Passkeys {
		if p.Elsewhere && !seen[p.stored.Name] {
			seen[p.stored.Name] = true
			names = append(names, p.stored.Name)
		}
	}
	return names
}

// table returns the passkeys as a table.
func (v view) table(ctx context.Context) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "passkeys.name"), words.T(ctx, "passkeys.since"),
		words.T(ctx, "account.used"), words.T(ctx, "account.action")}}
	for _, p := range v.Passkeys {
		id := "passkey-" + viewPasskey(p).ID
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{ui.Labelled(id, p.Factor.Name),
			ui.Time(p.CreatedAt, ui.Date), ui.TimeOr(p.UsedAt, ui.Ago, words.T(ctx, "passkeys.unused")),
			ui.Button(ui.Action{Label: words.T(ctx, "passkeys.manage"), URL: p.path(), DescribedBy: id})}})
	}
	return g
}

func (p passkey) path() string { return passkeysPath + "/" + viewPasskey(p).ID }

// passkeyView is the page of one passkey.
type passkeyView struct {
	passkey
	Typed, Problem string // of the form of the name
}

func (v passkeyView) form(ctx context.Context) ui.Form {
	f := ui.Field{Name: "name", Label: words.T(ctx, "passkeys.name"), Value: v.Factor.Name, MaxLength: "64",
		Autocomplete: "off", Required: true}
	if v.Problem != "" {
		f.Value, f.Problem, f.Autofocus = v.Typed, v.Problem, true
	}
	return ui.Form{Post: v.path(), Submit: words.T(ctx, "passkeys.rename"), Fields: []ui.Field{f}}
}
