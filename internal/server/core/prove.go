package core

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// ConfirmPath is the page on which people show once more who they are.
const ConfirmPath = "/confirm"

const (
	provedKey = "proved" // in a session: when its user has last shown who they are, in seconds since 1970

	provedFor = 10 * time.Minute
)

// errProve refuses what only somebody may do who has just shown who they are.
var errProve = &Refusal{Status: http.StatusForbidden, Title: words.New("confirm.title"),
	Detail: words.New("confirm.call"), Fields: map[string]words.Text{"confirm": words.New("confirm.call")}}

func (s *Sessions) prove(ctx context.Context) { s.manager.Put(ctx, provedKey, time.Now().Unix()) }

// Prove notes that the user of a request has just shown who they are, and gives the session another token.
func (k *Core) Prove(c echo.Context) error {
	ctx := c.Request().Context()
	return k.Sessions.SignIn(ctx, UserOf(c).ID, k.Sessions.Arrival(ctx))
}

// Proved returns nil if the user of a request has shown within some minutes who they are, and else the refusal of what
// can't be undone. Signing in shows it, if somebody was asked. Programs with a token are not asked,
// nor is anybody in the demo.
func (k *Core) Proved(c echo.Context) error {
	ctx := c.Request().Context()
	if k.Sessions.Current(ctx) == "" || k.Sessions.demoUser != 0 {
		return nil
	}
	at := time.Unix(k.Sessions.manager.GetInt64(ctx, provedKey), 0)
	if since := time.Since(at); since >= 0 && since < provedFor {
		return nil
	}
	return errProve
}

// MustProve is middleware for pages and forms of what can't be undone: it asks people to show who they are first, and
// leads them back to the page.
func (k *Core) MustProve(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if k.Proved(c) == nil {
			return next(c)
		}
		if c.Request().Method == http.MethodGet {
			return k.ProveFirst(c, c.Request().URL.RequestURI())
		}
		return k.ProveFirst(c, k.CameFrom(c))
	}
}

// ProveFirst leads to the page on which people show who they are, and from there to another one.
func (k *Core) ProveFirst(c echo.Context, after string) error {
	return c.Redirect(http.StatusSeeOther, ConfirmPath+"?after="+url.QueryEscape(LocalPath(after)))
}
