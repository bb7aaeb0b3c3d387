package connections

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/activity"
	"reprise/internal/server/core"
	"reprise/internal/server/imports"
	syncer "reprise/internal/sync"
)

// page answers for the page of one connection.
type page struct {
	core        *core.Core
	store       Store
	connections *syncer.Connections
	statuses    *Statuses
	forwarding  *forwarding
	runs        *runs
	skipped     *skipped
	imports     *imports.Handler
	activity    *activity.Handler
}

// connectionDetails is the page of a connection. Parts that do not apply are nil.
type connectionDetails struct {
	Connection card
	Another    string       // where another connection to the provider is made; empty if there can be none
	Forward    *forwardPart // if the provider takes listens
	Archive    *archivePart
	Owed       int       // listens that wait to be sent there
	Runs       *runsPart // if something is read
	Late       string    // what is read of plays that arrive late; empty if nothing is read
	Skipped    *skippedPart
	Gaps       []gapView
	Import     *imports.Part // if its export can be imported
	Activity   []activity.View
}

func (h *page) show(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	id, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	st, err := h.statuses.Status(ctx, user, id)
	if errors.Is(err, library.ErrNotFound) {
		return c.Redirect(http.StatusSeeOther, "/settings")
	}
	if err != nil {
		return err
	}
	v := connectionDetails{Owed: st.Waiting.Listens}
	open, err := h.core.Open(ctx, user)
	if err != nil {
		return err
	}
	v.Connection = newCard(h.statuses.view(c.Request().Context(), st), open, c.Request().URL.Path)
	if next, err := h.connections.Next(ctx, user, id.Provider()); err == nil {
		v.Another = "/connect/" + string(next)
	}
	if st.Provider.Takes.Listens != "" {
		if v.Forward, err = h.forwarding.part(ctx, st.Connection, st.Provider); err != nil {
			return err
		}
	}
	if st.Provider.Takes.Archive {
		if v.Archive, err = h.archivePart(ctx, user, st.Connection.ID); err != nil {
			return err
		}
	}
	if v.Runs, err = h.runs.part(ctx, st.Connection, st.Provider); err != nil {
		return err
	}
	v.Late = lateWords(st)
	if v.Skipped, err = h.skipped.part(ctx, user, st.Connection.ID); err != nil {
		return err
	}
	if v.Gaps, err = h.gaps(ctx, user, st.Connection.ID); err != nil {
		return err
	}
	if v.Import, err = h.imports.Part(ctx, st.Connection, st.Provider); err != nil {
		return err
	}
	if v.Activity, err = h.activity.Latest(c, st.Connection.ID); err != nil {
		return err
	}
	return h.core.Render(c, http.StatusOK, "connection", v.Connection.DisplayName, v)
}

// lateWords says what is read of plays that reach the service long after they were played.
func lateWords(st syncer.Status) string {
	i := slices.IndexFunc(st.Streams, func(s syncer.StreamStatus) bool { return s.Stream == library.Listens })
	if i < 0 || st.Streams[i].LastSuccessAt.IsZero() || !st.Streams[i].Reads {
		return ""
	}
	late := "Plays that reach " + st.Connection.Label(st.Provider.DisplayName) +
		" late, for example from a phone that was offline, are "
	switch {
	case st.Streams[i].LateAtOnce:
		return late + "read with the next run, however old they are."
	case st.Streams[i].LateDaily:
		return late + "looked for once a day, up to 31 days back. What arrives later than that is not read."
	}
	return late + "read if they are less than a day late. To fill in older ones, import the service's own export."
}

// gapView is a time in which a connection was not read.
type gapView struct {
	From, To         string
	LostTo, FilledAt *string
	Recovered        int
	Filled           int
}

// gapsShown is the number of gaps on a connection's page.
const gapsShown = 5

func (h *page) gaps(ctx context.Context, user int64, conn library.ConnectionID) ([]gapView, error) {
	all, err := h.store.Gaps(ctx, user, conn)
	return core.ViewAll(all[:min(len(all), gapsShown)], func(g library.Gap) gapView {
		return gapView{From: library.Stamp(g.From), To: library.Stamp(g.To), LostTo: core.Moment(g.LostTo),
			FilledAt: core.Moment(g.FilledAt), Recovered: g.Recovered, Filled: g.Filled}
	}), err
}
