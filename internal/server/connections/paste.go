package connections

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pasteView is the page for those whose browser cannot come back from a service's consent page by itself: they copy the
// address that it was sent to.
type pasteView struct {
	ID, Service string
	Title, Lead string
	ReturnTo    string
	Way         *ui.Way
	Consent     string // the service's consent page
	Problem     string
}

func (h *connect) showPaste(
	c echo.Context, status int, id library.ConnectionID, p *providers.Provider, v pasteView,
) (err error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	v.ID, v.Service = string(id), p.Called().T(ctx)
	v.Title = words.T(ctx, "connect.title", "Name", p.Called())
	v.Lead = words.T(ctx, "connect.paste_lead", "Service", p.Called())
	if v.Way, err = h.steps.Way(ctx, u, p.Name, v.ReturnTo); err != nil {
		return err
	}
	return h.core.Show(c, status, v.Title, pastePage(v))
}

// answer takes the address that a person has copied.
func (h *connect) answer(c echo.Context) error {
	id, p, err := h.consenting(c)
	if err != nil {
		return err
	}
	u, err := url.Parse(strings.TrimSpace(c.FormValue("address")))
	if err == nil && u.Query().Get("state") != "" {
		return h.consented(c, u.Query())
	}
	to := core.LocalPath(c.FormValue("return_to"))
	if ready, err := h.ready(c, p, to); !ready {
		return err
	}
	address, err := h.begin(c, id, to)
	if err != nil {
		return err
	}
	return h.showPaste(c, http.StatusUnprocessableEntity, id, p, pasteView{Consent: address, ReturnTo: to,
		Problem: words.T(c.Request().Context(), "connect.paste_wrong")})
}
