package music

import (
	"context"
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
	LoveOf(ctx context.Context, user int64, title, artist string) (library.Love, error)
}

const lovedPath = "/loved"

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
