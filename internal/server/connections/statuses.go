package connections

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// StatusStore is what Statuses read.
type StatusStore interface {
	syncer.StatusStore
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	Players(ctx context.Context, user int64) ([]players.Player, error)
}

// Statuses returns the views of connections.
type Statuses struct {
	core        *core.Core
	store       StatusStore
	connections *syncer.Connections
	syncer      *syncer.Syncer
}

// NewStatuses returns Statuses.
func NewStatuses(
	k *core.Core, store StatusStore, connections *syncer.Connections, s *syncer.Syncer,
) *Statuses {
	return &Statuses{core: k, store: store, connections: connections, syncer: s}
}

// All returns the views of all connections of a user.
func (h *Statuses) All(ctx context.Context, user int64) ([]Connection, error) {
	all, err := h.all(ctx, user)
	return core.ViewsFor(ctx, all, h.view), err
}

// all returns the statuses of all connections of a user, without advice that they have followed.
func (h *Statuses) all(ctx context.Context, user int64) ([]syncer.Status, error) {
	all, err := h.connections.StatusOf(ctx, user, h.store)
	quiet := func(st syncer.Status) bool { return st.Note == syncer.AddPlayer }
	if err != nil || !slices.ContainsFunc(all, quiet) {
		return all, err
	}
	playing, err := h.store.Players(ctx, user)
	for i, st := range all {
		from := func(p players.Player) bool { return playsFrom(p, st.Connection.ID) }
		if quiet(st) && slices.ContainsFunc(playing, from) {
			all[i].Note = words.Text{}
		}
	}
	return all, err
}

// playsFrom reports whether a player has sent what was played on a server. Where its person has not said from which it
// plays, it may be any.
func playsFrom(p players.Player, conn library.ConnectionID) bool {
	return !p.LastPlayAt.IsZero() && (p.Mirrors == conn || p.Mirrors == "")
}

// One returns the view of one connection, or library.ErrNotFound.
func (h *Statuses) One(ctx context.Context, user int64, conn library.ConnectionID) (Connection, error) {
	st, err := h.Status(ctx, user, conn)
	if err != nil {
		return Connection{}, err
	}
	return h.view(ctx, st), nil
}

// Status returns the status of one connection, or library.ErrNotFound.
func (h *Statuses) Status(ctx context.Context, user int64, conn library.ConnectionID) (syncer.Status, error) {
	all, err := h.all(ctx, user)
	if err != nil {
		return syncer.Status{}, err
	}
	i := slices.IndexFunc(all, func(st syncer.Status) bool { return st.Connection.ID == conn })
	if i < 0 {
		return syncer.Status{}, library.ErrNotFound
	}
	return all[i], nil
}

// label returns what people read for a connection, or for its provider if the connection does not exist.
func (h *Statuses) label(ctx context.Context, user int64, id library.ConnectionID) string {
	st, err := h.Status(ctx, user, id)
	if err != nil {
		return h.core.NameOf(ctx, id)
	}
	return st.Connection.Label(st.Provider.Called().T(ctx))
}

// allowed returns what the person has allowed at a connection.
func (h *Statuses) allowed(c echo.Context, id library.ConnectionID) (all []providers.Permission, err error) {
	connections, err := h.store.UserConnections(c.Request().Context(), core.UserOf(c).ID)
	i := slices.IndexFunc(connections, func(one library.Connection) bool { return one.ID == id })
	if err != nil || i < 0 {
		return nil, err
	}
	for _, what := range []providers.Permission{providers.WritePlaylists, providers.WriteLoves} {
		if h.core.Registry.Get(id.Provider()).May(what, connections[i].Credentials) {
			all = append(all, what)
		}
	}
	return all, nil
}

// kept returns what the form of a connection that exists keeps: all but the secrets; about those it says that they are
// there. The address is among it, so that reconnecting does not send the credentials of one server to another.
func (h *Statuses) kept(c echo.Context, id library.ConnectionID) typed {
	values := typed{}
	all, err := h.store.UserConnections(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return values // the form is empty then
	}
	for _, one := range all {
		for _, f := range h.core.Registry.Get(id.Provider()).Fields {
			value := one.Credentials[f.Name]
			switch {
			case one.ID != id || value == "":
			case isSecret(f):
				values[had(f)] = "yes"
			default:
				values[f.Name] = value
			}
		}
	}
	return values
}
