package profile

import (
	"context"
	"image"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/card"
	"reprise/internal/server/cards"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// mostRows caps the rows of a card.
const mostRows = 4

// drawing is everything that is drawn on a card or a badge.
type drawing struct {
	Theme   string
	Title   string
	About   string // a sentence for people who cannot see it
	Span    string
	Figures []cards.Figure
	Rows    []cards.Row
	Other   string // substitute for names that cannot be drawn
}

// covers returns the names of the pictures on the card or badge.
func (d *drawing) covers() []string {
	return core.ViewAll(d.Rows, func(r cards.Row) string { return r.Picture })
}

// pen returns a pen on a new card of a size.
func (d *drawing) pen(width, height int, covers map[string]image.Image) *cards.Pen {
	colours := cards.Themes[d.Theme]
	return &cards.Pen{Card: card.New(width, height, colours.Ground, d.Title, d.About), Colours: colours, Covers: covers,
		Other: d.Other}
}

// row returns a song as a row of a card.
func (s song) row(label string) cards.Row {
	return cards.Row{Label: label, Name: s.Title, By: s.Artist, Picture: s.Picture}
}

// heard returns what is playing, or else what was heard last, as a row. ok is false if there is neither.
func (p *content) heard(ctx context.Context) (r cards.Row, ok bool) {
	switch {
	case len(p.Playing) > 0:
		return p.Playing[0].row(words.T(ctx, "profile.now")), true
	case len(p.Latest) > 0:
		return p.Latest[0].row(words.T(ctx, "profile.last")), true
	}
	return r, false
}

// topRows returns the first row of each top list.
func (p *content) topRows(ctx context.Context) (all []cards.Row) {
	for _, t := range p.Tops {
		r := t.Rows[0]
		all = append(all, cards.Row{Label: words.Each("profile.first.", t.Part).T(ctx), Name: r.Name, By: r.By,
			Note: words.T(ctx, "listening.count", "Count", r.Listens), Picture: r.Picture})
	}
	return all
}

// about describes a profile in a few sentences.
func (p *content) about(ctx context.Context) string {
	about := []string{title(ctx, p.share.Name) + "."}
	rows := p.topRows(ctx)
	if r, ok := p.heard(ctx); ok {
		rows = append([]cards.Row{r}, rows...)
	}
	for _, r := range rows {
		about = append(about, cards.About(ctx, r))
	}
	return strings.Join(about, " ")
}

// drawn returns what is drawn of a profile.
func (p *content) drawn(ctx context.Context, theme string) drawing {
	d := drawing{Theme: theme, Title: title(ctx, p.share.Name), About: p.about(ctx), Figures: p.figures(ctx),
		Rows: p.topRows(ctx), Other: words.T(ctx, "year.card.unwritten")}
	if len(d.Figures)+len(d.Rows) > 0 {
		d.Span = spanWords(ctx, p.share.Span)
	}
	if r, ok := p.heard(ctx); ok {
		d.Rows = append([]cards.Row{r}, d.Rows...)
	}
	if len(p.Loved) > 0 && len(d.Rows) < mostRows {
		d.Rows = append(d.Rows, p.Loved[0].row(words.T(ctx, "profile.first.loved")))
	}
	return d
}

func (h *Handler) openCard(c echo.Context) error {
	s, err := h.shared(c)
	if err != nil {
		return err
	}
	theme, err := cards.Choice(c, "theme", "light", "dark")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := h.gather(ctx, s, everything(), 1)
	if err != nil {
		return err
	}
	d := p.drawn(ctx, theme)
	return h.cards.Send(c, cards.Picture{Kind: "card", Content: d, Covers: d.covers(), Draw: d.card,
		File: "reprise-profile"})
}

// card draws a card, with the title and the numbers on the left and what was heard on the right.
func (d *drawing) card(covers map[string]image.Image) *card.Card {
	const width, height, margin = 1200, 630, cards.Margin
	p := d.pen(width, height, covers)
	left := 500.0
	if len(d.Rows) == 0 {
		left = width - 2*margin
	}
	p.Logo(margin, margin)
	p.Text(margin-2, 200, p.Drawable(d.Title), card.Style{Size: 64, Bold: true, Fill: p.Accent, Width: left})
	p.Text(margin, 250, d.Span, card.Style{Size: 26, Fill: p.Soft, Width: left})
	if len(d.Figures) > 0 {
		p.Figures(margin, 400, left, d.Figures)
	}
	tall := height - 2.0*margin
	each := min(tall/float64(max(1, len(d.Rows))), 150)
	p.Rows(640, margin+(tall-each*float64(len(d.Rows)))/2+12, width-640-margin, each, d.Rows)
	return p.Card
}

// The size of a badge in pixels.
const badgeWide, badgeTall = 360, 72

// badge sends a small picture of what is playing, or was heard last, for pages of other sites.
func (h *Handler) badge(c echo.Context) error {
	s, err := h.shared(c)
	if err != nil {
		return err
	}
	if !showing(s.Parts).badged() {
		return gone()
	}
	theme, err := cards.Choice(c, "theme", "light", "dark")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p, err := h.gather(ctx, s, shown{playing: true, latest: true}, 1)
	if err != nil {
		return err
	}
	r, ok := p.heard(ctx)
	if !ok {
		r = cards.Row{Name: words.T(ctx, "profile.quiet")}
	}
	d := drawing{Theme: theme, Title: title(ctx, s.Name), About: p.about(ctx), Rows: []cards.Row{r},
		Other: words.T(ctx, "year.card.unwritten")}
	return h.cards.Send(c, cards.Picture{Kind: "badge", Content: d, Covers: d.covers(), Draw: d.badge, Embedded: true})
}

// badge draws a badge: a line around it, the picture, and three lines of text.
func (d *drawing) badge(covers map[string]image.Image) *card.Card {
	const w, tall = float64(badgeWide), float64(badgeTall)
	p, r := d.pen(badgeWide, badgeTall, covers), d.Rows[0]
	p.Rect(0, 0, w, tall, 0, p.Line)
	p.Rect(1, 1, w-2, tall-2, 0, p.Ground)
	p.Cover(8, 8, tall-16, r.Picture)
	x := tall + 4
	room := w - x - 12
	p.Rect(w-22, 10, 2.5, 12, 0.5, p.Accent)
	p.Rect(w-17, 10, 2.5, 12, 0.5, p.Accent)
	p.Text(x, 23, r.Label, card.Style{Size: 12, Fill: p.Soft, Width: room - 24})
	p.Text(x, 42, p.Drawable(r.Name), card.Style{Size: 16, Bold: true, Fill: p.Ink, Width: room})
	if r.By != "" {
		p.Text(x, 60, p.Drawable(r.By), card.Style{Size: 14, Fill: p.Soft, Width: room})
	}
	return p.Card
}
