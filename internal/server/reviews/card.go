// Package reviews has what the pages of weeks and of years have in common: lists with pictures, and a card to share.
package reviews

import (
	"image"

	"github.com/labstack/echo/v4"

	"reprise/internal/card"
	"reprise/internal/server/cards"
	"reprise/internal/server/core"
)

// Look is the look of a card.
type Look struct {
	Theme string // light or dark
	Shape string // wide or square
}

// LookOf returns the look that a request asks for.
func LookOf(c echo.Context) (as Look, err error) {
	if as.Theme, err = cards.Choice(c, "theme", "light", "dark"); err == nil {
		as.Shape, err = cards.Choice(c, "shape", "wide", "square")
	}
	return as, err
}

// Content is what a card shows.
type Content struct {
	Look    Look
	Name    string // in the name of the downloaded file
	Title   string // in large letters
	Size    int    // of the title, in pixels
	About   string // a sentence for people who cannot see it
	SoFar   string // beside a large title or below a small one; empty for nothing
	Figures []cards.Figure
	Prizes  []cards.Row // the artist, the album and the track that were heard most
	Bars    []Column
	Slots   int    // how many bars there is room for
	Other   string // substitute for names that cannot be drawn
}

// Column is how much was heard in a part of the span.
type Column struct {
	Label string
	Part  int // percent of the highest
}

// Picture returns the card to be sent.
func (c *Content) Picture() cards.Picture {
	return cards.Picture{Kind: "review", Content: c, Draw: c.draw, File: "reprise-" + c.Name,
		Covers: core.ViewAll(c.Prizes, func(r cards.Row) string { return r.Picture })}
}

// draw draws a card, with two columns if it is wide and one if it is square.
func (c *Content) draw(covers map[string]image.Image) *card.Card {
	const margin = cards.Margin
	p := &pen{Content: c, Pen: &cards.Pen{Colours: cards.Themes[c.Look.Theme], Covers: covers, Other: c.Other}}
	if c.Look.Shape == "square" {
		p.Card = card.New(1080, 1080, p.Ground, c.Title, c.About)
		p.head(1080-2*margin, 200)
		y := 300.0
		if len(c.Figures) > 0 {
			p.Pen.Figures(margin, y, 1080-2*margin, c.Figures)
			y += 95
		}
		p.Rows(margin, y, 1080-2*margin, min(150, (1080-margin-y-p.barsTall())/3), c.Prizes)
		p.bars(1080-margin, 1080-2*margin, 120)
		return p.Card
	}
	p.Card = card.New(1200, 630, p.Ground, c.Title, c.About)
	left := 500.0
	if len(c.Prizes) == 0 {
		left = 1200 - 2*margin
	}
	p.head(left, 192)
	if len(c.Figures) > 0 {
		p.Pen.Figures(margin, 308, left, c.Figures)
	}
	p.bars(630-margin, left, 110)
	tall := 630.0 - 2*margin
	each := min(tall/float64(max(1, len(c.Prizes))), 167)
	p.Rows(640, margin+(tall-each*float64(len(c.Prizes)))/2, 1200-640-margin, each, c.Prizes)
	return p.Card
}
