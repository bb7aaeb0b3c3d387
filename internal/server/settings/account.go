package settings

import (
	"context"
	_ "embed"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const accountPath = "/settings/account"

//go:embed zones.txt
var zoneList string

// zones are the names of time zones, to choose from: those of the tz database in which clocks have differed since 1970,
// and the capitals that people look for.
var zones = strings.Fields(zoneList)

// accountView is the page of a person's own account.
type accountView struct {
	User     accounts.User
	Sessions templ.Component
	Others   templ.Component // where else they sign in; nil for nowhere
	Factors  templ.Component
	Zones    []string // that can be chosen

	Form, Problem string // the form that failed, and why
	Name, Zone    string // what was typed in it
}

func (h *Handler) accountPage(c echo.Context) error {
	return h.showAccount(c, http.StatusOK, accountView{})
}

func (h *Handler) showAccount(c echo.Context, status int, v accountView) (err error) {
	ctx := c.Request().Context()
	v.User, v.Zones = core.UserOf(c), zones
	if v.Sessions, err = h.sessions.Part(ctx, v.User.ID); err != nil {
		return err
	}
	if v.Others, err = h.elsewhere.Part(ctx, v.User.ID); err != nil {
		return err
	}
	if v.Factors, err = h.factors.Part(c); err != nil {
		return err
	}
	if err := h.core.SeenAccess(ctx, v.User.ID); err != nil {
		return err
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "account.title"), account(v))
}

// failed shows the page with the problem of a form and what was typed.
func (h *Handler) failed(c echo.Context, v accountView, err error) error {
	p := h.core.Problem(c, err)
	v.Problem = p.Detail
	return h.showAccount(c, p.Status, v)
}

func (h *Handler) nameForm(c echo.Context) error {
	typed := c.FormValue("name")
	name, err := h.people.RenameSelf(c, typed)
	if err != nil {
		return h.failed(c, accountView{Form: "name", Name: typed}, err)
	}
	if name == core.UserOf(c).Name {
		return h.core.Done(c, accountPath, words.New("account.same"))
	}
	return h.core.Done(c, accountPath, words.New("account.renamed", "Name", name))
}

func (h *Handler) lookForm(c echo.Context) error {
	want := accounts.Choices{Language: c.FormValue("language"), Zone: c.FormValue("time_zone"),
		Theme: c.FormValue("theme")}
	if err := h.accounts.Choose(c.Request().Context(), core.UserOf(c).ID, want); err != nil {
		return h.failed(c, accountView{Form: "look", Zone: want.Zone}, err)
	}
	h.core.ForgetLanguage(c)
	return h.core.Done(c, accountPath, words.New("account.look_saved"))
}

func (h *Handler) passwordForm(c echo.Context) error {
	if err := h.people.ChangePassword(c, c.FormValue("old"), c.FormValue("new")); err != nil {
		return h.failed(c, accountView{Form: "password"}, err)
	}
	return h.core.Done(c, accountPath, words.Join(words.New("account.changed"), h.tokens.AfterPassword(c)))
}

// Account is a person's own account in the API.
type Account struct {
	Name     string `json:"name" minLength:"1" maxLength:"64"`
	Role     string `json:"role" enum:"Role"`
	Language string `json:"language" doc:"The code of a language that Reprise speaks, such as en; empty for the browser's."`
	Zone     string `json:"time_zone" maxLength:"64" doc:"The IANA name of a time zone, such as Europe/Berlin; empty for the browser's."`
	Theme    string `json:"theme" enum:",light,dark" doc:"Empty for the device's."`
	Shares   bool   `json:"shares_listening" doc:"Whether everybody with an account may see the page of numbers, and ask for statistics as 'person'."`
}

func viewAccount(u accounts.User) Account {
	return Account{Name: u.Name, Role: u.Role, Language: u.Language, Zone: u.Zone, Theme: u.Theme,
		Shares: u.SharesListening}
}

func (h *Handler) accountAPI(c echo.Context, _ *core.None) (out Account, _ error) {
	return viewAccount(core.UserOf(c)), nil
}

