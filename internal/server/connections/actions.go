package connections

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// act carries out an action on a connection. followed says that a run is under way, which another one follows.
func (h *Handler) act(
	ctx context.Context, user int64, conn library.ConnectionID, action string,
) (followed bool, err error) {
	switch action {
	case "sync":
		return h.connections.Sync(ctx, user, conn)
	case "retry":
		return false, h.connections.Retry(ctx, user, conn)
	case "pause":
		return false, h.connections.Pause(ctx, user, conn)
	case "resume":
		return false, h.connections.Resume(ctx, user, conn)
	}
	return false, core.HTTPProblem(http.StatusNotFound)
}

func (h *Handler) list(c echo.Context) error {
	all, err := h.statuses.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"connections": all})
}

func (h *Handler) oneAPI(c echo.Context) error {
	v, err := h.statuses.One(c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(c.Param("id")))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (h *Handler) actAPI(c echo.Context) error {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	path := c.Path()
	action := path[lastSlash(path)+1:]
	followed, err := h.act(ctx, user, id, action)
	if err != nil {
		return err
	}
	v, err := h.statuses.One(ctx, user, id)
	if err != nil {
		return err
	}
	answer := map[string]any{"state": v.State}
	if action == "sync" {
		answer["followed"] = followed
	}
	return c.JSON(http.StatusAccepted, answer)
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
		return core.NotAChoice("data", data, "keep", "delete")
	}
	if err := h.connections.Disconnect(c.Request().Context(), core.UserOf(c).ID,
		library.ConnectionID(c.Param("id")), data == "delete"); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *Handler) actForm(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	ctx, user, action := c.Request().Context(), core.UserOf(c).ID, c.Param("action")
	if action == "disconnect" {
		return h.disconnectForm(c, id)
	}
	label := h.statuses.label(ctx, user, id)
	followed, err := h.act(ctx, user, id, action)
	flash := words.Each("connection.done.", action, "Name", label)
	if followed {
		flash = words.New("connection.done.followed", "Name", label)
	}
	if action == "sync" && len(p.Streams) == 0 {
		flash = words.New("connection.done.write", "Name", label)
	}
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		flash, err = words.Plain(h.core.Problem(c, err).Detail), nil
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, h.core.CameFrom(c), flash)
}

func (h *Handler) disconnectForm(c echo.Context, id library.ConnectionID) error {
	data := c.FormValue("data")
	if data != "keep" && data != "delete" {
		return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("connection.keep_or_delete"),
			Detail: words.New("connection.choose_first")}
	}
	ctx, user, owed := c.Request().Context(), core.UserOf(c).ID, 0
	label := h.statuses.label(ctx, user, id)
	if st, err := h.statuses.Status(ctx, user, id); err == nil {
		owed = st.Waiting.Listens
	}
	if err := h.connections.Disconnect(ctx, user, id, data == "delete"); err != nil {
		return err
	}
	said := words.New("connection.gone.kept", "Name", label)
	switch {
	case data == "delete":
		said = words.New("connection.gone.deleted", "Name", label)
	case owed > 0:
		said = words.Join(said, words.New("connection.gone.owed", "Count", owed))
	}
	return h.core.Done(c, "/", said)
}

// renameAPI gives a connection another name.
func (h *Handler) renameAPI(c echo.Context) error {
	in, err := core.Body[struct {
		Name string `json:"name"`
	}](c)
	if err != nil {
		return err
	}
	id, err := h.rename(c, in.Name)
	if err != nil {
		return err
	}
	v, err := h.statuses.One(c.Request().Context(), core.UserOf(c).ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (h *Handler) renameForm(c echo.Context) error {
	id, err := h.rename(c, c.FormValue("name"))
	if err != nil {
		return err
	}
	label := h.statuses.label(c.Request().Context(), core.UserOf(c).ID, id)
	return h.core.Done(c, "/connections/"+string(id), words.New("connection.renamed", "Name", label))
}

// rename gives the connection of a request the name that a person typed.
func (h *Handler) rename(c echo.Context, typed string) (library.ConnectionID, error) {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return id, err
	}
	name, err := nameOf(typed)
	if err != nil {
		return id, err
	}
	return id, h.connections.Rename(c.Request().Context(), core.UserOf(c).ID, id, name)
}
