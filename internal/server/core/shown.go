package core

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
)

// shownParam is the parameter of an address that names what its page shows.
const shownParam = "shown"

// shownKey returns the key under which the store keeps it, apart from those of calls.
func shownKey(text string) string { return "shown " + text }

// GoAndShow ends a form by a redirect to a page of ours that shows v, which nothing else does, such as a secret: so a
// reload repeats nothing. The store keeps v for a day, sealed, for the user of the request.
func (k *Core) GoAndShow(c echo.Context, to string, v any) error {
	text := rand.Text()
	kept, err := json.Marshal(v)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context()) // what v tells of has happened
	if err := k.store.KeepAnswer(ctx, UserOf(c).ID, shownKey(text), kept); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to+"?"+shownParam+"="+text)
}

// Shown reads into v what GoAndShow has kept for the page of a request, and reports whether there is any.
func (k *Core) Shown(c echo.Context, v any) (bool, error) {
	kept, err := k.store.Answered(c.Request().Context(), UserOf(c).ID, shownKey(c.QueryParam(shownParam)))
	if errors.Is(err, library.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(kept, v)
}
