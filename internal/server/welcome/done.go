package welcome

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// doneView is the last step: what has arrived, and what is still to come.
type doneView struct {
	Way      *ui.Way
	Title    string
	Lead     string
	Arriving bool // some of the history is still to come
	Plays    bool // a service tells what was played
	Services []serviceView
	Listens  []ui.Item
	More     []ui.Action
}

// serviceView is a connected service.
type serviceView struct {
	ID, Provider, Label, Account string
	State                        ui.Mark
	Bar                          *ui.Bar
	Left                         string // how long that takes
}

// newest is how many listens and playlists the page shows.
const newest = 5

func (h *Handler) donePage(c echo.Context) error {
	ctx, u := c.Request().Context(), core.UserOf(c)
	s, err := h.stepsOf(ctx, u)
	if err != nil {
		return err
	}
	all, err := h.statuses.All(ctx, u.ID)
	if err != nil {
		return err
	}
	v := doneView{Way: h.way(s, "done")}
	calm := true
	for _, one := range all {
		service := h.service(ctx, u.ID, one)
		calm = calm && (service.State.Shape == string(syncer.Healthy))
		v.Arriving = v.Arriving || service.Bar != nil || one.State == string(syncer.New)
		v.Services = append(v.Services, service)
		v.Plays = v.Plays || slices.ContainsFunc(one.Streams, func(s connections.StreamState) bool {
			return s.Stream == string(library.Listens)
		})
	}
	if v.Listens, err = h.arrived(ctx, u.ID); err != nil {
		return err
	}
	n, err := h.store.CountListens(ctx, u.ID)
	if err != nil {
		return err
	}
	v.Title, v.Lead = titleOf(ctx, v, calm, n)
	if n == 0 && !v.Arriving { // it may be a player that knows what was heard
		v.More = append(v.More, ui.Action{Label: words.T(ctx, "players.add"), URL: "/players/add"})
	}
	for _, name := range s.LeftOut {
		if p := h.core.Registry.Get(name); p != nil {
			v.More = append(v.More, ui.Action{Label: words.T(ctx, "connect.title", "Name", p.Called()),
				URL: "/connect/" + name + "?return_to=" + Path})
		}
	}
	return h.core.Show(c, http.StatusOK, v.Title, donePage(v))
}

// titleOf says in a word how it goes.
func titleOf(ctx context.Context, v doneView, calm bool, listens int) (title, lead string) {
	switch {
	case len(v.Services) == 0:
		return words.T(ctx, "welcome.nothing"), words.T(ctx, "welcome.nothing_lead")
	case v.Arriving:
		return words.T(ctx, "welcome.arriving"), words.T(ctx, "welcome.arriving_lead")
	case calm && listens > 0:
		return words.T(ctx, "welcome.good"), words.T(ctx, "welcome.good_lead", "Count", listens)
	case calm && v.Plays:
		return words.T(ctx, "welcome.good"), words.T(ctx, "welcome.good_quiet")
	case calm:
		return words.T(ctx, "welcome.good"), words.T(ctx, "welcome.good_lists")
	}
	return words.T(ctx, "welcome.almost"), words.T(ctx, "welcome.almost_lead")
}

// service returns the view of a connected service.
func (h *Handler) service(ctx context.Context, user int64, one connections.Connection) serviceView {
	v := serviceView{ID: one.ID, Provider: one.Provider, Label: one.DisplayName, Account: one.Account,
		State: ui.Mark{Shape: string(syncer.Healthy), Word: words.T(ctx, "welcome.connected")}}
	switch syncer.Condition(one.State) {
	case syncer.Syncing, syncer.New:
		v.State = ui.Mark{Shape: string(syncer.Syncing), Word: words.T(ctx, "welcome.reading")}
	case syncer.Healthy:
	default:
		v.State = ui.Mark{Shape: one.State, Word: words.T(ctx, "welcome.waits")}
	}
	for _, s := range one.Streams {
		key := one.ID + "/" + s.Stream
		if s.HistoryDone == 0 && s.HistoryTotal == 0 {
			h.speed.forget(user, key)
			continue
		}
		v.State = ui.Mark{Shape: string(syncer.Syncing), Word: words.T(ctx, "welcome.reading")}
		v.Bar = &ui.Bar{ID: "progress-" + one.ID + "-" + s.Stream, Key: key, Done: s.HistoryDone, Total: s.HistoryTotal,
			Label: words.T(ctx, "welcome.history")}
		v.Left = leftWords(ctx, h.speed.left(user, key, s.HistoryDone, s.HistoryTotal, time.Now()))
	}
	return v
}

// leftWords says how long something takes; empty if that is not known.
func leftWords(ctx context.Context, left time.Duration) string {
	switch minutes := int(left.Round(time.Minute) / time.Minute); {
	case left == 0:
		return ""
	case left < time.Minute:
		return words.T(ctx, "welcome.left_soon")
	case minutes < 90:
		return words.T(ctx, "welcome.left_minutes", "Count", max(minutes, 1))
	default:
		return words.T(ctx, "welcome.left_hours", "Count", int(left.Round(time.Hour)/time.Hour))
	}
}

// arrived returns the newest listens, or playlists if there are only those.
func (h *Handler) arrived(ctx context.Context, user int64) ([]ui.Item, error) {
	page, _, err := h.store.Listens(ctx, user, "", newest)
	if err != nil {
		return nil, err
	}
	items := core.ViewAll(page, listenItem)
	if len(items) > 0 {
		return items, nil
	}
	lists, err := h.store.PlaylistsPart(ctx, user, 0, newest)
	return core.ViewAll(lists, func(p library.StoredPlaylist) ui.Item {
		id := strconv.FormatInt(p.ID, 10)
		return ui.Item{ID: "playlist-" + id, Title: ui.Named{Text: p.Name, URL: "/playlists/" + id}}
	}), err
}

func listenItem(l library.StoredListen) ui.Item {
	return ui.Item{Title: ui.Named{Text: cmp.Or(l.Title, "–")}, By: []ui.Named{{Text: l.Artist}}, At: l.PlayedAt}
}
