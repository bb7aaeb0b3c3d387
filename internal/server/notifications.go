package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
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
	return c.Redirect(http.StatusSeeOther, s.cameFrom(c))
}
