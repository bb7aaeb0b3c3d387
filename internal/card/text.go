package card

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
)

// longest is how many characters of a text are drawn. No card has room for more.
const longest = 150

// drawn returns the characters of a text that can be drawn, on one line.
func drawn(s string) []rune {
	oneByOne.Lock()
	defer oneByOne.Unlock()
	var out []rune
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if len(out) == longest {
			break
		}
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Variation_Selector, r):
		case r == ' ' && (len(out) == 0 || out[len(out)-1] == ' '):
		case r == ' ' || find(r, regular) != nil:
			out = append(out, r)
		}
	}
	for len(out) > 0 && out[len(out)-1] == ' ' {
		out = out[:len(out)-1]
	}
	return out
}

// Drawable reports whether any letter, digit, symbol or punctuation mark of a text can be drawn.
func Drawable(s string) bool {
	return slices.ContainsFunc(drawn(s), func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) || unicode.IsPunct(r)
	})
}

// oneByOne guards the engine and the fonts, which cache lookups.
var (
	oneByOne sync.Mutex
	engine   shaping.HarfbuzzShaper
	segments shaping.Segmenter
)

// outline is a text as lines and curves, in pixels. Its origin is on the baseline, and y points down.
type outline struct {
	segments []opentype.Segment
	width    float64
	wrong    bool // a character was missing
}

// shape returns the outline of a text in a size in pixels. Text from right to left starts on the right.
func shape(text []rune, size float64, w weight) (o outline) {
	if len(text) == 0 {
		return o
	}
	oneByOne.Lock()
	defer oneByOne.Unlock()
	in := shaping.Input{Text: text, RunEnd: len(text), Direction: directionOf(text), Size: fixed.Int26_6(size * 64),
		Language: language.NewLanguage("en")}
	runs := segments.Split(in, w)
	outs := make([]shaping.Output, len(runs))
	for i, run := range runs {
		outs[i] = engine.Shape(run)
	}
	for _, out := range visual(outs, in.Direction) {
		scale := float32(size) / float32(out.Face.Upem())
		for _, g := range out.Glyphs {
			x := float32(o.width) + float32(g.XOffset)/64
			y := float32(g.YOffset) / 64
			o.wrong = o.wrong || g.GlyphID == 0
			if data, ok := out.Face.GlyphData(g.GlyphID).(font.GlyphOutline); ok {
				for _, s := range data.Segments {
					for i := range s.Args {
						s.Args[i].X = x + s.Args[i].X*scale
						s.Args[i].Y = -y - s.Args[i].Y*scale
					}
					o.segments = append(o.segments, s)
				}
			}
			o.width += float64(g.Advance) / 64
		}
	}
	return o
}

// directionOf returns the direction of the first letter that has one.
func directionOf(text []rune) di.Direction {
	for _, r := range text {
		if unicode.Is(unicode.Arabic, r) || unicode.Is(unicode.Hebrew, r) {
			return di.DirectionRTL
		}
		if unicode.IsLetter(r) {
			return di.DirectionLTR
		}
	}
	return di.DirectionLTR
}

// visual orders runs from left to right. Those against the direction of the text are reversed within it.
func visual(runs []shaping.Output, direction di.Direction) []shaping.Output {
	turned := slices.Clone(runs)
	if direction == di.DirectionRTL {
		slices.Reverse(turned)
	}
	for i := 0; i < len(turned); i++ {
		end := i
		for end < len(turned) && turned[end].Direction != direction {
			end++
		}
		if end > i {
			slices.Reverse(turned[i:end])
			i = end
		}
	}
	return turned
}

// fit returns the outline of a text that is at most width wide: in its size, up to a quarter smaller, or cut.
func fit(s string, size, width float64, w weight) outline {
	text := drawn(s)
	o := shape(text, size, w)
	if width <= 0 || o.width <= width {
		return o
	}
	if smaller := size * width / o.width; smaller >= size*0.75 {
		return shape(text, smaller, w)
	}
	size *= 0.85
	least, most := 0, len(text)-1 // binary search for the most letters that fit
	for least < most {
		middle := (least + most + 1) / 2
		if shape(cut(text, middle), size, w).width <= width {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return shape(cut(text, least), size, w)
}

// cut returns the first n characters of a text, with an ellipsis.
func cut(text []rune, n int) []rune {
	for n > 0 && (text[n-1] == ' ' || n < len(text) && unicode.Is(unicode.M, text[n])) {
		n--
	}
	return append(slices.Clone(text[:n]), '…')
}
