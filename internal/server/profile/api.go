package profile

import (
	"errors"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
)

// Profile is a public profile in the API, or says that there is none.
type Profile struct {
	Public bool           `json:"public" doc:"Whether there is a profile. Without one, the other fields are empty."`
	Name   string         `json:"name" doc:"The person's name on it; empty for none."`
	Parts  []string       `json:"parts" enum:"now,numbers,artists,albums,tracks,latest,loved" doc:"What it shows."`
	Span   string         `json:"span" enum:"30-days,12-months" doc:"The span of the numbers, and of what was heard most, up to now."`
	MadeAt core.MaybeTime `json:"made_at" doc:"When it got its address."`
	URL    *string        `json:"url" doc:"The address; null if the server's secret key was lost since it was made."`
}

func (h *Handler) viewProfile(s library.Share) Profile {
	return Profile{!s.MadeAt.IsZero(), s.Name, showing(s.Parts).list(), s.Span, core.Moment(s.MadeAt),
		core.Text(h.address(s.Code))}
}

func (h *Handler) profileAPI(c echo.Context, _ *core.None) (out Profile, _ error) {
	s, err := h.store.Share(c.Request().Context(), core.UserOf(c).ID, library.ShareProfile, "")
	if errors.Is(err, library.ErrNotFound) {
		s, err = library.Share{Span: library.ProfileSpans[0]}, nil
	}
	return h.viewProfile(s), err
}

type makeProfileRequest struct {
	Body struct {
		Name  string   `json:"name" required:"false" maxLength:"64" doc:"The person's name on it; empty for none."`
		Parts []string `json:"parts" enum:"now,numbers,artists,albums,tracks,latest,loved" doc:"What it shows; at least one."`
		Span  string   `json:"span" required:"false" enum:"30-days,12-months" doc:"The span of the numbers, and of what was heard most, up to now; 30 days without it."`
		New   bool     `json:"new" required:"false" doc:"Whether another address replaces the present one."`
	}
}

func (h *Handler) keepAPI(c echo.Context, in *makeProfileRequest) (out Profile, _ error) {
	show := showing(in.Body.Parts)
	s, _, err := h.keep(c, library.Share{Name: in.Body.Name, Parts: show.list(), Span: in.Body.Span}, in.Body.New)
	if err != nil {
		return out, err
	}
	return h.viewProfile(s), nil
}

func (h *Handler) takeBackAPI(c echo.Context, _ *core.None) (out core.None, _ error) {
	return out, h.takeBack(c)
}
