// Package notifications answers for the notifications of a user.
package notifications

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
	Notification(ctx context.Context, user, id int64) (notify.Notification, error)
	Channels(ctx context.Context, user int64) ([]notify.Channel, error)
}

// Handler answers for the notifications of a user.
type Handler struct {
	core     *core.Core
	store    Store
	notifier *notify.Notifier
}

// New returns a Handler.
func New(k *core.Core, store Store, notifier *notify.Notifier) *Handler {
	return &Handler{core: k, store: store, notifier: notifier}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/notifications", h.page)
	g.POST("/notifications/:id/ack", h.ackForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/notifications", h.list, core.Call{
		ID:      "listNotifications",
		Summary: "Notifications, newest first",
		Answer:  "The notifications.",
	})
	core.Post(a, "/notifications/{id}/ack", h.ackAPI, core.Call{
		ID:      "acknowledgeNotification",
		Summary: "Dismiss it; it stays open, but small, until its cause changes or goes away",
		Answer:  "Noted; every other stream of this user gets it.",
	})
	core.Post(a, "/notifications/{id}/seen", h.seenAPI, core.Call{
		ID:      "seeNotification",
		Summary: "Note that the person has seen it, so that no other tab announces it later",
		Answer:  "Noted; every other stream of this user gets it.",
	})
}

type listNotificationsRequest struct {
	Open bool `query:"open" doc:"With 'true', only those whose cause still exists; otherwise the latest 200."`
}

type listNotificationsAnswer struct {
	Notifications []core.Notification `json:"notifications"`
}

func (h *Handler) list(c echo.Context, in *listNotificationsRequest) (out listNotificationsAnswer, _ error) {
	all, err := h.store.Notifications(c.Request().Context(), core.UserOf(c).ID, in.Open)
	if err != nil {
		return out, err
	}
	return listNotificationsAnswer{Notifications: core.ViewsFor(c.Request().Context(), all, core.ViewNotification)}, nil
}

func (h *Handler) page(c echo.Context) error {
	all, err := h.store.Notifications(c.Request().Context(), core.UserOf(c).ID, false)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	views := core.ViewsFor(ctx, all, func(ctx context.Context, n notify.Notification) note {
		return noteOf(ctx, core.ViewNotification(ctx, n))
	})
	channels, err := h.store.Channels(ctx, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "notifications.title"), list(views, len(channels) > 0))
}

// note notes something about the notification that a request's path names.
func (h *Handler) note(c echo.Context, note func(ctx context.Context, user, id int64) error) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if _, err := h.store.Notification(ctx, user, id); err != nil {
		return err
	}
	return note(ctx, user, id)
}

// unseen returns the element that gets the focus after the notification id was acknowledged: the next one that was
// not, or the whole list.
func (h *Handler) unseen(c echo.Context, id string) (element string, err error) {
	all, err := h.store.Notifications(c.Request().Context(), core.UserOf(c).ID, true)
	i := slices.IndexFunc(all, func(n notify.Notification) bool { return strconv.FormatInt(n.ID, 10) == id })
	for _, n := range slices.Concat(all[i+1:], all[:i+1]) {
		if n.AcknowledgedAt.IsZero() {
			return fmt.Sprintf("notification-%d", n.ID), err
		}
	}
	return "notifications", err
}

func (h *Handler) ackAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.note(c, h.notifier.Acknowledge)
}

func (h *Handler) seenAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.note(c, h.notifier.See)
}

func (h *Handler) ackForm(c echo.Context) error {
	if err := h.note(c, h.notifier.Acknowledge); err != nil {
		return err
	}
	next, err := h.unseen(c, c.Param("id"))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/notifications#"+next)
}
