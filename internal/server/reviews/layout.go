package reviews

import (
	"cmp"
	"context"
	"image"
	"image/color"

	"reprise/internal/card"
	"reprise/internal/review"
	"reprise/internal/words"
)

// Look is the look of a card.
type Look struct {
	Theme string // light or dark
	Shape string // wide or square
}

// colours are the colours of the pages.
type colours struct{ ground, ink, soft, line, accent color.NRGBA }

var themes = map[string]colours{
	"light": {rgb(0xfbfaf8), rgb(0x1e2022), rgb(0x5d6166), rgb(0xdfdcd6), rgb(0x0b6354)},
	"dark":  {rgb(0x16181a), rgb(0xeceae6), rgb(0xa7abb0), rgb(0x383c40), rgb(0x62cdb8)},
}

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// Content is what a card shows.
type Content struct {
	Look    Look
	Name    string // in the name of the downloaded file
	Title   string // in large letters
	Size    int    // of the title, in pixels
	About   string // a sentence for people who cannot see it
	SoFar   string // beside the title, or below one that is small; empty for nothing
	Figures []Figure
	Prizes  []Prize
	Bars    []Column
	Slots   int    // how many bars there is room for
	Other   string // substitute for names that cannot be drawn
}

// Figure is a number and what it counts.
type Figure struct{ N, Label string }

// Prize is an artist, an album or a track that was heard most.
type Prize struct {
	Label, Name string
	By          string // empty for an artist
	Note        string // how much
	Picture     string // the name of its file; empty for none
}

// About describes a prize in a sentence.
func (p Prize) About(ctx context.Context) string {
	name := p.Name
	if p.By != "" {
		name = words.T(ctx, "year.card.by", "Name", p.Name, "Artist", p.By)
	}
	return p.Label + words.T(ctx, "ui.colon") + name + "."
}

// Figures returns how long somebody listened, and the numbers of listens and artists.
func Figures(ctx context.Context, r *review.Review) []Figure {
	l, t := words.From(ctx), r.Found.Totals
	n, unit := r.Amount(ctx)
	return []Figure{{l.Number(n), unit},
		{l.Number(t.Listens), words.T(ctx, "listening.listens", "Count", t.Listens)},
		{l.Number(t.Artists), words.T(ctx, "listening.artists", "Count", t.Artists)}}
}

// Column is how much was heard in a part of the span.
type Column struct {
	Label string
	Part  int // percent of the highest
}

// margin is around a card, in pixels.
const margin = 64

// draw draws a card: a wide one in two columns, a square one in one.
func (c *Content) draw(pictures map[string]image.Image) *card.Card {
	p := &pen{Content: c, colours: themes[c.Look.Theme], pictures: pictures}
	if c.Look.Shape == "square" {
		p.Card = card.New(1080, 1080, p.ground, c.Title, c.About)
		p.head(margin, 1080-2*margin, 200)
		y := 300.0
		if len(c.Figures) > 0 {
			p.figures(margin, y, 1080-2*margin)
			y += 95
		}
		p.prizes(margin, y, 1080-2*margin, min(150, (1080-margin-y-p.barsTall())/3))
		p.bars(margin, 1080-margin, 1080-2*margin, 120)
		return p.Card
	}
	p.Card = card.New(1200, 630, p.ground, c.Title, c.About)
	left := 500.0
	if len(c.Prizes) == 0 {
		left = 1200 - 2*margin
	}
	p.head(margin, left, 192)
	if len(c.Figures) > 0 {
		p.figures(margin, 308, left)
	}
	p.bars(margin, 630-margin, left, 110)
	tall := 630.0 - 2*margin
	each := min(tall/float64(max(1, len(c.Prizes))), 167)
	p.prizes(640, margin+(tall-each*float64(len(c.Prizes)))/2, 1200-640-margin, each)
	return p.Card
}

// pen draws on a card.
type pen struct {
	*card.Card
	*Content
	colours
	pictures map[string]image.Image
}

