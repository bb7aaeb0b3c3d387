package sessions

import (
	"cmp"
	"context"

	"github.com/a-h/templ"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui"
)

// table returns sessions as a table; current is the ID of the session that looks at it.
func table(ctx context.Context, all []accounts.Session, current string, called func(string) string) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "account.browser"), words.T(ctx, "account.address"),
		words.T(ctx, "way.title"), words.T(ctx, "account.since"), words.T(ctx, "account.used"),
		words.T(ctx, "account.action")}}
	for _, s := range all {
		name := "session-" + s.ID
		used, end := ui.Time(s.UsedAt, ui.Ago), ui.Button(ui.Action{Label: words.T(ctx, "account.sign_out"),
			Post: "/settings/account/sessions/" + s.ID + "/end", DescribedBy: name})
		if s.ID == current {
			used, end = ui.Say(words.T(ctx, "account.this")), templ.NopComponent
		}
		way := words.Each("way.", cmp.Or(string(s.Way), "unknown")).T(ctx)
		if s.Way == accounts.ByIssuer && s.Issuer != "" {
			way = called(s.Issuer)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Labelled(name, accounts.Device(s.Agent).T(ctx)), ui.Name(s.Address),
			ui.Name(way), ui.Time(s.SignedInAt, ui.Ago),
			used, end,
		}})
	}
	return g
}
