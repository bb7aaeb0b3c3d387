package connections

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/web"
)

// act carries out an action on a connection.
func (h *Handler) act(ctx context.Context, user int64, provider, action string) error {
	switch action {
	case "sync":
		return h.connections.SyncNow(ctx, user, provider)
	case "retry":
		return h.connections.Retry(ctx, user, provider)
	case "pause":
		return h.connections.Pause(ctx, user, provider)
	case "resume":
		return h.connections.Resume(ctx, user, provider)
	}
	return core.HTTPProblem(http.StatusNotFound)
}

func (h *Handler) list(c echo.Context) error {
	all, err := h.statuses.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"connections": all})
}

func (h *Handler) oneAPI(c echo.Context) error {
	v, err := h.statuses.One(c.Request().Context(), core.UserOf(c).ID, c.Param("provider"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (h *Handler) actAPI(c echo.Context) error {
	p, err := h.core.Provider(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	path := c.Path()
	if err := h.act(ctx, user, p.Name, path[lastSlash(path)+1:]); err != nil {
		return err
	}
	v, err := h.statuses.One(ctx, user, p.Name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, map[string]string{"state": v.State})
}

func lastSlash(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return i
		}
	}
	return -1
}

func (h *Handler) disconnectAPI(c echo.Context) error {
	data := c.QueryParam("data")
	if data != "" && data != "keep" && data != "delete" {
		return &core.Problem{Status: http.StatusBadRequest, Title: "Keep or delete?",
			Detail: "data is keep, which it is by default, or delete."}
	}
	if err := h.connections.Disconnect(c.Request().Context(), core.UserOf(c).ID, c.Param("provider"),
		data == "delete"); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// done holds the sentences that confirm an action.
var done = map[string]string{
	"sync":   "Reading has started.",
	"retry":  "Trying again now.",
	"pause":  "Paused. Nothing is read or sent until you press Resume.",
	"resume": "Going on.",
}

func (h *Handler) actForm(c echo.Context) error {
	p, err := h.core.Provider(c)
	if err != nil {
		return err
	}
	ctx, user, action := c.Request().Context(), core.UserOf(c).ID, c.Param("action")
	if action == "disconnect" {
		return h.disconnectForm(c, p)
	}
	err = h.act(ctx, user, p.Name, action)
	flash := p.DisplayName + ": " + done[action]
	if action == "sync" && len(p.Streams) == 0 {
		flash = p.DisplayName + ": What waits is written now."
	}
	if _, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		flash, err = h.core.Problem(c, err).Detail, nil
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, h.core.CameFrom(c), flash)
}

func (h *Handler) disconnectForm(c echo.Context, p *providers.Provider) error {
	data := c.FormValue("data")
	if data != "keep" && data != "delete" {
		return &core.Problem{Status: http.StatusUnprocessableEntity, Title: "Keep or delete?",
			Detail: "Go back and choose whether what was read is kept or deleted."}
	}
	ctx, owed := c.Request().Context(), 0
	if st, err := h.statuses.Status(ctx, core.UserOf(c).ID, p.Name); err == nil {
		owed = st.Waiting.Listens
	}
	if err := h.connections.Disconnect(ctx, core.UserOf(c).ID, p.Name, data == "delete"); err != nil {
		return err
	}
	kept := "Everything that was read is kept."
	if owed > 0 {
		kept += " " + web.Count(owed, "listen waits", "listens wait") + " to be sent there, and will be when you " +
			"connect it again."
	}
	if data == "delete" {
		kept = "What was read through it alone was deleted, and so was what waited to be sent there."
	}
	return h.core.Done(c, "/", p.DisplayName+" is disconnected. "+kept)
}
