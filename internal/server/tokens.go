package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/web"
)

// TokenStore keeps personal tokens.
type TokenStore interface {
	accounts.TokenStore
	Tokens(ctx context.Context, user int64) ([]accounts.Token, error)
	TokenByHash(ctx context.Context, hash string) (accounts.Token, error)
	TokenByID(ctx context.Context, user, id int64) (accounts.Token, error)
	TouchToken(ctx context.Context, id int64, at time.Time) error
	DeleteToken(ctx context.Context, user, id int64) error
}

// tokenView is a personal token. Secret is only there when it has just been made.
type tokenView struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Scope      string  `json:"scope"`
	LastFour   string  `json:"last_four"`
	CreatedAt  string  `json:"created_at"`
	LastUsedAt *string `json:"last_used_at"`
	ExpiresAt  *string `json:"expires_at"`
	Expired    bool    `json:"expired"`
	Secret     string  `json:"token,omitempty"`
}

func viewToken(t accounts.Token) tokenView {
	return tokenView{ID: strconv.FormatInt(t.ID, 10), Name: t.Name, Scope: string(t.Scope), LastFour: t.LastFour, CreatedAt: library.Stamp(t.CreatedAt),
		LastUsedAt: moment(t.LastUsedAt), ExpiresAt: moment(t.ExpiresAt), Expired: t.Expired(time.Now())}
}

// tokenInput is what a call says about a new token.
type tokenInput struct {
	Name      string  `json:"name"`
	Scope     string  `json:"scope"`
	ExpiresAt *string `json:"expires_at"`
}

func (s *Server) makeToken(c echo.Context, name, scope string, expires time.Time) (tokenView, error) {
	ctx := c.Request().Context()
	t, secret, err := accounts.MakeToken(ctx, s.Store, userOf(c), accounts.TokenRequest{
		Name: name, Scope: accounts.Scope(scope), Expires: expires,
	})
	if err != nil {
		return tokenView{}, err
	}
	s.note(ctx, activity.Entry{User: t.User, Action: activity.TokenMade, Subject: t.Name, Detail: "It is good for: " + tokenWords[t.Scope] + "."})
	v := viewToken(t)
	v.Secret = secret
	return v, nil
}

// tokenWords say what each scope is good for.
var tokenWords = map[accounts.Scope]string{
	accounts.Read:    "reading",
	accounts.Operate: "reading and changing what is its owner's",
	accounts.Full:    "reading, changing and administration",
}

// endOf names a token on the bus when it is revoked.
func endOf(id int64) string { return "token-" + strconv.FormatInt(id, 10) }

// revoke ends a token of the user, and the streams that were opened with it.
func (s *Server) revoke(c echo.Context) (accounts.Token, error) {
	t, err := s.token(c)
	if err != nil {
		return t, err
	}
	ctx := c.Request().Context()
	if err := s.Store.DeleteToken(ctx, t.User, t.ID); err != nil {
		return t, err
	}
	s.Bus.Publish(t.User, events.Event{Type: events.SessionEnd, ID: endOf(t.ID)})
	s.note(ctx, activity.Entry{User: t.User, Action: activity.TokenRevoked, Subject: t.Name})
	return t, nil
}

// token returns the token that a request's address names.
func (s *Server) token(c echo.Context) (accounts.Token, error) {
	id, err := number(c.Param("id"))
	if err != nil {
		return accounts.Token{}, err
	}
	return s.Store.TokenByID(c.Request().Context(), userOf(c).ID, id)
}

func (s *Server) tokensAPI(c echo.Context) error {
	all, err := s.Store.Tokens(c.Request().Context(), userOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"tokens": viewAll(all, viewToken)})
}

func (s *Server) makeTokenAPI(c echo.Context) error {
	in, err := body[tokenInput](c)
	if err != nil {
		return err
	}
	var expires time.Time
	if in.ExpiresAt != nil {
		if expires, err = time.Parse(time.RFC3339, *in.ExpiresAt); err != nil {
			return accounts.InputError("expires_at is a time such as 2027-01-31T00:00:00Z, or null for never.")
		}
	}
	v, err := s.makeToken(c, in.Name, in.Scope, expires)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, v)
}

func (s *Server) revokeTokenAPI(c echo.Context) error {
	if _, err := s.revoke(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// tokenForm makes a token, and shows it this once.
func (s *Server) tokenForm(c echo.Context) error {
	var expires time.Time
	if days, err := strconv.Atoi(c.FormValue("days")); err == nil && days > 0 {
		expires = time.Now().AddDate(0, 0, days)
	}
	v, err := s.makeToken(c, c.FormValue("name"), c.FormValue("scope"), expires)
	if err != nil {
		p := s.problemOf(c, err)
		return s.showSettings(c, p.Status, settingsView{Form: "token", Problem: p.Detail, Name: c.FormValue("name"), Role: c.FormValue("scope")})
	}
	return s.render(c, http.StatusOK, "token", "A new access token", v)
}

func (s *Server) revokeTokenPage(c echo.Context) error {
	t, err := s.token(c)
	if err != nil {
		return err
	}
	lead := "Whatever uses it cannot sign in any more, from this moment on. A revoked token cannot be taken back; you can make another."
	if t.LastUsedAt.IsZero() {
		lead = "It has never been used. " + lead
	} else {
		lead = "It was last used at " + library.Stamp(t.LastUsedAt) + ". " + lead
	}
	return s.confirm(c, confirmView{Title: "Revoke the token “" + t.Name + "”?", Lead: lead, Action: "/settings/tokens/" + c.Param("id") + "/revoke",
		Button: "Revoke", Warn: true, Back: "/settings#tokens"})
}

func (s *Server) revokeTokenForm(c echo.Context) error {
	t, err := s.revoke(c)
	if err != nil {
		return err
	}
	s.sessions.Put(c.Request().Context(), flashKey, "The token “"+t.Name+"” is revoked.")
	return c.Redirect(http.StatusSeeOther, "/settings#tokens")
}

// afterPassword says that a new password ends no token, to those who have some.
func (s *Server) afterPassword(c echo.Context) string {
	all, err := s.Store.Tokens(c.Request().Context(), userOf(c).ID)
	if err != nil || len(all) == 0 {
		return ""
	}
	return " Your " + web.Count(len(all), "access token goes", "access tokens go") + " on working; revoke below what should not."
}
