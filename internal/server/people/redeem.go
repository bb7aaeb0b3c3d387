package people

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Redeemer answers for the links of invitations and of new passwords, to people who are not signed in.
//
// Opening a link uses nothing up, because mail programs and chats open links to preview them. It notes the hash of the
// link's code in the session, and redirects to an address without the code, so that no later request names it.
type Redeemer struct {
	core    *core.Core
	links   *accounts.Links
	steps   Steps
	outside func() Outside
}

// NewRedeemer returns a Redeemer. See [Options] for outside.
func NewRedeemer(k *core.Core, links *accounts.Links, s Steps, outside func() Outside) *Redeemer {
	return &Redeemer{core: k, links: links, steps: s, outside: outside}
}

// Open adds the routes for people who are not signed in.
func (h *Redeemer) Open(g *echo.Group) {
	slow := h.core.SlowDown("link")
	for _, kind := range []string{accounts.Invitation, accounts.Reset} {
		g.GET("/"+kind+"/:code", h.open(kind), slow)
		g.GET("/"+kind, h.page(kind))
		g.POST("/"+kind, h.form(kind), slow)
	}
}

// OpenAPI adds the calls for people who are not signed in.
func (h *Redeemer) OpenAPI(a *core.API) {
	a = a.With(h.core.SlowDown("link call"))
	core.Post(a, "/invitation", h.joinAPI, core.Call{
		ID:      "acceptInvitation",
		Summary: "Create an account with the code of an invitation, and use the invitation up",
		Answer:  "The account. Nobody is signed in yet.",
		Status:  http.StatusCreated,
		Open:    true,
		Refusals: map[int]string{
			http.StatusConflict: "The name is taken. The invitation still works.",
			http.StatusGone:     "It was used or withdrawn, or has expired.",
		},
	})
	core.Post(a, "/reset", h.chooseAPI, core.Call{
		ID:       "choosePassword",
		Summary:  "Choose a new password with the code of a link, and use the link up",
		Answer:   "The password is changed. All sessions of the account have ended.",
		Open:     true,
		Refusals: map[int]string{http.StatusGone: "It was used, or has expired."},
	})
}

// open takes the code out of the address.
func (h *Redeemer) open(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Referrer-Policy", "no-referrer")
		ctx, hash := c.Request().Context(), accounts.HashToken(c.Param("code"))
		if _, err := h.links.Find(ctx, kind, hash); err != nil {
			return err
		}
		h.core.Sessions.KeepLink(ctx, hash)
		return c.Redirect(http.StatusSeeOther, "/"+kind)
	}
}

// redeemView is the page of a link.
type redeemView struct {
	Kind, Name, Role, Problem string
	By                        string  // who made it; empty: the operator
	As                        string  // who is signed in in this browser
	Way                       *ui.Way // of an invitation
	Outside                   []Door  // where an invited person may come from instead of choosing a password
}

func (h *Redeemer) page(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		l, err := h.links.Find(c.Request().Context(), kind, h.core.Sessions.Link(c.Request().Context()))
		if err != nil {
			return err
		}
		return h.show(c, http.StatusOK, redeemView{Kind: kind, Name: l.Name, Role: l.Role, By: l.By})
	}
}

func (h *Redeemer) show(c echo.Context, status int, v redeemView) error {
	if u, err := h.core.Sessions.User(c.Request().Context()); err == nil {
		v.As = u.Name
	}
	if v.Kind == accounts.Invitation {
		v.Way = h.steps.First(v.Role)
		v.Outside = h.outside().Doors
	}
	return h.core.Show(c, status, v.title(c.Request().Context()), redeem(v))
}

func (h *Redeemer) form(kind string) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		in, err := core.Filled[Credentials](c)
		if err != nil {
			return err
		}
		hash := h.core.Sessions.Link(ctx)
		l, err := h.links.Find(ctx, kind, hash)
		if err != nil {
			return err
		}
		u, err := h.use(ctx, kind, hash, in)
		if err != nil {
			p := h.core.Problem(c, err)
			v := redeemView{Kind: kind, Name: l.Name, Role: l.Role, By: l.By, Problem: p.Detail}
			if kind == accounts.Invitation {
				v.Name = in.Name
			}
			return h.show(c, p.Status, v)
		}
		h.core.Sessions.DropLink(ctx)
		entered, err := h.core.Enter(c, u, "/")
		switch {
		case err != nil:
			return err
		case !entered: // a new password alone does not let them in
			return c.Redirect(http.StatusSeeOther, core.CodePath)
		case kind != accounts.Invitation:
			return c.Redirect(http.StatusSeeOther, "/")
		}
		if err := h.steps.Begin(ctx, u.ID); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, "/welcome")
	}
}

// use redeems a link, and notes it.
func (h *Redeemer) use(ctx context.Context, kind, hash string, in Credentials) (u accounts.User, err error) {
	did := activity.Entry{Action: activity.Joined}
	if kind == accounts.Invitation {
		u, err = h.links.Join(ctx, hash, in.Name, in.Password)
		did.Subject = u.Name
	} else {
		u, err = h.links.Choose(ctx, hash, in.Password)
		did = activity.Entry{Action: activity.PasswordChanged, User: u.ID, Detail: words.New("activity.with_link")}
	}
	if err != nil {
		return u, err
	}
	if kind == accounts.Reset {
		h.core.Sessions.Recheck(u.ID)
	}
	h.core.Note(activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name}), did)
	return u, nil
}

type acceptInvitationRequest struct {
	Body struct {
		Code     string `json:"code" doc:"The last part of the link."`
		Name     string `json:"name" minLength:"1" maxLength:"64"`
		Password string `json:"password" minLength:"10" maxLength:"1024"`
	}
}

func (h *Redeemer) joinAPI(c echo.Context, in *acceptInvitationRequest) (out User, _ error) {
	u, err := h.use(c.Request().Context(), accounts.Invitation, accounts.HashToken(in.Body.Code),
		Credentials{Name: in.Body.Name, Password: in.Body.Password})
	if err != nil {
		return out, err
	}
	return view(u), nil
}

type choosePasswordRequest struct {
	Body struct {
		Code     string `json:"code" doc:"The last part of the link."`
		Password string `json:"password" minLength:"10" maxLength:"1024"`
	}
}

func (h *Redeemer) chooseAPI(c echo.Context, in *choosePasswordRequest) (core.None, error) {
	_, err := h.use(c.Request().Context(), accounts.Reset, accounts.HashToken(in.Body.Code),
		Credentials{Password: in.Body.Password})
	return core.None{}, err
}
