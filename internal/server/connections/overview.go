package connections

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	syncer "reprise/internal/sync"
)

// overview answers for the start page, which shows all connections.
type overview struct {
	core     *core.Core
	store    Store
	statuses *Statuses
	rows     *music.Rows
	uplink   *resilience.Uplink
}

type statusView struct {
	Connections []View
	Offers      []*providers.Provider // not connected yet
	Listens     []music.Row
	Total       int
	Attention   int // connections that need a person
	Trouble     int // connections that wait
	Offline     bool
}

func (h *overview) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.statuses.All(ctx, user.ID)
	if err != nil {
		return err
	}
	v := statusView{Connections: all}
	_, v.Offline = h.uplink.Offline()
	for i := range all {
		switch syncer.Condition(all[i].State) {
		case syncer.NeedsAdmin, syncer.NeedsReconnect:
			v.Attention++
		case syncer.Waiting, syncer.Held:
			v.Trouble++
		}
	}
	// Connections that need a person come first.
	slices.SortStableFunc(v.Connections, func(a, b View) int { return attention(b) - attention(a) })
	for _, p := range h.core.Registry.All() {
		if !slices.ContainsFunc(all, func(v View) bool { return v.Provider == p.Name }) {
			v.Offers = append(v.Offers, p)
		}
	}
	page, _, err := h.store.Listens(ctx, user.ID, "", 5)
	if err != nil {
		return err
	}
	if v.Listens, err = h.rows.Of(ctx, page); err != nil {
		return err
	}
	if v.Total, err = h.store.CountListens(ctx, user.ID); err != nil {
		return err
	}
	return h.core.Render(c, http.StatusOK, "status", "Status", v)
}

func attention(v View) int {
	switch syncer.Condition(v.State) {
	case syncer.NeedsReconnect, syncer.NeedsAdmin:
		return 2
	case syncer.Waiting, syncer.Held:
		return 1
	}
	return 0
}
