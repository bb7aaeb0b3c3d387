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

type listConnectionsAnswer struct {
	Connections []Connection `json:"connections"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listConnectionsAnswer, _ error) {
	all, err := h.statuses.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return listConnectionsAnswer{Connections: all}, nil
}

func (h *Handler) oneAPI(c echo.Context, in *core.ConnectionID) (out Connection, _ error) {
	return h.statuses.One(c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(in.ID))
}

// stateAnswer is what a connection is doing after an action.
type stateAnswer struct {
	State string `json:"state" enum:"ConnectionState"`
}

// syncAnswer is what a connection is doing after it was told to read.
type syncAnswer struct {
	State    string `json:"state" enum:"ConnectionState"`
	Followed bool   `json:"followed" doc:"whether a sync was running; another one follows as soon as it has ended"`
}

func (h *Handler) syncAPI(c echo.Context, _ *core.ConnectionID) (out syncAnswer, err error) {
	out.State, out.Followed, err = h.acted(c, "sync")
	return out, err
}

func (h *Handler) actAPI(action string) core.Handle[core.ConnectionID, stateAnswer] {
	return func(c echo.Context, _ *core.ConnectionID) (out stateAnswer, err error) {
		out.State, _, err = h.acted(c, action)
		return out, err
	}
}

// acted does something with the connection that a request names, and returns its state afterwards.
func (h *Handler) acted(c echo.Context, action string) (state string, followed bool, err error) {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return "", false, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if followed, err = h.act(ctx, user, id, action); err != nil {
		return "", false, err
	}
	v, err := h.statuses.One(ctx, user, id)
	return v.State, followed, err
}

type disconnectRequest struct {
	core.ConnectionID
	Data string `query:"data" enum:"keep,delete" doc:"With 'delete', Reprise also deletes the playlists, the listens that came from this connection alone, and what is waiting to be sent there."`
}

func (h *Handler) disconnectAPI(c echo.Context, in *disconnectRequest) (out core.None, _ error) {
	data := in.Data
	if data != "" && data != "keep" && data != "delete" {
		return out, core.NotAChoice("data", data, "keep", "delete")
	}
	return out, h.connections.Disconnect(c.Request().Context(), core.UserOf(c).ID,
		library.ConnectionID(in.ID), data == "delete")
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

type renameConnectionRequest struct {
	core.ConnectionID
	Body struct {
		Name string `json:"name" maxLength:"60" doc:"Empty for the provider's name."`
	}
}

// renameAPI gives a connection another name.
func (h *Handler) renameAPI(c echo.Context, in *renameConnectionRequest) (out Connection, _ error) {
	id, err := h.rename(c, in.Body.Name)
	if err != nil {
		return out, err
	}
	return h.statuses.One(c.Request().Context(), core.UserOf(c).ID, id)
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
