package card

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var ink = color.NRGBA{A: 255}

// names covers many scripts; each name can be drawn.
var names = []string{"Sigur Rós", "Björk & <Friends>", "فيروز", "אביתר בנאי", "宇多田ヒカル", "王菲", "아이유", "Земфира",
	"Μίκης Θεοδωράκης", "लता मंगेशकर", "คาราบาว", "এ আর রহমান", "Արամ", "ქართული",
	"فيروز (live) ١٩٩٠", "Đen Vâu", "!!!", "+/-"}

func TestNamesOfAllScriptsAreDrawn(t *testing.T) {
	t.Parallel()
	c := New(900, 1000, color.NRGBA{255, 255, 255, 255}, "t", "d")
	for i, name := range names {
		require.True(t, Drawable(name), name)
		o := fit(name, 32, 400, weight{bold})
		require.False(t, o.wrong, "%s has a box", name)
		require.NotEmpty(t, o.segments, name)
		require.LessOrEqual(t, o.width, 400.0, name)
		drawn := c.Text(20, float64(50*(i+1)), name, Style{Size: 32, Bold: true, Fill: ink, Width: 400})
		require.Equal(t, o.width, drawn)
		long := c.Text(880, float64(50*(i+1)), strings.Repeat(name+" ", 30),
			Style{Size: 32, Fill: ink, Width: 400, Right: true})
		require.InDelta(t, 400, long, 60, "a long one is cut: %s", name)
	}
	b, err := c.PNG()
	require.NoError(t, err)
	if to := os.Getenv("CARD_TO"); to != "" {
		require.NoError(t, os.WriteFile(to, b, 0o600))
	}
}

// None of the fonts has emoji or rare scripts.
func TestWhatCannotBeDrawnIsLeftOut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Love and peace", string(drawn("Love 💜\nand\u202e peace\x00 \ufe0f🕊️")))
	for _, name := range []string{"", "💜", "𓀀𓀁", " \u202e "} {
		require.False(t, Drawable(name), name)
	}
	require.False(t, fit("💜 a 𓀀", 20, 0, weight{regular}).wrong)
	require.Zero(t, shape(nil, 20, weight{regular}).width)
}

// Arabic runs from right to left, and its letters are joined.
func TestTextFromRightToLeft(t *testing.T) {
	t.Parallel()
	whole := shape([]rune("فيروز"), 40, weight{regular})
	apart := 0.0
	for _, r := range "فيروز" {
		apart += shape([]rune{r}, 40, weight{regular}).width
	}
	require.Less(t, whole.width, apart)
	first := bounds(shape([]rune("ab"), 40, weight{regular}).segments)
	mixed := shape([]rune("אב ab"), 40, weight{regular})
	require.Less(t, bounds(mixed.segments[:len(shape([]rune("ab"), 40, weight{regular}).segments)]).Max.X, 60,
		"the English word is the left one: %v", first)
}

func TestHostileNamesAreTextInSVG(t *testing.T) {
	t.Parallel()
	const hostile = `</title><script>alert(1)</script>"' onload=alert(1) ]]> <!-- &amp; ` + "\x00\xff"
	c := New(300, 200, color.NRGBA{255, 255, 255, 255}, hostile, hostile)
	c.Text(10, 50, hostile, Style{Size: 20, Fill: ink, Width: 280})
	c.Image(10, 60, 100, image.NewGray(image.Rect(0, 0, 30, 40)))
	b, err := c.SVG()
	require.NoError(t, err)
	allowed := map[string]bool{"svg": true, "title": true, "desc": true, "path": true, "image": true}
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if token == nil {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			require.True(t, allowed[e.Name.Local], e.Name.Local)
			for _, a := range e.Attr {
				require.NotContains(t, a.Name.Local, "on")
				if a.Name.Local == "href" {
					require.True(t, strings.HasPrefix(a.Value, "data:image/jpeg;base64,"))
				}
			}
		}
	}
	require.NotContains(t, string(b), "http://www.w3.org/1999/xlink")
	p, err := c.PNG()
	require.NoError(t, err)
	m, err := png.Decode(bytes.NewReader(p))
	require.NoError(t, err)
	require.Equal(t, image.Pt(300, 200), m.Bounds().Size())
	require.Equal(t, color.RGBA{0, 0, 0, 255}, color.RGBAModel.Convert(m.At(50, 110)), "the picture")
}

func BenchmarkPNG(b *testing.B) {
	for b.Loop() {
		c := New(1200, 630, color.NRGBA{250, 250, 250, 255}, "", "")
		for i, name := range names {
			c.Text(20, float64(30*(i+1)), name, Style{Size: 28, Fill: ink, Width: 500})
		}
		if _, err := c.PNG(); err != nil {
			b.Fatal(err)
		}
	}
}
