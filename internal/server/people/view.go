package people

import (
	"context"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"reprise/internal/accounts"
	"reprise/internal/removal"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listView is the page of all people.
type listView struct {
	People []seen
	Open   []accounts.Link // invitations
	You    int64           // who looks at it
	Base   string          // the address of links, if it opens nothing on other machines; else empty
	Pages  ui.Pages
	Many   bool   // more than a page shows
	Like   string // what their names contain; empty for all

	Form, Problem string // the form that failed, and why
	Name, Role    string // what was typed in it
}

// table returns the people as a table.
func (v listView) table(ctx context.Context) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "people.name"), words.T(ctx, "people.role"),
		words.T(ctx, "people.since"), words.T(ctx, "people.seen"), words.T(ctx, "people.action")}}
	for _, p := range v.People {
		id := "person-" + strconv.FormatInt(p.ID, 10)
		name := ui.Labelled(id, p.Name)
		if p.ID == v.You {
			name = you(id, p.Name)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			name, ui.Say(words.Each("people.is.", p.Role).T(ctx)), ui.Time(p.CreatedAt, ui.Date),
			ui.TimeOr(p.At, ui.Ago, words.T(ctx, "people.unseen")),
			ui.Button(ui.Action{Label: words.T(ctx, "people.manage"), URL: personPath(p.User), DescribedBy: id}),
		}})
	}
	return g
}

// invitations returns the open invitations as a table.
func (v listView) invitations(ctx context.Context) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "people.for"), words.T(ctx, "people.role"),
		words.T(ctx, "people.until"), words.T(ctx, "people.action")}}
	for _, l := range v.Open {
		name, id := l.Name, strconv.FormatInt(l.ID, 10)
		if name == "" {
			name = words.T(ctx, "people.anyone")
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Labelled("invitation-"+id, name), ui.Say(words.Each("people.is.", l.Role).T(ctx)),
			ui.Time(l.ExpiresAt, ui.Date),
			ui.Actions([]ui.Action{{Label: words.T(ctx, "people.show_link"), DescribedBy: "invitation-" + id,
				URL: invitationPath(l.ID)}, {Label: words.T(ctx, "people.take_back"), DescribedBy: "invitation-" + id,
				Post: invitationPath(l.ID) + "/revoke"}}),
		}})
	}
	return g
}

// inviteForm returns the form that makes an invitation.
func (v listView) inviteForm(ctx context.Context) ui.Form {
	name := ui.Field{Name: "name", ID: "invite-name", Label: words.T(ctx, "people.name"), Optional: true,
		Autocomplete: "off", MaxLength: "64", Help: words.T(ctx, "people.invite_help")}
	role := roles(ctx, "invite-role")
	if v.Form == "invite" {
		name.Value, name.Problem, name.Autofocus, role.Value = v.Name, v.Problem, true, v.Role
	}
	return ui.Form{ID: "invite", Post: peoplePath + "/invitations", Main: true,
		Submit: words.T(ctx, "people.invite_button"), Fields: []ui.Field{name, role}}
}

// addForm returns the form that adds a person with a password.
func (v listView) addForm(ctx context.Context) ui.Form {
	name := ui.Field{Name: "name", Label: words.T(ctx, "people.name"), Autocomplete: "off", MaxLength: "64",
		Required: true, Exact: true}
	password := ui.Field{Name: "password", Label: words.T(ctx, "people.password"), Type: "password",
		Autocomplete: "new-password", Required: true, Help: words.T(ctx, "people.password_help")}
	role := roles(ctx, "role")
	if v.Form == "add" {
		name.Value, name.Problem, name.Autofocus, role.Value = v.Name, v.Problem, true, v.Role
	}
	return ui.Form{Post: peoplePath, Submit: words.T(ctx, "people.add_button"),
		Fields: []ui.Field{name, password, role}}
}

func roles(ctx context.Context, id string) ui.Field {
	return ui.Field{Name: "role", ID: id, Label: words.T(ctx, "people.role"), Options: []ui.Option{
		{Value: accounts.Member, Label: words.T(ctx, "people.is.member")},
		{Value: accounts.Admin, Label: words.T(ctx, "people.is.admin")}}}
}

// about is what is known of a person.
type about struct {
	accounts.User
	Has  removal.Counts
	Self bool // the person looks at the page
	Only bool // nobody else administers
}

// counted is a kind of what belongs to a person, with how much of it there is.
type counted struct {
	kind string
	n    int
}

