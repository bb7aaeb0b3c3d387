package corrections

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/art"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// PictureStore stores pictures for this package.
type PictureStore interface {
	PictureMusic(ctx context.Context, user int64, kind string, id int64, picture []byte) (library.Correction, error)
	AutomaticPicture(ctx context.Context, user int64, kind string, id int64) error
}

// MaxBody is the maximum body size of a request with a picture, in the notation of the limiting middleware.
const MaxBody = "5500K"

// TakesPictures reports whether a request may have a picture in its body.
func TakesPictures(c echo.Context) bool {
	method := c.Request().Method
	return (method == http.MethodPost || method == http.MethodPut) && strings.HasSuffix(c.Path(), "/:id/picture")
}

func (h *Handler) picture(c echo.Context, kind string, sent []byte) (made library.Correction, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return made, err
	}
	small, err := art.Shrink(sent)
	switch {
	case errors.Is(err, art.ErrTooLarge):
		return made, &core.Refusal{Status: http.StatusRequestEntityTooLarge, Title: words.New("problem.file.title"),
			Detail: words.New("rules.problem.large")}
	case errors.Is(err, art.ErrNoPicture):
		return made, core.Check(words.New("rules.problem.picture"))
	case err != nil:
		return made, err
	}
	made, err = h.store.PictureMusic(c.Request().Context(), core.UserOf(c).ID, kind, id, small)
	return made, refused(err, words.New("rules.problem.pictured"))
}

func (h *Handler) automatic(c echo.Context, kind string) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	err = h.store.AutomaticPicture(c.Request().Context(), core.UserOf(c).ID, kind, id)
	return refused(err, words.New("rules.problem.automatic"))
}

func (h *Handler) pictureAPI(kind string) core.Handle[core.ByID, Correction] {
	return func(c echo.Context, _ *core.ByID) (out Correction, _ error) {
		sent, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return out, err
		}
		made, err := h.picture(c, kind, sent)
		return View(made), err
	}
}

func (h *Handler) automaticAPI(kind string) core.Handle[core.ByID, core.None] {
	return func(c echo.Context, _ *core.ByID) (core.None, error) { return core.None{}, h.automatic(c, kind) }
}

// pictureView is the page for choosing a picture.
type pictureView struct {
	ruleView
	Post    string
	Offered []offer
	Chosen  bool // an administrator has chosen the present one
}

// offer is a picture from a source.
type offer struct {
	Source, Name string
	Picture      ui.Picture
}

func (h *Handler) picturePage(c echo.Context) error {
	v, err := h.subject(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	page := pictureView{Post: v.page + "/picture", Chosen: v.chosen != "", ruleView: ruleView{Back: v.page,
		BackTo: v.Name(), Lead: words.T(ctx, "rules.for_all"),
		Title: words.Each("rules.picture_this.", v.Kind, "Name", v.Name()).T(ctx)}}
	for _, told := range v.told {
		if told.Picture != "" && h.pictures != nil && h.pictures.Has(told.Picture) {
			name := h.core.NameOf(ctx, library.ConnectionID(told.Source))
			page.Offered = append(page.Offered, offer{told.Source, name,
				ui.Picture{URL: "/art/" + told.Picture, Size: 96, Portrait: v.Kind == library.KindArtist}})
		}
	}
	return h.core.Show(c, http.StatusOK, page.Title, picturePage(page))
}

func (h *Handler) pictureForm(c echo.Context) error {
	kind, back := c.Param("kind"), "/music/"+c.Param("kind")+"/"+c.Param("id")
	if c.FormValue("automatic") != "" {
		if err := h.automatic(c, kind); err != nil {
			return err
		}
		return h.core.Done(c, back, words.New("rules.automatic_again"))
	}
	sent, err := h.sentPicture(c)
	if err != nil {
		return err
	}
	made, err := h.picture(c, kind, sent)
	if err != nil {
		return err
	}
	return h.done(c, back, words.New("rules.pictured"), made)
}

// sentPicture returns the picture that a form uploads, or the one that it selects among those from sources.
func (h *Handler) sentPicture(c echo.Context) ([]byte, error) {
	if source := c.FormValue("source"); source != "" && h.pictures != nil {
		v, err := h.subject(c)
		if err != nil {
			return nil, err
		}
		for _, told := range v.told {
			if told.Source == source && told.Picture != "" {
				b, _, err := h.pictures.Read(told.Picture)
				return b, err
			}
		}
	}
	file, err := c.FormFile("file")
	if err != nil {
		return nil, core.Check(words.New("rules.problem.picture"))
	}
	f, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, art.MaxUpload+1))
}
