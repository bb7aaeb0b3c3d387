package years

import (
	"context"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/cards"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/words"
)

type yearCardSVGRequest struct {
	core.CardQuery
	core.OfYear
}

// cardAPI sends the user the card of a year.
func (h *Handler) cardAPI(c echo.Context, _ *yearCardSVGRequest) (out core.Sent[core.None], _ error) {
	s, err := h.requested(c)
	if err != nil {
		return out, err
	}
	show, err := askedParts(c)
	if err != nil {
		return out, err
	}
	return out, h.sendCard(c, s, show)
}

// sendCard sends a card with parts of a year.
func (h *Handler) sendCard(c echo.Context, s story, show shown) error {
	as, err := reviews.LookOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := s.view(ctx, show, false)
	if err := h.picture(ctx, v.Prizes); err != nil {
		return err
	}
	said := s.content(ctx, v, show, as)
	return h.cards.Send(c, said.Picture())
}

// contentOf returns the content of a card with parts of a year, without pictures.
func (s *story) contentOf(ctx context.Context, parts shown, as reviews.Look) reviews.Content {
	return s.content(ctx, s.view(ctx, parts, false), parts, as)
}

// titleSize is the size of the title of a card, the year, in pixels.
const titleSize = 120

// content returns the content of a card with parts of a year, described by v.
func (s *story) content(ctx context.Context, v yearView, parts shown, as reviews.Look) reviews.Content {
	year := strconv.Itoa(s.year)
	c := reviews.Content{Look: as, Name: year, Title: year, Size: titleSize, Slots: 12,
		Other: words.T(ctx, "year.card.unwritten")}
	for _, m := range v.Months {
		c.Bars = append(c.Bars, reviews.Column{Label: m.Short, Part: m.Part})
	}
	if s.UnderWay() {
		c.SoFar = words.T(ctx, "year.card.so_far")
	}
	about := []string{v.Title + "."}
	if parts[numbers] && s.Found.Totals.Listens > 0 {
		c.Figures = cards.Figures(ctx, s.Found.Totals)
		about = append(about, v.Lead[0])
	}
	for _, p := range v.Prizes {
		prize := cards.Row{Label: p.Label, Name: p.Name, By: p.By, Note: p.Note, Picture: p.Picture}
		c.Prizes = append(c.Prizes, prize)
		about = append(about, cards.About(ctx, prize))
	}
	if v.Empty != "" {
		about = append(about, v.Empty)
	}
	c.About = strings.Join(about, " ")
	return c
}
