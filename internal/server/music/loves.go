package music

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// LoveStore keeps which tracks people love.
type LoveStore interface {
	SaveLove(ctx context.Context, user int64, v library.Love) error
	Loves(ctx context.Context, user int64, score, offset, limit int) (page []library.Love, total int, err error)
	LoveOf(ctx context.Context, user int64, title, artist string) (library.Love, error)
}

const lovedPath = "/loved"

// Love is a track that a person loves, or hates.
type Love struct {
	Track         string    `json:"track"`
	Artist        string    `json:"artist"`
	RecordingMBID *string   `json:"recording_mbid"`
	Score         int       `json:"score" enum:"1,-1" doc:"1 for a loved track, -1 for a hated one."`
	LovedAt       core.Time `json:"loved_at" doc:"When you said so."`
}

// ViewLove returns what programs read.
func ViewLove(v library.Love) Love {
	one := Love{Track: v.Title, Artist: v.Artist, Score: v.Score, LovedAt: core.Stamp(v.At)}
	if v.RecordingMBID != "" {
		one.RecordingMBID = &v.RecordingMBID
	}
	return one
}

type lovesRequest struct {
	Page  int `query:"page" minimum:"1" default:"1"`
	Limit int `query:"limit" minimum:"1" maximum:"500" default:"50"`
}

type lovesAnswer struct {
	Loves []Love `json:"loves"`
	Total int    `json:"total" minimum:"0"`
}

func (h *Handler) lovesAPI(c echo.Context, in *lovesRequest) (out lovesAnswer, _ error) {
	all, total, err := h.store.Loves(c.Request().Context(), core.UserOf(c).ID, library.Loved, (in.Page-1)*in.Limit,
		in.Limit)
	return lovesAnswer{core.ViewAll(all, ViewLove), total}, err
}

func (h *Handler) loveAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.love(c, library.Loved)
	return out, err
}

func (h *Handler) unloveAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.love(c, library.Unrated)
	return out, err
}

// love stores whether the person of a request loves the track that it names.
func (h *Handler) love(c echo.Context, score int) (Music, error) {
	v, err := h.known(c, library.KindTrack)
	if err != nil {
		return v, err
	}
	one := library.Love{Title: v.Name, Artist: v.Artist, Score: score, At: time.Now()}
	if v.MBID != nil {
		one.RecordingMBID = *v.MBID
	}
	return v, h.store.SaveLove(c.Request().Context(), core.UserOf(c).ID, one)
}

func (h *Handler) loveForm(c echo.Context) error {
	score := library.Loved
	if c.FormValue("no") != "" {
		score = library.Unrated
	}
	v, err := h.love(c, score)
	if err != nil {
		return err
	}
	said := words.New("loves.said", "Track", v.Name)
	if score == library.Unrated {
		said = words.New("loves.taken_back", "Track", v.Name)
	}
	return h.core.Done(c, "/music/track/"+v.ID, said)
}

// loveNamedForm loves a track that its person may not have heard yet, by its names.
func (h *Handler) loveNamedForm(c echo.Context) error {
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	one := library.Love{Title: strings.TrimSpace(library.Name(form.Get("title"))),
		Artist: strings.TrimSpace(library.Name(form.Get("artist"))), Score: library.Loved, At: time.Now()}
	if one.Title == "" || one.Artist == "" {
		return core.BadRequest(words.New("loves.unnamed"), words.New("loves.unnamed_text"))
	}
	if err := h.store.SaveLove(c.Request().Context(), core.UserOf(c).ID, one); err != nil {
		return err
	}
	return h.core.Done(c, lovedPath, words.New("loves.said", "Track", one.Title))
}

// LoveNamed is the button that loves a track by its names.
func LoveNamed(ctx context.Context, t library.Track) ui.Action {
	return ui.Action{ID: "love", Label: words.T(ctx, "loves.love"), Post: lovedPath,
		Fields: []ui.Hidden{{Name: "title", Value: t.Title}, {Name: "artist", Value: t.Artist}}}
}

// loveButton is the button on the page of a track; nil elsewhere.
func (h *Handler) loveButton(c echo.Context, v Music) (*ui.Action, error) {
	if v.Kind != library.KindTrack {
		return nil, nil
	}
	ctx := c.Request().Context()
	one, err := h.store.LoveOf(ctx, core.UserOf(c).ID, v.Name, v.Artist)
	return LoveAction(ctx, "/music/track/"+v.ID, one), err
}

// LoveAction is the button that loves the track with a page, or takes that back.
func LoveAction(ctx context.Context, page string, v library.Love) *ui.Action {
	b := &ui.Action{ID: "love", Label: words.T(ctx, "loves.love"), Post: page + "/love"}
	if v.Score == library.Loved {
		b.Label, b.Fields = words.T(ctx, "loves.loved"), []ui.Hidden{{Name: "no", Value: "1"}}
	}
	return b
}

// lovesView is the page of loved tracks.
type lovesView struct {
	Lead  string
	Items []ui.Item
	Pages ui.Pages
}

// lovesAtOnce is how many tracks a page shows.
const lovesAtOnce = 100

func (h *Handler) lovesPage(c echo.Context) error {
	ctx := c.Request().Context()
	page, err := strconv.Atoi(c.QueryParam("page"))
	if err != nil || page < 1 {
		page = 1
	}
	all, total, err := h.store.Loves(ctx, core.UserOf(c).ID, library.Loved, (page-1)*lovesAtOnce, lovesAtOnce)
	if err != nil {
		return err
	}
	links, err := h.rows.Links(ctx, core.ViewAll(all, func(v library.Love) library.Track {
		return library.Track{Title: v.Title, Artist: v.Artist}
	})...)
	if err != nil {
		return err
	}
	v := lovesView{Lead: words.T(ctx, "loves.lead", "Count", total), Items: make([]ui.Item, len(all)),
		Pages: ui.Pages{Page: page, Pages: (total + lovesAtOnce - 1) / lovesAtOnce}}
	if total == 0 {
		v.Lead = words.T(ctx, "loves.none")
	}
	for i, one := range all {
		v.Items[i] = ui.Item{Title: ui.Named{Text: one.Title, URL: pageOf(library.KindTrack, links[i].Track)},
			By: []ui.Named{{Text: one.Artist, URL: pageOf(library.KindArtist, links[i].Artist)}}, At: one.At}
	}
	at := func(n int) string { return lovedPath + "?page=" + strconv.Itoa(n) }
	if page > 1 {
		v.Pages.Before = at(page - 1)
	}
	if page < v.Pages.Pages {
		v.Pages.After = at(page + 1)
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "loves.title"), lovedTracks(v))
}
