package static

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/vector"
)

// drawn is an icon.
type drawn struct {
	size     int  // pixels
	maskable bool // the device cuts its own shape out, so the ground fills the square
	sign     func(drawing)
}

// pictures are the icons of the installed application and of its shortcuts, by the names of their files. Each is drawn
// when the program starts to serve files, always the same.
var pictures = map[string]drawn{
	"icon-192.png":      {192, false, drawing.repeat},
	"icon-512.png":      {512, false, drawing.repeat},
	"icon-maskable.png": {512, true, drawing.repeat},
	"icon-touch.png":    {180, true, drawing.repeat},
	"icon-now.png":      {96, false, drawing.play},
	"icon-listens.png":  {96, false, drawing.list},
	"icon-search.png":   {96, false, drawing.lens},
}

// The colours of icon.svg.
var (
	ground = color.RGBA{0x0b, 0x63, 0x54, 0xff}
	ink    = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// drawing draws in the units of icon.svg: a square of 24 by 24.
type drawing struct {
	to    *image.RGBA
	scale float32
	shift float32 // of the sign, so that it is whole in a circle
}

// picture returns an icon as a PNG.
func picture(of drawn) []byte {
	d := drawing{to: image.NewRGBA(image.Rect(0, 0, of.size, of.size)), scale: float32(of.size) / 24}
	if of.maskable {
		draw.Draw(d.to, d.to.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
		d.shift, d.scale = 2.4, d.scale*0.8 // the middle eight tenths are safe
	} else {
		d.rounded(0, 0, 24, 24, 5, ground)
	}
	of.sign(d)
	var b bytes.Buffer
	_ = png.Encode(&b, d.to) // a buffer takes everything
	return b.Bytes()
}

// repeat draws the sign of Reprise.
func (d drawing) repeat() {
	d.rounded(5.7, 4.7, 1.6, 14.6, 0.8, ink)
	d.rounded(8.7, 4.7, 1.6, 14.6, 0.8, ink)
	d.triangle([3][2]float32{{18.6, 5.6}, {18.6, 18.4}, {10.9, 12}}, ink)
}

// play draws the sign for what is playing.
func (d drawing) play() { d.triangle([3][2]float32{{8.5, 5.6}, {8.5, 18.4}, {18.6, 12}}, ink) }

// list draws rows with a point before each.
func (d drawing) list() {
	for _, y := range []float32{6.2, 11.2, 16.2} {
		d.rounded(5, y, 1.6, 1.6, 0.8, ink)
		d.rounded(8.4, y, 10.6, 1.6, 0.8, ink)
	}
}

// lens draws a magnifying glass.
func (d drawing) lens() {
	d.rounded(5.2, 5.2, 10.6, 10.6, 5.3, ink)
	d.rounded(6.9, 6.9, 7.2, 7.2, 3.6, ground)
	d.fill(func(r *vector.Rasterizer) {
		r.MoveTo(d.at(13.5), d.at(14.7))
		r.LineTo(d.at(14.7), d.at(13.5))
		r.LineTo(d.at(19.2), d.at(18))
		r.LineTo(d.at(18), d.at(19.2))
	}, ink)
}

func (d drawing) fill(path func(*vector.Rasterizer), c color.Color) {
	r := vector.NewRasterizer(d.to.Rect.Dx(), d.to.Rect.Dy())
	path(r)
	r.ClosePath()
	r.Draw(d.to, d.to.Bounds(), image.NewUniform(c), image.Point{})
}

func (d drawing) at(v float32) float32 { return (v + d.shift/0.8) * d.scale }

// rounded fills a rectangle whose corners have a radius.
func (d drawing) rounded(x, y, w, h, radius float32, c color.Color) {
	left, top, right, bottom := d.at(x), d.at(y), d.at(x+w), d.at(y+h)
	q := radius * d.scale
	d.fill(func(r *vector.Rasterizer) {
		r.MoveTo(left+q, top)
		r.LineTo(right-q, top)
		r.QuadTo(right, top, right, top+q)
		r.LineTo(right, bottom-q)
		r.QuadTo(right, bottom, right-q, bottom)
		r.LineTo(left+q, bottom)
		r.QuadTo(left, bottom, left, bottom-q)
		r.LineTo(left, top+q)
		r.QuadTo(left, top, left+q, top)
	}, c)
}

func (d drawing) triangle(p [3][2]float32, c color.Color) {
	d.fill(func(r *vector.Rasterizer) {
		r.MoveTo(d.at(p[0][0]), d.at(p[0][1]))
		r.LineTo(d.at(p[1][0]), d.at(p[1][1]))
		r.LineTo(d.at(p[2][0]), d.at(p[2][1]))
	}, c)
}
