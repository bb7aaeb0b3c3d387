package server

import (
	"bytes"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
)

// layout is what every page is filled with.
type layout struct {
	Title   string
	Path    string
	User    *accounts.User
	Flash   string
	Alerts  []notificationView // the open ones
	Dead    int                // dead letters
	Digests bool               // whether there is a model to write them
	Demo    bool
	Version string
	Page    any
}

// render answers with a page. It is written whole or not at all.
func (s *Server) render(c echo.Context, status int, name, title string, page any) error {
	ctx := c.Request().Context()
	l := layout{Title: title, Path: c.Request().URL.Path, Digests: s.Digests != nil && s.Digests.Provider() != nil, Demo: s.Demo != nil, Version: s.Version, Page: page}
	if u := userOf(c); u.ID != 0 {
		l.User = &u
		open, err := s.Store.Notifications(ctx, u.ID, true)
		if err != nil && name != "error" {
			return err
		}
		l.Alerts = viewAll(open, viewNotification)
		counts, err := s.Store.CountDeliveries(ctx, delivery.Filter{User: u.ID, State: delivery.Dead})
		if err != nil && name != "error" {
			return err
		}
		l.Dead = counts[delivery.Dead]
		if page := c.Request().Header.Get("X-Reprise-Refresh"); page != "" { // a script looks, and a sentence for a person has to wait
			l.Path = page
		} else {
			l.Flash = s.sessions.PopString(ctx, flashKey)
		}
	}
	var b bytes.Buffer
	if err := s.pages.Render(&b, name, l); err != nil {
		return err
	}
	return c.HTMLBlob(status, b.Bytes())
}

// ready says whether the server does its work: the database answers and the loops tick. An upstream that is down does
// not matter here.
func (s *Server) ready(c echo.Context) error {
	if err := s.Store.Ping(c.Request().Context()); err != nil {
		return c.String(http.StatusServiceUnavailable, "database: "+s.problemOf(c, err).Detail+"\n")
	}
	every := max(s.Syncer.Every(library.Listens), s.Syncer.Every(library.Playlists))
	if at := s.Syncer.TickedAt(); at.IsZero() || time.Since(at) > 3*every+time.Minute {
		return c.String(http.StatusServiceUnavailable, "loops: have not ticked\n")
	}
	return c.String(http.StatusOK, "ok\n")
}