// personView is the page of one person.
type personView struct {
	about
	Sessions int // in which the person is signed in
	Step     accounts.SecondStepState

	Problem, Name string // of the form of the name
}

// lead says since when, and what belongs to the person.
func (v personView) lead(ctx context.Context) string {
	all := []words.Text{words.Each("person.lead_", v.Role, "Day", words.Day(v.CreatedAt))}
	var has strings.Builder
	for i, c := range []counted{{"listens", v.Has.Listens}, {"playlists", v.Has.Playlists},
		{"connections", v.Has.Connections}} {
		if i > 0 {
			has.WriteString(", ")
		}
		has.WriteString(words.Each("person.has.", c.kind, "Count", c.n).T(ctx))
	}
	return words.Join(append(all, words.Plain(has.String()+"."))...).T(ctx)
}

// nameForm returns the form that changes the name.
func (v personView) nameForm(ctx context.Context) ui.Form {
	f := ui.Field{Name: "name", Label: words.T(ctx, "people.name"), Value: v.User.Name, MaxLength: "64",
		Autocomplete: "off", Required: true, Exact: true, Help: words.T(ctx, "person.name_help")}
	if v.PasswordHash == "" {
		f.Help = words.T(ctx, "person.name_shown")
	}
	if v.Problem != "" {
		f.Value, f.Problem, f.Autofocus = v.Name, v.Problem, true
	}
	return ui.Form{ID: "rename", Post: personPath(v.User) + "/name", Submit: words.T(ctx, "person.rename"),
		Fields: []ui.Field{f}}
}

// role says what the role means, and how it can be changed; no action where it cannot.
func (v personView) role(ctx context.Context) (lead string, do []ui.Action) {
	change := func(role, label string) []ui.Action {
		return []ui.Action{{ID: "change-role", Label: label, Post: personPath(v.User) + "/role",
			Fields: []ui.Hidden{{Name: "role", Value: role}}}}
	}
	switch {
	case v.Only && v.Self:
		return words.T(ctx, "person.role_only_you"), nil
	case v.Only:
		return words.T(ctx, "person.role_only"), nil
	case v.Role != accounts.Admin:
		return words.T(ctx, "person.role_member"), change(accounts.Admin, words.T(ctx, "person.make_admin"))
	case v.Self:
		return words.T(ctx, "person.role_admin_you"), change(accounts.Member, words.T(ctx, "person.make_member"))
	}
	return words.T(ctx, "person.role_admin", "Name", v.User.Name),
		change(accounts.Member, words.T(ctx, "person.make_member"))
}

// passwordLead says what a link for a password does.
func (v personView) passwordLead(ctx context.Context) string {
	if v.PasswordHash == "" {
		return words.T(ctx, "person.password_none", "Name", v.User.Name)
	}
	return words.T(ctx, "person.password_lead", "Name", v.User.Name)
}

// signOutHelp says what stays when the person is signed out everywhere.
func (v personView) signOutHelp(ctx context.Context) string {
	if v.PasswordHash == "" {
		return words.T(ctx, "person.sign_out_tokens")
	}
	return words.T(ctx, "person.sign_out_help")
}

// signedIn says in how many browsers the person is signed in.
func (v personView) signedIn(ctx context.Context) string {
	if v.Sessions == 0 {
		return words.T(ctx, "person.signed_in_none", "Name", v.User.Name)
	}
	return words.T(ctx, "person.signed_in_count", "Count", v.Sessions, "Name", v.User.Name)
}

// removalView is the page that says what goes with an account, and asks.
type removalView struct {
	about
	Problem string
}

func (v removalView) title(ctx context.Context) string {
	if v.Self {
		return words.T(ctx, "remove.title_you")
	}
	return words.T(ctx, "remove.title", "Name", v.Name)
}

// path is where the page's own form posts to; the one above it is of the page before.
func (v removalView) path() (own, above string) {
	above = personPath(v.User)
	if v.Self {
		above = accountPath
	}
	return above + "/remove", above
}

// above returns the name of the page that leads here.
func (v removalView) above(ctx context.Context) string {
	if v.Self {
		return words.T(ctx, "account.title")
	}
	return v.Name
}

