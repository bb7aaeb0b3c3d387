package connections

import (
	"context"
	"errors"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// skippedStore reads what upstreams do not give.
type skippedStore interface {
	Skipped(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Skipped, error)
}

// skipped answers for what a connection's service lists and does not give.
type skipped struct {
	core        *core.Core
	store       skippedStore
	connections *syncer.Connections
	statuses    *Statuses
}

// Skipped is one such item.
type Skipped struct {
	Kind         string    `json:"kind" enum:"playlist,track"`
	SourceID     string    `json:"source_id" doc:"At the service, or the position in the playlist."`
	Name         string    `json:"name"`
	PlaylistID   *string   `json:"playlist_source_id" doc:"The playlist of a track."`
	PlaylistName *string   `json:"playlist_name"`
	Category     string    `json:"category" enum:"item,network,upstream,contract"`
	Reason       string    `json:"reason" doc:"Why, for a person."`
	Answer       *string   `json:"answer" doc:"What the service said."`
	Since        core.Time `json:"since"`
	TriedAt      core.Time `json:"tried_at"`
	RetryAt      core.Time `json:"retry_at"`
}

func viewSkipped(ctx context.Context, v library.Skipped) Skipped {
	return Skipped{Kind: v.Kind, SourceID: v.SourceID, Name: v.Name, PlaylistID: core.Text(v.Playlist),
		PlaylistName: core.Text(v.In), Category: v.Category, Reason: v.Reason.T(ctx), Answer: core.Text(v.Answer),
		Since: core.Stamp(v.Since), TriedAt: core.Stamp(v.TriedAt), RetryAt: core.Stamp(v.RetryAt)}
}

// skippedShown is the number of items on a connection's page.
const skippedShown = 50

// skippedPart is the part of a connection's page about them.
type skippedPart struct {
	Table ui.Grid
	More  int
	Next  time.Time // when the first of them is looked at again
}

// part returns what is skipped of a connection; nil for nothing.
func (h *skipped) part(ctx context.Context, user int64, conn library.ConnectionID) (*skippedPart, error) {
	all, err := h.store.Skipped(ctx, user, conn)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	part := &skippedPart{Next: all[0].RetryAt, More: max(0, len(all)-skippedShown), Table: ui.Grid{Class: "streams",
		Columns: []string{words.T(ctx, "connection.skipped.name"), words.T(ctx, "connection.skipped.why"),
			words.T(ctx, "connection.skipped.since"), words.T(ctx, "connection.skipped.tried")}}}
	for i, v := range all {
		if v.RetryAt.Before(part.Next) {
			part.Next = v.RetryAt
		}
		if i < skippedShown {
			part.Table.Rows = append(part.Table.Rows, ui.Line{Cells: []templ.Component{skippedName(v.Name, v.In),
				templ.Join(ui.Say(v.Reason.T(ctx)), ui.Details(v.Answer)), ui.Time(v.Since, ui.Ago),
				ui.Time(v.TriedAt, ui.Ago)}})
		}
	}
	return part, nil
}

type listSkippedAnswer struct {
	Skipped []Skipped `json:"skipped"`
}

func (h *skipped) api(c echo.Context, in *core.ConnectionID) (out listSkippedAnswer, _ error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	v, err := h.statuses.One(ctx, user, library.ConnectionID(in.ID))
	if err != nil {
		return out, err
	}
	all, err := h.store.Skipped(ctx, user, library.ConnectionID(v.ID))
	if err != nil {
		return out, err
	}
	return listSkippedAnswer{Skipped: core.ViewsFor(ctx, all, viewSkipped)}, nil
}

func (h *skipped) retryAPI(c echo.Context, _ *core.ConnectionID) (out stateAnswer, _ error) {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return out, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if err := h.connections.LookAgain(ctx, user, id); err != nil {
		return out, err
	}
	v, err := h.statuses.One(ctx, user, id)
	if err != nil {
		return out, err
	}
	return stateAnswer{State: v.State}, nil
}

func (h *skipped) retryForm(c echo.Context) error {
	id, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	flash := words.New("connection.skipped.looking")
	err = h.connections.LookAgain(c.Request().Context(), core.UserOf(c).ID, id)
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		flash, err = words.Plain(h.core.Problem(c, err).Detail), nil
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, "/connections/"+string(id), flash)
}
