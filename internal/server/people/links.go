package people

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Link is an invitation, or a link to choose a new password. URL is set only right after it was made.
type Link struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind" enum:"invitation,reset"`
	Name      string    `json:"name" doc:"Suggested to an invited person, or of the account."`
	Role      string    `json:"role,omitempty" enum:"Role"`
	CreatedAt core.Time `json:"created_at"`
	ExpiresAt core.Time `json:"expires_at"`
	URL       string    `json:"url,omitempty" format:"uri" doc:"The link itself; only in the answer that created it."`
}

func linkView(l accounts.Link) Link {
	return Link{ID: strconv.FormatInt(l.ID, 10), Kind: l.Kind, Name: l.Name, Role: l.Role,
		CreatedAt: core.Stamp(l.CreatedAt), ExpiresAt: core.Stamp(l.ExpiresAt)}
}

// madeLink is a link that has just been made, with its address.
type madeLink struct {
	accounts.Link
	URL  string
	Here bool // it opens nothing on other machines; of an invitation, People says so before it is made
}

func (h *Users) made(l accounts.Link, code string) madeLink {
	base := h.core.URL()
	return madeLink{l, base.String() + "/" + l.Kind + "/" + code, l.Kind == accounts.Reset && core.Loopback(base.Host)}
}

// view returns the view of the link in the API, with its address.
func (l madeLink) view() Link {
	v := linkView(l.Link)
	v.URL = l.URL
	return v
}

// invitation is what an administrator chooses for a new invitation.
type invitation struct {
	Name string `json:"name" form:"name" required:"false" maxLength:"64" doc:"A suggestion; may be empty."`
	Role string `json:"role" form:"role" required:"false" enum:"Role"`
}

func (h *Users) invite(c echo.Context, in invitation) (madeLink, error) {
	ctx := c.Request().Context()
	l, code, err := h.links.Invite(ctx, core.UserOf(c).ID, in.Name, cmp.Or(in.Role, accounts.Member))
	if err != nil {
		return madeLink{}, err
	}
	h.core.Note(ctx, activity.Entry{Action: activity.Invited, Subject: cmp.Or(l.Name, activity.Somebody),
		Detail: asRole[l.Role]})
	return h.made(l, code), nil
}

// asRole says which role an account has, or will have.
var asRole = map[string]words.Text{
	accounts.Member: words.New("activity.as_member"),
	accounts.Admin:  words.New("activity.as_admin"),
}

// takeBack takes back an invitation, and reports whether there was one.
func (h *Users) takeBack(c echo.Context) (there bool, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return false, err
	}
	ctx := c.Request().Context()
	if there, err = h.store.DeleteInvitation(ctx, id); there {
		h.core.Note(ctx, activity.Entry{Action: activity.InvitationRevoked})
	}
	return there, err
}

// resetLink makes a link by which the person that a request's path names can choose a new password.
func (h *Users) resetLink(c echo.Context) (madeLink, error) {
	u, err := h.one(c)
	if err != nil {
		return madeLink{}, err
	}
	l, code, err := h.links.Reset(c.Request().Context(), core.UserOf(c).ID, u.ID)
	if err != nil {
		return madeLink{}, nobody(err)
	}
	h.noteFor(c.Request().Context(), u.ID, activity.Entry{Action: activity.ResetLinkMade, Subject: l.Name})
	return h.made(l, code), nil
}

type listInvitationsAnswer struct {
	Invitations []Link `json:"invitations"`
}

func (h *Users) invitationsAPI(c echo.Context, _ *core.None) (out listInvitationsAnswer, _ error) {
	all, err := h.store.Invitations(c.Request().Context())
	if err != nil {
		return out, err
	}
	return listInvitationsAnswer{Invitations: core.ViewAll(all, linkView)}, nil
}

type inviteRequest struct {
	core.IdempotencyKey
	Body invitation
}

func (h *Users) inviteAPI(c echo.Context, in *inviteRequest) (out Link, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	v, err := h.invite(c, in.Body)
	if err != nil {
		return out, err
	}
	return v.view(), nil
}

type withdrawInvitationRequest struct {
	ID string `path:"id"`
}

func (h *Users) takeBackAPI(c echo.Context, _ *withdrawInvitationRequest) (out Removed, _ error) {
	there, err := h.takeBack(c)
	if err != nil {
		return out, err
	}
	return Removed{Previous: presence(there), New: presence(false)}, nil
}

type resetPasswordRequest struct {
	core.UserID
	core.IdempotencyKey
}

func (h *Users) resetAPI(c echo.Context, _ *resetPasswordRequest) (out Link, _ error) {
	if err := h.core.Proved(c); err != nil {
		return out, err
	}
	v, err := h.resetLink(c)
	if err != nil {
		return out, err
	}
	return v.view(), nil
}

// showLink shows a link that still works, with its address. Without it, it leads elsewhere and says why.
func (h *Users) showLink(c echo.Context, kind string, id int64, elsewhere string) error {
	ctx := c.Request().Context()
	l, err := h.store.OpenLink(ctx, kind, id)
	if errors.Is(err, accounts.ErrLink) {
		return h.core.Done(c, elsewhere, words.New("link.gone"))
	}
	if err != nil {
		return err
	}
	if l.Code == "" {
		return h.core.Done(c, elsewhere, words.New("link.unknown"))
	}
	v := h.made(l, l.Code)
	return h.core.ShowSettings(c, http.StatusOK, v.title(ctx), newLink(v))
}

func (h *Users) backToList(c echo.Context) error { return c.Redirect(http.StatusSeeOther, peoplePath) }

func (h *Users) invitationPage(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	return h.showLink(c, accounts.Invitation, id, peoplePath)
}

func (h *Users) resetPage(c echo.Context) error {
	u, err := h.one(c)
	if err != nil {
		return err
	}
	return h.showLink(c, accounts.Reset, u.ID, personPath(u))
}

// invitationPath returns the address of the page of an invitation.
func invitationPath(id int64) string { return peoplePath + "/invitations/" + strconv.FormatInt(id, 10) }

func (h *Users) inviteForm(c echo.Context) error {
	if h.core.Proved(c) != nil {
		return h.proveFirst(c, "invite")
	}
	in, err := core.Filled[invitation](c)
	if err != nil {
		return err
	}
	v, err := h.invite(c, in)
	if err != nil {
		return h.failed(c, listView{Form: "invite", Name: in.Name, Role: in.Role}, err)
	}
	return c.Redirect(http.StatusSeeOther, invitationPath(v.ID))
}

func (h *Users) resetForm(c echo.Context) error {
	v, err := h.resetLink(c)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, personPath(accounts.User{ID: v.User})+"/reset")
}

func (h *Users) takeBackForm(c echo.Context) error {
	if _, err := h.takeBack(c); err != nil {
		return err
	}
	return h.core.Done(c, peoplePath, words.New("people.taken_back"))
}
