package cards

import (
	"cmp"
	"context"
	"image"
	"image/color"

	"reprise/internal/card"
	"reprise/internal/listening"
	"reprise/internal/review"
	"reprise/internal/words"
)

// Margin is the margin around a card, in pixels.
const Margin = 64

// Colours are the colours of the pages.
type Colours struct{ Ground, Ink, Soft, Line, Accent color.NRGBA }

// Themes has the colours of each theme, by its name in addresses.
var Themes = map[string]Colours{
	"light": {rgb(0xfbfaf8), rgb(0x1e2022), rgb(0x5d6166), rgb(0xdfdcd6), rgb(0x0b6354)},
	"dark":  {rgb(0x16181a), rgb(0xeceae6), rgb(0xa7abb0), rgb(0x383c40), rgb(0x62cdb8)},
}

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// Figure is a number and what it counts.
type Figure struct{ N, Label string }

// Row is something heard, with its picture.
type Row struct {
	Label   string // what it is, such as "Artist of the year"
	Name    string
	By      string // its artist; empty for none
	Note    string // how much; empty for none
	Picture string // name of a cached picture; empty for none
}

// About describes a row in a sentence.
func About(ctx context.Context, r Row) string {
	name := r.Name
	if r.By != "" {
		name = words.T(ctx, "year.card.by", "Name", r.Name, "Artist", r.By)
	}
	return r.Label + words.T(ctx, "ui.colon") + name + "."
}

// Figures returns how long somebody listened, and the numbers of listens and artists.
func Figures(ctx context.Context, t listening.Totals) []Figure {
	l := words.From(ctx)
	n, unit := review.Amount(ctx, t.Time)
	return []Figure{{N: l.Number(n), Label: unit},
		{N: l.Number(t.Listens), Label: words.T(ctx, "listening.listens", "Count", t.Listens)},
		{N: l.Number(t.Artists), Label: words.T(ctx, "listening.artists", "Count", t.Artists)}}
}

// Pen draws on a card.
type Pen struct {
	*card.Card
	Colours
	Covers map[string]image.Image // by their names
	Other  string                 // takes the place of names that no font can draw
}

// Logo draws the two bars of Reprise's logo, with its name beside them.
func (p *Pen) Logo(x, y float64) {
	p.Rect(x, y-14, 4, 22, 1, p.Accent)
	p.Rect(x+8, y-14, 4, 22, 1, p.Accent)
	p.Text(x+22, y+5, "Reprise", card.Style{Size: 22, Bold: true, Fill: p.Soft})
}

// Figures draws numbers side by side.
func (p *Pen) Figures(x, y, width float64, all []Figure) {
	each := width / float64(len(all))
	for i, f := range all {
		at := x + float64(i)*each
		p.Text(at, y, f.N, card.Style{Size: 46, Bold: true, Fill: p.Ink, Width: each - 16})
		p.Text(at, y+36, f.Label, card.Style{Size: 22, Fill: p.Soft, Width: each - 16})
	}
}

// Cover draws a picture, or a musical note if there is none.
func (p *Pen) Cover(x, y, side float64, picture string) {
	if m := p.Covers[picture]; m != nil {
		p.Image(x, y, float64(int(side)), m)
		return
	}
	p.Rect(x, y, side, side, side/16, p.Line)
	// The head, the stem and the flag of the note.
	p.Rect(x+side*0.36, y+side*0.58, side*0.18, side*0.15, side*0.07, p.Soft)
	p.Rect(x+side*0.5, y+side*0.26, side*0.04, side*0.4, 0, p.Soft)
	p.Rect(x+side*0.5, y+side*0.26, side*0.16, side*0.07, 1, p.Soft)
}

// Rows draws rows below each other. Each takes a height of each pixels.
func (p *Pen) Rows(x, y, width, each float64, all []Row) {
	for _, one := range all {
		side := each - 24
		p.Cover(x, y, side, one.Picture)
		at, room := x+side+24, width-side-24
		p.Text(at, y+side*0.22, one.Label, card.Style{Size: 19, Fill: p.Soft, Width: room})
		p.Text(at, y+side*0.55, p.Drawable(one.Name), card.Style{Size: 32, Bold: true, Fill: p.Ink, Width: room})
		below := one.Note
		if one.By != "" {
			below = p.Drawable(one.By)
			if one.Note != "" {
				below += " · " + one.Note
			}
		}
		p.Text(at, y+side*0.83, below, card.Style{Size: 22, Fill: p.Soft, Width: room})
		y += each
	}
}

// Drawable returns a name, or Other if no font can draw it.
func (p *Pen) Drawable(name string) string {
	if card.Drawable(name) {
		return name
	}
	return cmp.Or(p.Other, "–")
}
