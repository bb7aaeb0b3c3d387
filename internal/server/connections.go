package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

func (s *Server) statuses(ctx context.Context, user int64) ([]connectionView, error) {
	all, err := s.Connections.StatusOf(ctx, user, s.Store)
	return viewAll(all, s.viewConnection), err
}

// status returns the view of one connection, or library.ErrNotFound.
func (s *Server) status(ctx context.Context, user int64, provider string) (connectionView, error) {
	st, err := s.oneStatus(ctx, user, provider)
	if err != nil {
		return connectionView{}, err
	}
	return s.viewConnection(st), nil
}

// oneStatus returns the status of one connection, or library.ErrNotFound.
func (s *Server) oneStatus(ctx context.Context, user int64, provider string) (syncer.Status, error) {
	all, err := s.Connections.StatusOf(ctx, user, s.Store)
	if err != nil {
		return syncer.Status{}, err
	}
	i := slices.IndexFunc(all, func(st syncer.Status) bool { return st.Provider.Name == provider })
	if i < 0 {
		return syncer.Status{}, library.ErrNotFound
	}
	return all[i], nil
}

// provider returns the provider that a request's address names.
func (s *Server) provider(c echo.Context) (*providers.Provider, error) {
	if p := s.Registry.Get(c.Param("provider")); p != nil {
		return p, nil
	}
	return nil, &problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no service of that name here."}
}

// act does what a person wants done with a connection.
func (s *Server) act(ctx context.Context, user int64, provider, action string) error {
	switch action {
	case "sync":
		return s.Connections.SyncNow(ctx, user, provider)
	case "retry":
		return s.Connections.Retry(ctx, user, provider)
	case "pause":
		return s.Connections.Pause(ctx, user, provider)
	case "resume":
		return s.Connections.Resume(ctx, user, provider)
	}
	return httpProblem(http.StatusNotFound)
}

func (s *Server) connectionsAPI(c echo.Context) error {
	all, err := s.statuses(c.Request().Context(), userOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"connections": all})
}

func (s *Server) connectionAPI(c echo.Context) error {
	v, err := s.status(c.Request().Context(), userOf(c).ID, c.Param("provider"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (s *Server) actAPI(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	path := c.Path()
	if err := s.act(ctx, user, p.Name, path[lastSlash(path)+1:]); err != nil {
		return err
	}
	v, err := s.status(ctx, user, p.Name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, map[string]string{"state": v.State})
}

func lastSlash(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return i
		}
	}
	return -1
}

func (s *Server) disconnectAPI(c echo.Context) error {
	data := c.QueryParam("data")
	if data != "" && data != "keep" && data != "delete" {
		return &problem{Status: http.StatusBadRequest, Title: "Keep or delete?", Detail: "data is keep, which it is by default, or delete."}
	}
	if err := s.Connections.Disconnect(c.Request().Context(), userOf(c).ID, c.Param("provider"), data == "delete"); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

type statusView struct {
	Connections []connectionView
	Offers      []*providers.Provider // not connected yet
	Listens     []listenRow
	Total       int
	Attention   int // connections that need a person
	Trouble     int // connections that wait
	Offline     bool
}

func (s *Server) statusPage(c echo.Context) error {
	ctx, user := c.Request().Context(), userOf(c)
	all, err := s.statuses(ctx, user.ID)
	if err != nil {
		return err
	}
	v := statusView{Connections: all}
	_, v.Offline = s.Uplink.Offline()
	for i := range all {
		switch syncer.Condition(all[i].State) {
		case syncer.NeedsAdmin, syncer.NeedsReconnect:
			v.Attention++
		case syncer.Waiting, syncer.Held:
			v.Trouble++
		}
	}
	// What needs a person stands first.
	slices.SortStableFunc(v.Connections, func(a, b connectionView) int { return attention(b) - attention(a) })
	for _, p := range s.Registry.All() {
		if !slices.ContainsFunc(all, func(v connectionView) bool { return v.Provider == p.Name }) {
			v.Offers = append(v.Offers, p)
		}
	}
	page, _, err := s.Store.Listens(ctx, user.ID, "", 5)
	if err != nil {
		return err
	}
	if v.Listens, err = s.rows(ctx, page); err != nil {
		return err
	}
	if v.Total, err = s.Store.CountListens(ctx, user.ID); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "status", "Status", v)
}

func attention(v connectionView) int {
	switch syncer.Condition(v.State) {
	case syncer.NeedsReconnect, syncer.NeedsAdmin:
		return 2
	case syncer.Waiting, syncer.Held:
		return 1
	}
	return 0
}

// connectionDetails is what the page of a connection shows.
type connectionDetails struct {
	Connection connectionView
	Forward    *forwardPart // where listens can be sent
	Archive    *archivePart
	Owed       int       // listens that wait to be sent there
	Runs       *runsPart // where something is read
	Gaps       []gapView
	Import     *importPart // where an export can be read
	Activity   []activityView
}

func (s *Server) connectionPage(c echo.Context) error {
	ctx, user := c.Request().Context(), userOf(c).ID
	st, err := s.oneStatus(ctx, user, c.Param("provider"))
	if errors.Is(err, library.ErrNotFound) && s.Registry.Get(c.Param("provider")) != nil {
		return c.Redirect(http.StatusSeeOther, "/settings")
	}
	if err != nil {
		return err
	}
	v := connectionDetails{Connection: s.viewConnection(st), Owed: st.Waiting.Listens}
	if st.Provider.Takes.Listens != "" {
		if v.Forward, err = s.forwardPart(ctx, user, st.Provider); err != nil {
			return err
		}
	}
	if st.Provider.Takes.Archive {
		if v.Archive, err = s.archivePart(ctx, user, st.Provider.Name); err != nil {
			return err
		}
	}
	if v.Runs, err = s.runsPart(ctx, user, st.Provider); err != nil {
		return err
	}
	if v.Gaps, err = s.gaps(ctx, user, st.Provider.Name); err != nil {
		return err
	}
	if v.Import, err = s.importPart(ctx, user, st.Provider); err != nil {
		return err
	}
	if v.Activity, _, err = s.activity(c, st.Provider.Name, "", latestActivity); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "connection", v.Connection.DisplayName, v)
}