// goes says what is deleted with the account.
func (v removalView) goes(ctx context.Context) (all []string) {
	for _, c := range []counted{{"listens", v.Has.Listens}, {"playlists", v.Has.Playlists},
		{"connections", v.Has.Connections}, {"deliveries", v.Has.Deliveries}, {"imports", v.Has.Imports},
		{"channels", v.Has.Channels}, {"tokens", v.Has.Tokens}} {
		if c.n > 0 || c.kind == "listens" {
			all = append(all, words.Each("remove.counts.", c.kind, "Count", c.n).T(ctx))
		}
	}
	return all
}

// form asks for what only somebody types who means it: the own password, or the other's name.
func (v removalView) form(ctx context.Context) ui.Form {
	own, above := v.path()
	f := ui.Form{Post: own, Submit: words.T(ctx, "remove.button"), Warn: true, Cancel: above, Fields: []ui.Field{{
		Name: "name", Label: words.T(ctx, "remove.name", "Name", v.Name), Autocomplete: "off", Exact: true,
		Required: true, Problem: v.Problem, Autofocus: v.Problem != ""}}}
	if v.Self {
		f.Submit = words.T(ctx, "remove.button_you")
	}
	if v.Self && v.PasswordHash != "" {
		f.Username = v.Name
		f.Fields[0] = ui.Field{Name: "password", Label: words.T(ctx, "remove.password"), Type: "password",
			Autocomplete: "current-password", Required: true, Problem: v.Problem, Autofocus: v.Problem != ""}
	}
	return f
}

func (l madeLink) title(ctx context.Context) string {
	switch {
	case l.Kind == accounts.Reset:
		return words.T(ctx, "link.reset", "Name", l.Name)
	case l.Name != "":
		return words.T(ctx, "link.invitation_for", "Name", l.Name)
	}
	return words.T(ctx, "link.invitation")
}

// life says how to pass the link on, and how long it works.
func (l madeLink) life(ctx context.Context) string {
	until := words.New("link.week", "Day", words.Day(l.ExpiresAt))
	if l.Kind == accounts.Reset {
		until = words.New("link.day", "At", l.ExpiresAt)
	}
	return words.Join(words.New("link.once"), until).T(ctx)
}

// actions are what can be done with the link.
func (l madeLink) actions(ctx context.Context) []ui.Action {
	all := []ui.Action{{Label: words.T(ctx, "people.back"), URL: peoplePath, Main: true}}
	if l.Kind == accounts.Invitation {
		all = append(all, ui.Action{Label: words.T(ctx, "people.take_back"), Post: invitationPath(l.ID) + "/revoke"})
	}
	return all
}

// opens says what happens to those who open the link.
func (l madeLink) opens(ctx context.Context) string {
	if l.Kind == accounts.Reset {
		return words.T(ctx, "link.resets")
	}
	return words.Each("link.makes_", l.Role).T(ctx)
}

func (v redeemView) title(ctx context.Context) string {
	if v.Kind == accounts.Reset {
		return words.T(ctx, "redeem.new_password")
	}
	return words.T(ctx, "redeem.welcome")
}

func (v redeemView) lead(ctx context.Context) string {
	if v.Kind == accounts.Reset {
		return words.T(ctx, "redeem.new_password_lead", "Name", v.Name)
	}
	if v.By != "" {
		return words.Each("redeem.by_", v.Role, "Name", v.By).T(ctx)
	}
	return words.Each("redeem.lead_", v.Role).T(ctx)
}

// form asks an invited person for a name and a password, and others for a password.
func (v redeemView) form(ctx context.Context) ui.Form {
	password := ui.Field{Name: "password", Label: words.T(ctx, "redeem.password"), Type: "password",
		Autocomplete: "new-password", Required: true, Help: words.T(ctx, "account.new_help")}
	if v.Kind == accounts.Reset {
		password.Problem, password.Autofocus = v.Problem, true
		return ui.Form{Post: "/" + v.Kind, Submit: words.T(ctx, "redeem.save"), Main: true, Username: v.Name,
			Fields: []ui.Field{password}}
	}
	return ui.Form{Post: "/" + v.Kind, Submit: words.T(ctx, "redeem.create"), Main: true, Fields: []ui.Field{
		{Name: "name", Label: words.T(ctx, "redeem.name"), Value: v.Name, Autocomplete: "username", Exact: true,
			MaxLength: "64", Required: true, Autofocus: true, Problem: v.Problem}, password}}
}

// exportPath returns the address of the export beside that of the removal.
func exportPath(removal string) string { return strings.TrimSuffix(removal, "/remove") + "/export" }
