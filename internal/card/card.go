package card

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"strconv"

	"github.com/go-text/typesetting/font/opentype"
	scaling "golang.org/x/image/draw"
	"golang.org/x/image/vector"
)

// Card is a picture. The zero value has no size; make it with New.
type Card struct {
	width, height int
	title, about  string
	shapes        []figure
}

// figure is one shape of a card: an area of one colour, or an image.
type figure struct {
	path  []opentype.Segment // y downwards
	fill  color.NRGBA
	image image.Image // square
	x, y  float64     // of the image
	size  float64     // of the image
}

// New returns an empty card with a size in pixels. The title and the description are for people who cannot see it.
func New(width, height int, ground color.NRGBA, title, about string) *Card {
	c := &Card{width: width, height: height, title: title, about: about}
	c.Rect(0, 0, float64(width), float64(height), 0, ground)
	return c
}

// Rect adds a rectangle with rounded corners.
func (c *Card) Rect(x, y, width, height, corner float64, fill color.NRGBA) {
	p := func(op opentype.SegmentOp, at ...float64) opentype.Segment {
		s := opentype.Segment{Op: op}
		for i := 0; i+1 < len(at); i += 2 {
			s.Args[i/2] = opentype.SegmentPoint{X: float32(at[i]), Y: float32(at[i+1])}
		}
		return s
	}
	const move, line, quad = opentype.SegmentOpMoveTo, opentype.SegmentOpLineTo, opentype.SegmentOpQuadTo
	right, bottom, r := x+width, y+height, min(corner, width/2, height/2)
	path := []opentype.Segment{p(move, x+r, y), p(line, right-r, y)}
	if r > 0 {
		path = append(path, p(quad, right, y, right, y+r), p(line, right, bottom-r),
			p(quad, right, bottom, right-r, bottom), p(line, x+r, bottom), p(quad, x, bottom, x, bottom-r),
			p(line, x, y+r), p(quad, x, y, x+r, y))
	} else {
		path = append(path, p(line, right, bottom), p(line, x, bottom))
	}
	c.shapes = append(c.shapes, figure{path: path, fill: fill})
}

// Style is the style of a text.
type Style struct {
	Size  float64 // pixels
	Bold  bool
	Fill  color.NRGBA
	Width float64 // maximum in pixels, to which the text is shrunk or cut; 0 for no limit
	Right bool    // the text ends at x instead of starting there
}

// Text adds a line of text at a baseline, and returns its width in pixels.
func (c *Card) Text(x, baseline float64, s string, style Style) float64 {
	w := weight{regular}
	if style.Bold {
		w = weight{bold}
	}
	o := fit(s, style.Size, style.Width, w)
	if style.Right {
		x -= o.width
	}
	for i := range o.segments {
		for j := range o.segments[i].Args {
			o.segments[i].Args[j].X += float32(x)
			o.segments[i].Args[j].Y += float32(baseline)
		}
	}
	if len(o.segments) > 0 {
		c.shapes = append(c.shapes, figure{path: o.segments, fill: style.Fill})
	}
	return o.width
}

// Image adds a square image.
func (c *Card) Image(x, y, size float64, m image.Image) {
	c.shapes = append(c.shapes, figure{image: m, x: x, y: y, size: size})
}

