package connections

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
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

// statusView is the start page.
type statusView struct {
	Headline    headline
	Connections []card
	Offers      []*providers.Provider // not connected yet
	Others      []core.Action         // to connect another account at a service
	NotReady    string                // for members: the offers that the administrator must set up first
	Listens     []music.Row
	Total       int
}

func (h *overview) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.statuses.All(ctx, user.ID)
	if err != nil {
		return err
	}
	open, err := h.core.Open(ctx, user.ID)
	if err != nil {
		return err
	}
	// Connections that need a person come first.
	slices.SortStableFunc(all, func(a, b View) int { return attention(b) - attention(a) })
	_, offline := h.uplink.Offline()
	admin := user.Role == accounts.Admin
	v := statusView{Headline: headlineOf(all, offline, admin)}
	for _, one := range all {
		v.Connections = append(v.Connections, newCard(one, open, "/"))
	}
	v.Offers, v.Others = h.offers(all), h.others(all)
	if !admin {
		v.NotReady = notReady(v.Offers)
	}
	page, _, err := h.store.Listens(ctx, user.ID, "", 5)
	if err != nil {
		return err
	}
	if v.Listens, err = h.rows.Of(ctx, user.ID, page); err != nil {
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

// offers returns the providers that are not connected.
func (h *overview) offers(all []View) (offers []*providers.Provider) {
	for _, p := range h.core.Registry.All() {
		if !slices.ContainsFunc(all, func(v View) bool { return v.Provider == p.Name }) {
			offers = append(offers, p)
		}
	}
	return offers
}

// notReady returns the names of the offers that the installation has not registered.
func notReady(offers []*providers.Provider) string {
	var names []string
	for _, p := range offers {
		if !p.Registered() {
			names = append(names, p.DisplayName)
		}
	}
	return strings.Join(names, ", ")
}

// others returns what a person can connect once more.
func (h *overview) others(all []View) (others []core.Action) {
	for _, p := range h.core.Registry.All() {
		taken := func(id library.ConnectionID) bool {
			return slices.ContainsFunc(all, func(v View) bool { return v.ID == string(id) })
		}
		next, free := library.NextConnectionID(p.Name, taken)
		if free && next.Number() > 1 && p.Registered() {
			others = append(others, core.Action{Label: p.DisplayName, URL: "/connect/" + string(next)})
		}
	}
	return others
}
