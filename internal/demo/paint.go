package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"image"
	"math"
	"math/rand/v2"
)

// colour is red, green and blue from 0 to 1.
type colour [3]float64

func rgb(v uint32) colour {
	return colour{float64(v>>16&0xff) / 255, float64(v>>8&0xff) / 255, float64(v&0xff) / 255}
}

// mix returns a part of the way from c to d, part from 0 to 1.
func (c colour) mix(d colour, part float64) colour {
	part = min(max(part, 0), 1)
	for i := range c {
		c[i] += (d[i] - c[i]) * part
	}
	return c
}

// palettes are five colours each, from the ground to the brightest.
var palettes = [][5]uint32{
	{0x12263a, 0x06bcc1, 0xc5d8d1, 0xf4edea, 0xf4d1ae}, {0x2b2d42, 0x8d99ae, 0xedf2f4, 0xef233c, 0xd9a5b3},
	{0x264653, 0x2a9d8f, 0xe9c46a, 0xf4a261, 0xe76f51}, {0x3d1e6d, 0x8661c1, 0xefbcd5, 0xffe3a3, 0xf08a5d},
	{0x1b3a4b, 0x3e5c76, 0x748cab, 0xf0ebd8, 0xe07a5f}, {0x5f0f40, 0x9a031e, 0xfb8b24, 0xe36414, 0xf3e9d2},
	{0x0b3d3a, 0x3a7d44, 0x9dc08b, 0xedf1d6, 0xf2c14e}, {0x22223b, 0x4a4e69, 0x9a8c98, 0xc9ada7, 0xf2e9e4},
	{0x14213d, 0x2f4b7c, 0xa05195, 0xff7c43, 0xffd166}, {0x353535, 0x3c6e71, 0xd9d9d9, 0xf4f1de, 0xe56b6f},
	{0x402e32, 0x86615c, 0xafe0ce, 0xddfbd2, 0xe6aace}, {0x03254c, 0x1167b1, 0x2a9df4, 0xd0efff, 0xffb703},
}

// painting draws one pixel: x and y from 0 to 1, y down; soft is the width of a pixel.
type painting func(x, y, soft float64) colour

// paint draws a picture that depends on its name alone.
func paint(name string, width, height int) image.Image {
	sum := sha256.Sum256([]byte(name))
	rnd := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])))
	var p [5]colour
	for i, v := range palettes[rnd.IntN(len(palettes))] {
		p[i] = rgb(v)
	}
	styles := []func(*rand.Rand, [5]colour) painting{dusk, rings, discs, tiles, ridges, beams}
	draw := styles[rnd.IntN(len(styles))](rnd, p)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	unit := 1 / float64(min(width, height))
	for y := range height {
		for x := range width {
			c := draw((float64(x)-float64(width-height)/2)*unit, float64(y)*unit, unit*1.5)
			grain := (rnd.Float64() - 0.5) / 80
			at := img.PixOffset(x, y)
			for i := range c {
				img.Pix[at+i] = uint8(255 * min(max(c[i]+grain, 0), 1))
			}
			img.Pix[at+3] = 0xff
		}
	}
	return img
}

// inside returns how much of a pixel lies within an edge that is that far away, inside being positive.
func inside(distance, soft float64) float64 { return min(max(distance/soft+0.5, 0), 1) }

// between returns a number from low to high.
func between(rnd *rand.Rand, low, high float64) float64 { return low + rnd.Float64()*(high-low) }

// dusk is a sun above waves.
func dusk(rnd *rand.Rand, p [5]colour) painting {
	sunX, sunY, size := between(rnd, 0.3, 0.7), between(rnd, 0.25, 0.5), between(rnd, 0.14, 0.24)
	steep, phase := between(rnd, 0.02, 0.05), rnd.Float64()*6
	return func(x, y, soft float64) colour {
		c := p[1].mix(p[2], y*1.5)
		away := math.Hypot(x-sunX, y-sunY)
		c = c.mix(p[4], 0.55*math.Exp(-away*5)).mix(p[4], inside(size-away, soft))
		for i := range 4 {
			line := 0.55 + 0.11*float64(i) + steep*math.Sin(x*float64(5+i)+phase*float64(i+1))
			c = c.mix(p[1].mix(p[0], 0.25+0.25*float64(i)), inside(y-line, soft))
		}
		return c
	}
}