// SVG returns the card as SVG. It is self-contained.
func (c *Card) SVG() ([]byte, error) {
	var b bytes.Buffer
	w, h := strconv.Itoa(c.width), strconv.Itoa(c.height)
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="` + w + `" height="` + h + `" viewBox="0 0 ` +
		w + " " + h + `" role="img" aria-labelledby="t d"><title id="t">`)
	_ = xml.EscapeText(&b, []byte(c.title)) // a buffer returns no error
	b.WriteString(`</title><desc id="d">`)
	_ = xml.EscapeText(&b, []byte(c.about))
	b.WriteString(`</desc>`)
	for _, f := range c.shapes {
		if f.image == nil {
			b.WriteString(`<path fill="` + hex(f.fill) + `" d="`)
			b.Write(pathData(nil, f.path))
			b.WriteString(`"/>`)
			continue
		}
		var picture bytes.Buffer
		if err := jpeg.Encode(&picture, scaled(f.image, 2*int(f.size)), &jpeg.Options{Quality: 85}); err != nil {
			return nil, err
		}
		size := number(nil, f.size)
		b.WriteString(`<image x="` + string(number(nil, f.x)) + `" y="` + string(number(nil, f.y)) + `" width="` +
			string(size) + `" height="` + string(size) + `" href="data:image/jpeg;base64,` +
			base64.StdEncoding.EncodeToString(picture.Bytes()) + `"/>`)
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// hex returns a colour in SVG notation.
func hex(c color.NRGBA) string {
	const digits = "0123456789abcdef"
	b := []byte{'#'}
	for _, v := range []uint8{c.R, c.G, c.B} {
		b = append(b, digits[v>>4], digits[v&15])
	}
	return string(b)
}

// number appends a coordinate, rounded to a tenth of a pixel.
func number(b []byte, v float64) []byte {
	b = strconv.AppendFloat(b, v, 'f', 1, 64)
	return bytes.TrimSuffix(b, []byte(".0"))
}

// pathData appends a path in SVG notation.
func pathData(b []byte, path []opentype.Segment) []byte {
	for i, s := range path {
		if i > 0 && s.Op == opentype.SegmentOpMoveTo {
			b = append(b, 'Z')
		}
		b = append(b, "MLQC"[s.Op])
		for j, at := range s.ArgsSlice() {
			if j > 0 {
				b = append(b, ' ')
			}
			b = number(b, float64(at.X))
			b = append(b, ' ')
			b = number(b, float64(at.Y))
		}
	}
	return append(b, 'Z')
}

// scaled crops an image to a square and scales it.
func scaled(m image.Image, size int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, size, size))
	from := m.Bounds()
	if d := from.Dx() - from.Dy(); d > 0 { // crop to the middle
		from.Min.X += d / 2
		from.Max.X = from.Min.X + from.Dy()
	} else if d < 0 {
		from.Min.Y -= d / 2
		from.Max.Y = from.Min.Y + from.Dx()
	}
	draw.Draw(out, out.Bounds(), image.White, image.Point{}, draw.Src) // JPEG has no transparency
	scaling.CatmullRom.Scale(out, out.Bounds(), m, from, draw.Over, nil)
	return out
}

// PNG returns the card as PNG.
func (c *Card) PNG() ([]byte, error) {
	m := image.NewRGBA(image.Rect(0, 0, c.width, c.height))
	for _, f := range c.shapes {
		if f.image != nil {
			at := image.Pt(int(f.x), int(f.y))
			draw.Draw(m, image.Rectangle{Min: at, Max: at.Add(image.Pt(int(f.size), int(f.size)))},
				scaled(f.image, int(f.size)), image.Point{}, draw.Over)
			continue
		}
		fill(m, f)
	}
	var b bytes.Buffer
	err := png.Encode(&b, m)
	return b.Bytes(), err
}

// fill draws an area.
func fill(m *image.RGBA, f figure) {
	box := bounds(f.path).Intersect(m.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	dx, dy := float32(box.Min.X), float32(box.Min.Y)
	for i, s := range f.path {
		a := s.Args
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			if i > 0 {
				r.ClosePath()
			}
			r.MoveTo(a[0].X-dx, a[0].Y-dy)
		case opentype.SegmentOpLineTo:
			r.LineTo(a[0].X-dx, a[0].Y-dy)
		case opentype.SegmentOpQuadTo:
			r.QuadTo(a[0].X-dx, a[0].Y-dy, a[1].X-dx, a[1].Y-dy)
		case opentype.SegmentOpCubeTo:
			r.CubeTo(a[0].X-dx, a[0].Y-dy, a[1].X-dx, a[1].Y-dy, a[2].X-dx, a[2].Y-dy)
		}
	}
	r.ClosePath()
	r.Draw(m, box, image.NewUniform(f.fill), image.Point{})
}

// bounds returns a rectangle around a path.
func bounds(path []opentype.Segment) image.Rectangle {
	if len(path) == 0 {
		return image.Rectangle{}
	}
	least := path[0].Args[0]
	most := least
	for _, s := range path {
		for _, at := range s.ArgsSlice() {
			least.X, least.Y = min(least.X, at.X), min(least.Y, at.Y)
			most.X, most.Y = max(most.X, at.X), max(most.Y, at.Y)
		}
	}
	return image.Rect(int(least.X)-1, int(least.Y)-1, int(most.X)+2, int(most.Y)+2)
}
