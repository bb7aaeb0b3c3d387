package people

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// peoplePerPage is how many people a page shows. A search field is above them where there are more.
const peoplePerPage = 100

// pagesOf returns the links to the other pages of those whose names contain a text.
func pagesOf(p core.Pager, like string) ui.Pages {
	v := ui.Pages{Page: p.Page, Pages: p.Pages, Before: p.Before, After: p.After}
	for _, link := range []*string{&v.Before, &v.After} {
		if *link != "" && like != "" {
			*link += "&q=" + url.QueryEscape(like)
		}
	}
	return v
}

// The fields of the page's address that open a form again, with what was typed.
const (
	formField, nameField, roleField = "form", "name", "role"
)

func (h *Users) listPage(c echo.Context) error {
	return h.showList(c, http.StatusOK, listView{Form: c.QueryParam(formField), Name: c.QueryParam(nameField),
		Role: c.QueryParam(roleField)})
}

// proveFirst has somebody show who they are before a form is done, and leads back to it with what was typed, but for a
// password.
func (h *Users) proveFirst(c echo.Context, form string) error {
	typed := url.Values{formField: {form}, nameField: {c.FormValue(nameField)}, roleField: {c.FormValue(roleField)}}
	return h.core.ProveFirst(c, peoplePath+"?"+typed.Encode())
}

func (h *Users) showList(c echo.Context, status int, v listView) (err error) {
	ctx := c.Request().Context()
	v.Like = strings.TrimSpace(c.QueryParam("q"))
	_, total, err := h.store.UsersPart(ctx, accounts.Part{Like: v.Like})
	if err != nil {
		return err
	}
	at, err := core.PagerOf(c, total, peoplePerPage)
	if err != nil {
		return err
	}
	if v.Pages = pagesOf(at, v.Like); v.Like == "" {
		v.Many = at.Pages > 1
	}
	part := accounts.Part{Like: v.Like, Skip: at.Offset(), Limit: peoplePerPage}
	if v.People, _, err = h.part(ctx, part); err != nil {
		return err
	}
	if v.Open, err = h.store.Invitations(ctx); err != nil {
		return err
	}
	v.You = core.UserOf(c).ID
	if base := h.core.URL(); core.Loopback(base.Host) {
		v.Base = base.String()
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "people.title"), list(v))
}

// failed shows the page with the problem of a form and what was typed.
func (h *Users) failed(c echo.Context, v listView, err error) error {
	p := h.core.Problem(c, err)
	v.Problem = p.Detail
	return h.showList(c, p.Status, v)
}

func (h *Users) addForm(c echo.Context) error {
	if h.core.Proved(c) != nil {
		return h.proveFirst(c, "add")
	}
	in, err := core.Filled[Credentials](c)
	if err == nil {
		err = h.add(c, in)
	}
	if err != nil {
		return h.failed(c, listView{Form: "add", Name: in.Name, Role: in.Role}, err)
	}
	return h.core.Done(c, peoplePath, words.New("people.added", "Name", in.Name))
}

func (h *Users) personPage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	return h.showPerson(c, http.StatusOK, u, personView{})
}

// showPerson shows the page of a person; v has what was typed.
func (h *Users) showPerson(c echo.Context, status int, u accounts.User, v personView) (err error) {
	ctx := c.Request().Context()
	if v.about, err = h.about(c, u); err != nil {
		return err
	}
	sessions, err := h.core.Sessions.Of(ctx, u.ID)
	if err != nil {
		return err
	}
	v.Sessions = len(sessions)
	if v.Step, err = h.core.Codes.State(ctx, u.ID); err != nil {
		return err
	}
	return h.core.ShowSettings(c, status, u.Name, person(v))
}

// about returns what is known of a person.
func (h *Users) about(c echo.Context, u accounts.User) (v about, err error) {
	ctx := c.Request().Context()
	v = about{User: u, Self: u.ID == core.UserOf(c).ID, Only: u.Role == accounts.Admin}
	if v.Has, err = h.store.Counts(ctx, u.ID); err != nil {
		return v, err
	}
	admins, err := h.store.Admins(ctx)
	v.Only = v.Only && len(admins) == 1
	return v, err
}

// showRemoval shows what goes with an account, and asks.
func (h *Users) showRemoval(c echo.Context, status int, u accounts.User, problem string) error {
	a, err := h.about(c, u)
	if err != nil {
		return err
	}
	v := removalView{about: a, Problem: problem}
	return h.core.ShowSettings(c, status, v.title(c.Request().Context()), removing(v))
}

func (h *Users) nameForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	name := c.FormValue("name")
	renamed, err := h.rename(c, u, name)
	if err != nil {
		p := h.core.Problem(c, err)
		return h.showPerson(c, p.Status, u, personView{Problem: p.Detail, Name: name})
	}
	said := "person.renamed"
	if u.PasswordHash == "" {
		said = "person.renamed_only"
	}
	return h.core.Done(c, personPath(u), words.New(said, "Before", u.Name, "Name", renamed.Name))
}

func personPath(u accounts.User) string { return peoplePath + "/" + strconv.FormatInt(u.ID, 10) }

func (h *Users) roleForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	role := c.FormValue("role")
	if _, err := h.SetRole(c.Request().Context(), u, role); err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID && role != accounts.Admin {
		return h.core.Done(c, accountPath, words.New("people.member_now"))
	}
	return h.core.Done(c, personPath(u), words.Each("people.now.", role, "Name", u.Name))
}

func (h *Users) signOutForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	n, err := h.signOut(c, u)
	if err != nil {
		return err
	}
	said := words.New("person.signed_out_none", "Name", u.Name)
	if n > 0 {
		said = words.New("person.signed_out", "Count", n, "Name", u.Name)
	}
	return h.core.Done(c, personPath(u), said)
}

func (h *Users) stepPage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "person.step_title", "Name", u.Name),
		Lead: words.T(ctx, "person.step_lead", "Name", u.Name), Action: personPath(u) + "/second-step",
		Button: words.T(ctx, "factors.off_button"), Warn: true, Back: personPath(u)})
}

func (h *Users) stepForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	if err := h.resetStep(c, u); err != nil {
		return err
	}
	return h.core.Done(c, personPath(u), words.New("person.step_reset", "Name", u.Name))
}

func (h *Users) removePage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID { // asks for the password, too
		return c.Redirect(http.StatusSeeOther, accountPath+"/remove")
	}
	return h.showRemoval(c, http.StatusOK, u, "")
}

func (h *Users) removeForm(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	if u.ID == core.UserOf(c).ID {
		return c.Redirect(http.StatusSeeOther, accountPath+"/remove")
	}
	if !sameName(c.FormValue("name"), u) {
		return h.showRemoval(c, http.StatusUnprocessableEntity, u,
			words.T(c.Request().Context(), "remove.wrong_name"))
	}
	if _, err := h.remove(c, u.ID); err != nil {
		return nobody(err)
	}
	return h.core.Done(c, peoplePath, words.New("remove.begun", "Name", u.Name))
}

// sameName reports whether somebody has typed the name of an account.
func sameName(typed string, u accounts.User) bool {
	return strings.EqualFold(strings.TrimSpace(typed), u.Name)
}