type changeAccountRequest struct {
	Body struct {
		Name     *string `json:"name" required:"false" minLength:"1" maxLength:"64" nullable:"false"`
		Language *string `json:"language" required:"false" nullable:"false" doc:"The code of a language that Reprise speaks, such as en; empty for the browser's."`
		Zone     *string `json:"time_zone" required:"false" maxLength:"64" nullable:"false" doc:"The IANA name of a time zone, such as Europe/Berlin; empty for the browser's."`
		Theme    *string `json:"theme" required:"false" enum:",light,dark" nullable:"false" doc:"Empty for the device's."`
		Shares   *bool   `json:"shares_listening" required:"false" nullable:"false" doc:"Whether everybody with an account may see the page of numbers, and ask for statistics as 'person'."`
	}
}

// changeAPI changes what a call names of the own account.
func (h *Handler) changeAPI(c echo.Context, in *changeAccountRequest) (out Account, _ error) {
	body := in.Body
	u := core.UserOf(c)
	for _, one := range []struct{ from, to *string }{{body.Language, &u.Language}, {body.Zone, &u.Zone},
		{body.Theme, &u.Theme}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	if err := h.accounts.Choose(c.Request().Context(), u.ID, u.Choices); err != nil {
		return out, err
	}
	if body.Shares != nil {
		if err := h.share(c, *body.Shares); err != nil {
			return out, err
		}
		u.SharesListening = *body.Shares
	}
	if body.Name != nil {
		name, err := h.people.RenameSelf(c, *body.Name)
		if err != nil {
			return out, err
		}
		u.Name = name
	}
	return viewAccount(u), nil
}

// nameFields returns the form of the name.
func (v accountView) nameFields(ctx context.Context) ui.Form {
	f := ui.Field{Name: "name", Label: words.T(ctx, "account.name"), Value: v.User.Name, MaxLength: "64",
		Autocomplete: "username", Required: true, Exact: true, Help: words.T(ctx, "account.name_help")}
	if v.Form == "name" {
		f.Value, f.Problem, f.Autofocus = v.Name, v.Problem, true
	}
	return ui.Form{ID: "name-form", Post: accountPath + "/name", Submit: words.T(ctx, "account.rename"),
		Fields: []ui.Field{f}}
}

// look returns the form of language, time zone and theme.
func (v accountView) look(ctx context.Context) ui.Form {
	language := ui.Field{Name: "language", Label: words.T(ctx, "account.language"), Value: v.User.Language,
		Options: []ui.Option{{Label: words.T(ctx, "account.as_browser")}}}
	for _, l := range words.Languages() {
		language.Options = append(language.Options, ui.Option{Value: l.Code(), Label: l.Name()})
	}
	zone := ui.Field{Name: "time_zone", Label: words.T(ctx, "account.zone"), Value: v.User.Zone, Optional: true,
		Placeholder: "Europe/Berlin", Autocomplete: "off", Exact: true, Suggestions: v.Zones,
		Help: words.T(ctx, "account.zone_help")}
	theme := ui.Field{Name: "theme", Label: words.T(ctx, "account.theme"), Value: v.User.Theme, Options: []ui.Option{
		{Label: words.T(ctx, "account.as_device")},
		{Value: accounts.Light, Label: words.T(ctx, "account.light")},
		{Value: accounts.Dark, Label: words.T(ctx, "account.dark")}}}
	if v.Form == "look" {
		zone.Value, zone.Problem, zone.Autofocus = v.Zone, v.Problem, true
	}
	return ui.Form{ID: "look-form", Post: accountPath + "/look", Submit: words.T(ctx, "account.look_save"),
		Fields: []ui.Field{language, zone, theme}}
}

// password returns the form of the password.
func (v accountView) password(ctx context.Context) ui.Form {
	old := ui.Field{Name: "old", Label: words.T(ctx, "account.old"), Type: "password",
		Autocomplete: "current-password", Required: true}
	if v.Form == "password" {
		old.Problem, old.Autofocus = v.Problem, true
	}
	return ui.Form{ID: "password-form", Post: accountPath + "/password", Submit: words.T(ctx, "account.change"),
		Username: v.User.Name, Fields: []ui.Field{old,
			{Name: "new", Label: words.T(ctx, "account.new"), Type: "password", Autocomplete: "new-password",
				Required: true, Help: words.T(ctx, "account.new_help")}}}
}
