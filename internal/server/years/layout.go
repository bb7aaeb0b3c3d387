package years

import (
	"cmp"
	"context"
	"image"
	"image/color"
	"strconv"
	"strings"

	"reprise/internal/card"
	"reprise/internal/words"
)

// look is the look of a card.
type look struct {
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

// content is the content of a card.
type content struct {
	Look    look
	Year    string
	About   string // a sentence for people who cannot see it
	SoFar   string
	Figures []figure
	Prizes  []prize
	Months  []monthView
	Other   string // substitute for names that cannot be drawn
}

// figure is a number and what it counts.
type figure struct{ N, Label string }

// contentOf returns the content of a card with parts of a year.
func (s *story) contentOf(ctx context.Context, parts shown, as look) content {
	v := s.view(ctx, parts, false)
	c := content{Look: as, Year: strconv.Itoa(s.year), Prizes: v.Prizes, Months: v.Months,
		Other: words.T(ctx, "year.card.unwritten")}
	if s.underWay() {
		c.SoFar = words.T(ctx, "year.card.so_far")
	}
	about := []string{v.Title + "."}
	if parts[numbers] && s.found.Totals.Listens > 0 {
		l, t := words.From(ctx), s.found.Totals
		n, unit := s.hours(ctx)
		c.Figures = []figure{{l.Number(n), unit},
			{l.Number(t.Listens), words.T(ctx, "listening.listens", "Count", t.Listens)},
			{l.Number(t.Artists), words.T(ctx, "listening.artists", "Count", t.Artists)}}
		about = append(about, v.Lead[0])
	}
	for _, p := range v.Prizes {
		name := p.Name
		if p.By != "" {
			name = words.T(ctx, "year.card.by", "Name", p.Name, "Artist", p.By)
		}
		about = append(about, p.Label+words.T(ctx, "ui.colon")+name+".")
	}
	if v.Empty != "" {
		about = append(about, v.Empty)
	}
	c.About = strings.Join(about, " ")
	return c
}

// margin is around a card, in pixels.
const margin = 64

// draw draws a card: a wide one in two columns, a square one in one.
func (c *content) draw(pictures map[string]image.Image) *card.Card {
	p := &pen{content: c, colours: themes[c.Look.Theme], pictures: pictures}
	if c.Look.Shape == "square" {
		p.Card = card.New(1080, 1080, p.ground, c.Year, c.About)
		p.head(margin, 1080-2*margin, 200, 120)
		y := 300.0
		if len(c.Figures) > 0 {
			p.figures(margin, y, 1080-2*margin)
			y += 95
		}
		p.prizes(margin, y, 1080-2*margin, min(150, (1080-margin-y-p.monthsTall())/3))
		p.months(margin, 1080-margin, 1080-2*margin, 120)
		return p.Card
	}
	p.Card = card.New(1200, 630, p.ground, c.Year, c.About)
	left := 500.0
	if len(c.Prizes) == 0 {
		left = 1200 - 2*margin
	}
	p.head(margin, left, 192, 120)
	if len(c.Figures) > 0 {
		p.figures(margin, 308, left)
	}
	p.months(margin, 630-margin, left, 110)
	tall := 630.0 - 2*margin
	each := min(tall/float64(max(1, len(c.Prizes))), 167)
	p.prizes(640, margin+(tall-each*float64(len(c.Prizes)))/2, 1200-640-margin, each)
	return p.Card
}

// pen draws on a card.
type pen struct {
	*card.Card
	*content
	colours
	pictures map[string]image.Image
}

// head draws the year and the name of the program.
func (p *pen) head(x, width, baseline, size float64) {
	// The logo of Reprise, two strokes and a triangle, of which the strokes are bars.
	p.Rect(x, margin-14, 4, 22, 1, p.accent)
	p.Rect(x+8, margin-14, 4, 22, 1, p.accent)
	p.Text(x+22, margin+5, "Reprise", card.Style{Size: 22, Bold: true, Fill: p.soft})
	year := p.Text(x-4, baseline, p.Year, card.Style{Size: size, Bold: true, Fill: p.accent})
	if p.SoFar != "" {
		p.Text(x+year+16, baseline, p.SoFar, card.Style{Size: 26, Fill: p.soft, Width: width - year - 16})
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

// monthsTall returns the height of the months on a square card, in pixels.
func (p *pen) monthsTall() float64 {
	if len(p.Months) < 2 {
		return 0
	}
	return 175
}

// months draws a bar for each month of the year.
func (p *pen) months(x, bottom, width, tall float64) {
	if len(p.content.Months) < 2 {
		return
	}
	each := width / 12
	bottom -= 26
	for i, m := range p.content.Months {
		height := max(3, tall*float64(m.Part)/100)
		fill := p.line
		if m.Part == 100 {
			fill = p.accent
		}
		at := x + float64(i)*each
		p.Rect(at, bottom-height, each-6, height, 3, fill)
		p.Text(at, bottom+24, m.Short, card.Style{Size: 15, Fill: p.soft, Width: each - 4})
	}
}
