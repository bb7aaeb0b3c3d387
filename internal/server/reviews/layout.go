package reviews

import (
	"reprise/internal/card"
	"reprise/internal/server/cards"
)

// pen draws a review on a card.
type pen struct {
	*cards.Pen
	*Content
}

// smallTitle is the size in pixels below which a title takes the whole width, so that what follows goes below it.
const smallTitle = 100

// head draws the name of the program and the title.
func (p *pen) head(width, baseline float64) {
	const x = cards.Margin
	p.Logo(x, cards.Margin)
	title := card.Style{Size: float64(p.Size), Bold: true, Fill: p.Accent, Width: width}
	if p.Size < smallTitle {
		p.Text(x, baseline-36, p.Title, title)
		p.Text(x, baseline+4, p.SoFar, card.Style{Size: 26, Fill: p.Soft, Width: width})
		return
	}
	end := p.Text(x-4, baseline, p.Title, title)
	if p.SoFar != "" {
		p.Text(x+end+16, baseline, p.SoFar, card.Style{Size: 26, Fill: p.Soft, Width: width - end - 16})
	}
}

// barsTall returns the height of the bars on a square card, in pixels.
func (p *pen) barsTall() float64 {
	if len(p.Bars) < 2 {
		return 0
	}
	return 175
}

// bars draws the bars side by side.
func (p *pen) bars(bottom, width, tall float64) {
	if len(p.Bars) < 2 {
		return
	}
	each := width / float64(p.Slots)
	bottom -= 26
	for i, m := range p.Bars {
		height := max(3, tall*float64(m.Part)/100)
		fill := p.Line
		if m.Part == 100 {
			fill = p.Accent
		}
		at := cards.Margin + float64(i)*each
		p.Rect(at, bottom-height, each-6, height, 3, fill)
		p.Text(at, bottom+24, m.Label, card.Style{Size: 15, Fill: p.Soft, Width: each - 4})
	}
}
