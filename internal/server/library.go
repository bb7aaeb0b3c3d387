package server

import (
	"net/http"
	"strconv"

	"reprise/internal/library"

	"github.com/labstack/echo/v4"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// limit reads the size of a page: 1 to 1,000, 50 by default.
func limit(c echo.Context) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, &problem{Status: http.StatusBadRequest, Title: "Not a limit", Detail: "limit is a whole number from 1 to 1000."}
	}
	return n, nil
}

func (s *Server) listens(c echo.Context) (page []library.StoredListen, next string, err error) {
	n, err := limit(c)
	if err != nil {
		return nil, "", err
	}
	return s.Store.Listens(c.Request().Context(), userOf(c).ID, c.QueryParam("before"), n)
}

func (s *Server) listensAPI(c echo.Context) error {
	page, next, err := s.listens(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"listens": viewAll(page, library.StoredListen.Record), "next": knownText(next)})
}

type listensView struct {
	Listens []listenRow
	Next    string
	First   bool // the newest page
	Total   int
}

func (s *Server) listensPage(c echo.Context) error {
	page, next, err := s.listens(c)
	if err != nil {
		return err
	}
	rows, err := s.rows(c.Request().Context(), page)
	if err != nil {
		return err
	}
	total, err := s.Store.CountListens(c.Request().Context(), userOf(c).ID)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "listens", "Listens", listensView{Listens: rows, Next: next, First: c.QueryParam("before") == "", Total: total})
}

func (s *Server) playlists(c echo.Context) ([]playlistView, error) {
	all, err := s.Store.Playlists(c.Request().Context(), userOf(c).ID)
	views := make([]playlistView, len(all))
	for i, p := range all {
		views[i] = viewPlaylist(p, nil)
	}
	return views, err
}

func (s *Server) playlistsAPI(c echo.Context) error {
	all, err := s.playlists(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"playlists": all})
}

func (s *Server) playlistsPage(c echo.Context) error {
	all, err := s.playlists(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "playlists", "Playlists", all)
}

func (s *Server) playlist(c echo.Context) (playlistView, error) {
	id, err := number(c.Param("id"))
	if err != nil {
		return playlistView{}, err
	}
	p, tracks, err := s.Store.Playlist(c.Request().Context(), userOf(c).ID, id)
	return viewPlaylist(p, tracks), err
}

func (s *Server) playlistAPI(c echo.Context) error {
	p, err := s.playlist(c)
	if err != nil {
		return err
	}
	if p.Tracks == nil {
		p.Tracks = []trackView{}
	}
	return c.JSON(http.StatusOK, p)
}

func (s *Server) playlistPage(c echo.Context) error {
	p, err := s.playlist(c)
	if err != nil {
		return err
	}
	copies, err := s.copies(c.Request().Context(), userOf(c).ID, p.ID, p.Provider)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "playlist", p.Name, struct {
		playlistView
		Copies []copyView
	}{p, copies})
}

// number reads an ID.
func number(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, httpProblem(http.StatusNotFound)
	}
	return id, nil
}