// done are the sentences after a person's action.
var done = map[string]string{
	"sync":   "Reading has started.",
	"retry":  "Trying again now.",
	"pause":  "Paused. Nothing is read or sent until you press Resume.",
	"resume": "Going on.",
}

func (s *Server) connectionForm(c echo.Context) error {
	p, err := s.provider(c)
	if err != nil {
		return err
	}
	ctx, user, action := c.Request().Context(), userOf(c).ID, c.Param("action")
	if action == "disconnect" {
		return s.disconnectForm(c, p)
	}
	err = s.act(ctx, user, p.Name, action)
	flash := p.DisplayName + ": " + done[action]
	if action == "sync" && len(p.Streams) == 0 {
		flash = p.DisplayName + ": What waits is written now."
	}
	if _, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		flash, err = s.problemOf(c, err).Detail, nil
	}
	if err != nil {
		return err
	}
	s.sessions.Put(ctx, flashKey, flash)
	return c.Redirect(http.StatusSeeOther, s.cameFrom(c))
}

func (s *Server) disconnectForm(c echo.Context, p *providers.Provider) error {
	data := c.FormValue("data")
	if data != "keep" && data != "delete" {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Keep or delete?", Detail: "Go back and choose whether what was read is kept or deleted."}
	}
	ctx, owed := c.Request().Context(), 0
	if st, err := s.oneStatus(ctx, userOf(c).ID, p.Name); err == nil {
		owed = st.Waiting.Listens
	}
	if err := s.Connections.Disconnect(ctx, userOf(c).ID, p.Name, data == "delete"); err != nil {
		return err
	}
	kept := "Everything that was read is kept."
	if owed > 0 {
		kept += " " + web.Count(owed, "listen waits", "listens wait") + " to be sent there, and will be when you connect it again."
	}
	if data == "delete" {
		kept = "What was read through it alone was deleted, and so was what waited to be sent there."
	}
	s.sessions.Put(ctx, flashKey, p.DisplayName+" is disconnected. "+kept)
	return c.Redirect(http.StatusSeeOther, "/")
}