// rings are circles around a point off the middle.
func rings(rnd *rand.Rand, p [5]colour) painting {
	atX, atY, wide := between(rnd, 0.2, 0.8), between(rnd, 0.2, 0.8), between(rnd, 0.07, 0.13)
	return func(x, y, soft float64) colour {
		away := math.Hypot(x-atX, y-atY) / wide
		n := int(away)
		c := p[(n*3+n/5)%5]
		if into := away - float64(n); n > 0 {
			c = p[((n-1)*3+(n-1)/5)%5].mix(c, inside(into*wide, soft))
		}
		return c.mix(p[0], 0.35*math.Min(1, away*wide))
	}
}

// discs are large circles that shine through each other.
func discs(rnd *rand.Rand, p [5]colour) painting {
	type disc struct{ x, y, size float64 }
	var all [4]disc
	for i := range all {
		all[i] = disc{between(rnd, 0.1, 0.9), between(rnd, 0.1, 0.9), between(rnd, 0.2, 0.42)}
	}
	return func(x, y, soft float64) colour {
		c := p[0].mix(p[1], (x+y)/3)
		for i, d := range all {
			away := math.Hypot(x-d.x, y-d.y)
			c = c.mix(p[1+i].mix(p[4], y), 0.72*inside(d.size-away, soft))
		}
		return c
	}
}

// tiles are quarters of circles in a grid.
func tiles(rnd *rand.Rand, p [5]colour) painting {
	n := 3 + rnd.IntN(2)
	type tile struct {
		corner      int
		front, back colour
	}
	all := make([]tile, n*n)
	for i := range all {
		front := rnd.IntN(5)
		all[i] = tile{rnd.IntN(5), p[front], p[(front+1+rnd.IntN(4))%5]}
	}
	return func(x, y, soft float64) colour {
		column, row := math.Floor(x*float64(n)), math.Floor(y*float64(n))
		t := all[((int(row)+n)%n)*n+(int(column)+n)%n]
		dx, dy := x*float64(n)-column, y*float64(n)-row
		reach := 1.0
		switch t.corner {
		case 1:
			dx = 1 - dx
		case 2:
			dy = 1 - dy
		case 3:
			dx, dy = 1-dx, 1-dy
		case 4:
			dx, dy, reach = dx-0.5, dy-0.5, 0.38
		}
		return t.back.mix(t.front, inside((reach-math.Hypot(dx, dy))/float64(n), soft))
	}
}

// ridges are mountains, the nearer the darker.
func ridges(rnd *rand.Rand, p [5]colour) painting {
	var phase, pitch [5]float64
	for i := range phase {
		phase[i], pitch[i] = rnd.Float64()*9, between(rnd, 3, 6)
	}
	moonX, moonY := between(rnd, 0.2, 0.8), between(rnd, 0.12, 0.3)
	return func(x, y, soft float64) colour {
		c := p[4].mix(p[3], y*1.6)
		c = c.mix(rgb(0xffffff), 0.8*inside(0.09-math.Hypot(x-moonX, y-moonY), soft))
		for i := range phase {
			f, at := pitch[i], x+phase[i]
			line := 0.32 + 0.13*float64(i) + 0.06*math.Sin(at*f) + 0.03*math.Sin(at*f*2.7) + 0.008*math.Sin(at*f*11)
			c = c.mix(p[2].mix(p[0], float64(i+1)/5).mix(p[3], max(0, 0.5-(y-line)*2)*0.3), inside(y-line, soft))
		}
		return c
	}
}

// beams are stripes aslant, with a disc cut out of them.
func beams(rnd *rand.Rand, p [5]colour) painting {
	angle, wide := between(rnd, 0.3, 1.3), between(rnd, 0.07, 0.12)
	sin, cos := math.Sincos(angle)
	atX, atY, size := between(rnd, 0.35, 0.65), between(rnd, 0.35, 0.65), between(rnd, 0.2, 0.32)
	stripe := func(along, soft float64, a, b colour) colour {
		wave := math.Abs(math.Mod(along/wide+100, 2) - 1)
		return a.mix(b, inside((wave-0.5)*wide, soft))
	}
	return func(x, y, soft float64) colour {
		c := stripe(x*cos+y*sin, soft, p[1], p[2].mix(p[3], y))
		within := stripe(x*sin-y*cos, soft, p[4], p[0])
		return c.mix(within, inside(size-math.Hypot(x-atX, y-atY), soft))
	}
}