// smallTitle is the size from which a title leaves room beside it, in pixels.
const smallTitle = 100

// head draws the title and the name of the program.
func (p *pen) head(x, width, baseline float64) {
	// The logo of Reprise, two strokes and a triangle, of which the strokes are bars.
	p.Rect(x, margin-14, 4, 22, 1, p.accent)
	p.Rect(x+8, margin-14, 4, 22, 1, p.accent)
	p.Text(x+22, margin+5, "Reprise", card.Style{Size: 22, Bold: true, Fill: p.soft})
	title := card.Style{Size: float64(p.Size), Bold: true, Fill: p.accent, Width: width}
	if p.Size < smallTitle {
		p.Text(x, baseline-36, p.Title, title)
		p.Text(x, baseline+4, p.SoFar, card.Style{Size: 26, Fill: p.soft, Width: width})
		return
	}
	end := p.Text(x-4, baseline, p.Title, title)
	if p.SoFar != "" {
		p.Text(x+end+16, baseline, p.SoFar, card.Style{Size: 26, Fill: p.soft, Width: width - end - 16})
	}
}

// figures draws the numbers side by side.
func (p *pen) figures(x, y, width float64) {
	each := width / float64(len(p.Figures))
	for i, f := range p.Figures {
		at := x + float64(i)*each
		p.Text(at, y, f.N, card.Style{Size: 46, Bold: true, Fill: p.ink, Width: each - 16})
		p.Text(at, y+36, f.Label, card.Style{Size: 22, Fill: p.soft, Width: each - 16})
	}
}

// prizes draws the artist, the album and the track of the year, each as a row.
func (p *pen) prizes(x, y, width, each float64) {
	for _, one := range p.Prizes {
		side := each - 24
		if m := p.pictures[one.Picture]; m != nil {
			p.Image(x, y, float64(int(side)), m)
		} else {
			p.Rect(x, y, side, side, 8, p.line)
			// A note: its head, its stem and its flag.
			p.Rect(x+side*0.36, y+side*0.58, side*0.18, side*0.15, side*0.07, p.soft)
			p.Rect(x+side*0.5, y+side*0.26, side*0.04, side*0.4, 0, p.soft)
			p.Rect(x+side*0.5, y+side*0.26, side*0.16, side*0.07, 1, p.soft)
		}
		at, room := x+side+24, width-side-24
		p.Text(at, y+side*0.22, one.Label, card.Style{Size: 19, Fill: p.soft, Width: room})
		p.Text(at, y+side*0.55, p.drawable(one.Name), card.Style{Size: 32, Bold: true, Fill: p.ink, Width: room})
		below := one.Note
		if one.By != "" {
			below = p.drawable(one.By) + " · " + one.Note
		}
		p.Text(at, y+side*0.83, below, card.Style{Size: 22, Fill: p.soft, Width: room})
		y += each
	}
}

// drawable returns a name, or a substitute if no font can draw it.
func (p *pen) drawable(name string) string {
	if card.Drawable(name) {
		return name
	}
	return cmp.Or(p.Other, "–")
}

// barsTall returns the height of the bars on a square card, in pixels.
func (p *pen) barsTall() float64 {
	if len(p.Bars) < 2 {
		return 0
	}
	return 175
}

// bars draws the bars side by side.
func (p *pen) bars(x, bottom, width, tall float64) {
	if len(p.Bars) < 2 {
		return
	}
	each := width / float64(p.Slots)
	bottom -= 26
	for i, m := range p.Bars {
		height := max(3, tall*float64(m.Part)/100)
		fill := p.line
		if m.Part == 100 {
			fill = p.accent
		}
		at := x + float64(i)*each
		p.Rect(at, bottom-height, each-6, height, 3, fill)
		p.Text(at, bottom+24, m.Label, card.Style{Size: 15, Fill: p.soft, Width: each - 4})
	}
}
