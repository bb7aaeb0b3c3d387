package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
)

// copyView is a provider's copy of a playlist.
type copyView struct {
	Provider    string           `json:"provider"`
	DisplayName string           `json:"display_name"`
	Enabled     bool             `json:"enabled"`
	UpToDate    bool             `json:"up_to_date"`
	WrittenAt   *string          `json:"written_at"`
	Delivery    *deliveryView    `json:"delivery"`
	Report      *delivery.Report `json:"report"`
}

// Missing are the tracks that were not found.
func (v copyView) Missing() (tracks []delivery.ReportTrack) {
	for _, t := range v.Report.Tracks {
		if t.How == match.ByNothing {
			tracks = append(tracks, t)
		}
	}
	return tracks
}

// writer returns the playlist's number and the provider that a request's address names, if the one can be written to the
// other.
func (s *Server) writer(c echo.Context) (int64, *providers.Provider, error) {
	p, err := s.provider(c)
	if err != nil {
		return 0, nil, err
	}
	id, err := number(c.Param("id"))
	if err != nil {
		return 0, nil, err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	list, _, err := s.Store.Playlist(ctx, user, id)
	if err == nil && (!p.Takes.Playlists || list.Provider == p.Name) {
		err = delivery.ErrNotTaken
	}
	if err == nil {
		_, err = s.oneStatus(ctx, user, p.Name)
	}
	return id, p, err
}

func (s *Server) copyOf(ctx context.Context, user, playlist int64, p *providers.Provider) (copyView, error) {
	v := copyView{Provider: p.Name, DisplayName: p.DisplayName}
	ref := strconv.FormatInt(playlist, 10)
	kept, err := s.Store.Copy(ctx, user, p.Name, delivery.WritePlaylist, ref)
	if errors.Is(err, library.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Enabled, v.WrittenAt, v.UpToDate = true, moment(kept.WrittenAt), kept.Written == kept.Wanted
	if kept.Report != "" {
		report := delivery.ReportOf(kept)
		v.Report = &report
	}
	d, err := s.Store.CopyDelivery(ctx, user, p.Name, delivery.WritePlaylist, ref)
	if errors.Is(err, library.ErrNotFound) { // done long ago, or discarded
		return v, nil
	}
	if err != nil {
		return v, err
	}
	names, err := s.namesFor(ctx, user, d)
	view := names.view(d)
	v.Delivery = &view
	return v, err
}

// copies are the copies of a playlist at those connected providers that could hold one.
func (s *Server) copies(ctx context.Context, user int64, id, from string) (views []copyView, err error) {
	playlist, err := number(id)
	if err != nil {
		return nil, err
	}
	connected, err := s.Store.UserConnections(ctx, user)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Registry.All() {
		if !p.Takes.Playlists || p.Name == from || !slices.ContainsFunc(connected, func(c library.Connection) bool { return c.Provider == p.Name }) {
			continue
		}
		v, err := s.copyOf(ctx, user, playlist, p)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

func (s *Server) copyAPI(c echo.Context) error {
	return s.answerCopy(c, http.StatusOK, func(context.Context, int64, int64, string) error { return nil })
}

func (s *Server) writeCopyAPI(c echo.Context) error {
	return s.answerCopy(c, http.StatusAccepted, s.Deliveries.WritePlaylist)
}

// answerCopy does something with a copy, and answers with how it stands then.
func (s *Server) answerCopy(c echo.Context, status int, do func(ctx context.Context, user, playlist int64, provider string) error) error {
	id, p, err := s.writer(c)
	ctx, user := c.Request().Context(), userOf(c).ID
	if err == nil {
		err = do(ctx, user, id, p.Name)
	}
	if err != nil {
		return err
	}
	v, err := s.copyOf(ctx, user, id, p)
	if err != nil {
		return err
	}
	return c.JSON(status, v)
}

func (s *Server) stopCopyAPI(c echo.Context) error {
	id, p, err := s.writer(c)
	if err == nil {
		err = s.Deliveries.StopWriting(c.Request().Context(), userOf(c).ID, id, p.Name)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) copyForm(c echo.Context) error {
	id, p, err := s.writer(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), userOf(c).ID
	sentence := "The playlist is written to " + p.DisplayName + ", and again whenever it changes here."
	if c.FormValue("write") == "stop" {
		sentence = "The playlist is not written to " + p.DisplayName + " any more. The copy there stays as it is."
		err = s.Deliveries.StopWriting(ctx, user, id, p.Name)
	} else {
		err = s.Deliveries.WritePlaylist(ctx, user, id, p.Name)
	}
	if err != nil {
		return err
	}
	s.sessions.Put(ctx, flashKey, sentence)
	return c.Redirect(http.StatusSeeOther, "/playlists/"+strconv.FormatInt(id, 10))
}
