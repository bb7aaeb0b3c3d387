package core

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Onward ends a form whose next page may lead to the page of a service: the content policy of our pages lets no form do
// so, not even by redirects. The form ends here, and the browser goes on by itself.
func (k *Core) Onward(c echo.Context, to string) error {
	ctx := c.Request().Context()
	c.Response().Header().Set("Refresh", "0; url="+LocalPath(to))
	return k.Show(c, http.StatusOK, words.T(ctx, "connect.onward"), ui.Empty(words.T(ctx, "connect.onward"),
		[]ui.Action{{Label: words.T(ctx, "connect.onward_button"), URL: LocalPath(to), Main: true}}))
}

// Away ends a session whose browser goes on to an address elsewhere, where a session of the same person ends as well.
// The address is from the settings, or from the issuer that they name.
func (k *Core) Away(c echo.Context, to string) error {
	ctx := context.WithValue(c.Request().Context(), userContext{}, accounts.User{}) // nobody is signed in any more
	c.SetRequest(c.Request().WithContext(ctx))
	c.Response().Header().Set("Refresh", "0; url="+to)
	return k.Show(c, http.StatusOK, words.T(ctx, "connect.onward"), ui.Empty(words.T(ctx, "openid.away"),
		[]ui.Action{{Label: words.T(ctx, "connect.onward_button"), URL: to, Main: true}}))
}
