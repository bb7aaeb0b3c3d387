package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/notify"
)

func (s *Server) notificationsAPI(c echo.Context) error {
	all, err := s.Store.Notifications(c.Request().Context(), userOf(c).ID, c.QueryParam("open") == "true")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"notifications": viewAll(all, viewNotification)})
}

func (s *Server) notificationsPage(c echo.Context) error {
	all, err := s.Store.Notifications(c.Request().Context(), userOf(c).ID, false)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "notifications", "Notifications", viewAll(all, viewNotification))
}

func (s *Server) acknowledge(c echo.Context) error {
	id, err := number(c.Param("id"))
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	if _, err := s.Store.Notification(ctx, user, id); err != nil {
		return err
	}
	return s.Notifier.Acknowledge(ctx, user, id)
}

// unseen names the element of the page that a person goes on with, who has seen the notification of that id: the next one
// that they have not seen, or the whole list.
func (s *Server) unseen(c echo.Context, id string) (element string, err error) {
	all, err := s.Store.Notifications(c.Request().Context(), userOf(c).ID, true)
	i := slices.IndexFunc(all, func(n notify.Notification) bool { return strconv.FormatInt(n.ID, 10) == id })
	for _, n := range slices.Concat(all[i+1:], all[:i+1]) {
		if n.AcknowledgedAt.IsZero() {
			return fmt.Sprintf("notification-%d", n.ID), err
		}
	}
	return "notifications", err
}

func (s *Server) ackAPI(c echo.Context) error {
	if err := s.acknowledge(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) ackForm(c echo.Context) error {
	if err := s.acknowledge(c); err != nil {
		return err
	}
	next, err := s.unseen(c, c.Param("id"))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/notifications#"+next)
}
