package server

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
)

// listenRow is a listen on a page: with its picture, and where its names lead.
type listenRow struct {
	library.ListenRecord
	Links enrich.Links
}

// rows are listens as pages show them.
func (s *Server) rows(ctx context.Context, page []library.StoredListen) ([]listenRow, error) {
	links, err := s.Store.Links(ctx, viewAll(page, func(l library.StoredListen) library.Track { return l.Track }))
	if err != nil {
		return nil, err
	}
	rows := make([]listenRow, len(page))
	for i, l := range page {
		rows[i] = listenRow{l.Record(), links[i]}
		rows[i].Links.Picture = s.shown(links[i].Picture)
	}
	return rows, nil
}

// shown is the name of a picture that can be shown; empty for one that has had to make room.
func (s *Server) shown(picture string) string {
	if picture == "" || s.Art == nil || !s.Art.Has(picture) {
		return ""
	}
	return picture
}

// picture answers with a picture. Its name stands for its content, so browsers may keep it.
func (s *Server) picture(c echo.Context) error {
	if s.Art == nil {
		return httpProblem(http.StatusNotFound)
	}
	b, kind, err := s.Art.Read(c.Param("hash"))
	if errors.Is(err, fs.ErrNotExist) {
		return httpProblem(http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("ETag", `"`+c.Param("hash")+`"`)
	h.Set(echo.HeaderContentType, kind)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(b))
	return nil
}

// musicView is what is known of an artist, an album or a track.
type musicView struct {
	ID          string     `json:"id"`
	Kind        string     `json:"kind"`
	Name        string     `json:"name"`
	Artist      string     `json:"artist"`
	Album       *string    `json:"album"` // that a track was played from
	Plays       int        `json:"plays"`
	LastHeardAt *string    `json:"last_heard_at"`
	MBID        *string    `json:"mbid"`
	Released    *string    `json:"released"`
	Tags        []string   `json:"tags"`
	Picture     *string    `json:"picture"` // its address
	Sources     []toldView `json:"sources"`

	Portrait bool `json:"-"` // the picture is the artist's
	// By whom a fact is told, for people.
	MBIDFrom, ReleasedFrom, TagsFrom, PictureFrom string `json:"-"`
	AlsoKnownAs                                   string `json:"-"` // as a source writes the name, where that differs
	AlsoFrom                                      string `json:"-"`
}

// toldView is what a source tells of it.
type toldView struct {
	Provider    string   `json:"provider"`
	DisplayName string   `json:"display_name"`
	State       string   `json:"state"`
	Tells       []string `json:"tells"`
	AskedAt     *string  `json:"asked_at"`
	NextAt      *string  `json:"next_attempt_at"`
	Detail      string   `json:"detail,omitempty"`
}

func (s *Server) viewMusic(m enrich.Music) musicView {
	v := musicView{ID: strconv.FormatInt(m.ID, 10), Kind: m.Kind, Name: m.Title, Artist: m.Artist, Album: knownText(m.Album), Plays: m.Plays, LastHeardAt: moment(m.LastHeard),
		MBID: knownText(m.MBID), Tags: []string{}, Sources: []toldView{}}
	if m.Kind == library.KindArtist {
		v.Name = m.Artist
	}
	var all []enrich.Source
	if s.Enrichment != nil {
		all = s.Enrichment.Sources()
	}
	rank := func(t enrich.Told) int {
		return slices.IndexFunc(all, func(e enrich.Source) bool { return e.Provider.Name == t.Source })
	}
	// A fact is told of as by the first source that has it: those that come later may only repeat it.
	slices.SortStableFunc(m.Told, func(a, b enrich.Told) int { return rank(a) - rank(b) })
	for _, t := range m.Told {
		told := toldView{Provider: t.Source, DisplayName: t.Source, State: string(t.State), Tells: []string{}, AskedAt: moment(t.AskedAt), NextAt: moment(t.Due), Detail: t.Reason}
		if i := rank(t); i >= 0 {
			told.DisplayName = all[i].Provider.DisplayName
		}
		v.take(t, &told, s.shown(t.Picture))
		v.Sources = append(v.Sources, told)
	}
	return v
}

// take adds what a source tells.
func (v *musicView) take(t enrich.Told, told *toldView, picture string) {
	first := func(what string, known, unknown bool, from *string) bool {
		if !known || !unknown {
			return false
		}
		told.Tells, *from = append(told.Tells, what), told.DisplayName
		return true
	}
	if first("mbid", t.MBID != "", v.MBIDFrom == "", &v.MBIDFrom) {
		v.MBID = &t.MBID
	}
	if first("released", t.Released != "", v.Released == nil, &v.ReleasedFrom) {
		v.Released = &t.Released
	}
	if first("tags", len(t.Tags) > 0, len(v.Tags) == 0, &v.TagsFrom) {
		v.Tags = t.Tags
	}
	if first("picture", picture != "", v.Picture == nil, &v.PictureFrom) {
		address := "/art/" + picture
		v.Picture, v.Portrait = &address, v.Kind == library.KindArtist
	}
	if first("name", t.Name != "" && t.Name != v.Name, v.AlsoKnownAs == "", &v.AlsoFrom) {
		v.AlsoKnownAs = t.Name
	}
}

func (s *Server) music(c echo.Context) (musicView, error) {
	ctx := c.Request().Context()
	id, err := number(c.Param("id"))
	if err != nil {
		return musicView{}, err
	}
	m, err := s.Store.Music(ctx, userOf(c).ID, c.Param("kind"), id)
	if err != nil {
		return musicView{}, err
	}
	v := s.viewMusic(m)
	if v.Picture == nil && m.Kind != library.KindArtist { // that of the album, or of the artist
		links, err := s.Store.Links(ctx, []library.Track{{Title: m.Title, Artist: m.Artist, Album: m.Album}})
		if err != nil {
			return v, err
		}
		if picture := s.shown(links[0].Picture); picture != "" {
			address := "/art/" + picture
			v.Picture, v.Portrait = &address, links[0].Portrait
		}
	}
	return v, nil
}

func (s *Server) musicAPI(c echo.Context) error {
	v, err := s.music(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

func (s *Server) musicPage(c echo.Context) error {
	v, err := s.music(c)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "music", v.Name, v)
}
