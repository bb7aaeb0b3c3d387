package art

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // formats that Shrink decodes
	"image/jpeg"
	_ "image/png"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// MaxUpload is the maximum size of an uploaded picture, in bytes.
const MaxUpload = maxPicture

// mostPixels caps the pixels to decode, which take up to about 100 megabytes of memory. longestSide is the longer side
// of the result, in pixels.
const (
	mostPixels  = 24_000_000
	longestSide = 640
)

// Errors of uploaded pictures.
var (
	ErrNoPicture = errors.New("not a picture in JPEG, PNG, WebP or GIF")
	ErrTooLarge  = errors.New("too many bytes or pixels")
)

// shrinking makes sure that only one picture is decoded at a time, which bounds the memory.
var shrinking sync.Mutex

// Shrink decodes an uploaded picture and returns it as a JPEG of at most 640 pixels on its longer side, without
// metadata. It returns ErrNoPicture for other data, and ErrTooLarge for more than MaxUpload bytes or 24 million pixels.
func Shrink(picture []byte) ([]byte, error) {
	return redraw(picture, func(size image.Point) (image.Rectangle, image.Point) {
		from := image.Rectangle{Max: size}
		if longest := max(size.X, size.Y); longest > longestSide {
			size = image.Pt(max(1, size.X*longestSide/longest), max(1, size.Y*longestSide/longest))
		}
		return from, size
	})
}

// Square returns the middle of a picture as a square JPEG whose sides are side pixels long. It has Shrink's limits and
// errors.
func Square(picture []byte, side int) ([]byte, error) {
	return redraw(picture, func(size image.Point) (image.Rectangle, image.Point) {
		short := min(size.X, size.Y)
		corner := size.Sub(image.Pt(short, short)).Div(2)
		return image.Rectangle{Min: corner, Max: corner.Add(image.Pt(short, short))}, image.Pt(side, side)
	})
}

// redraw decodes a picture, and returns a part of it at another size. For the picture's size, choose returns the part
// and the new size.
func redraw(picture []byte, choose func(image.Point) (image.Rectangle, image.Point)) ([]byte, error) {
	if len(picture) > MaxUpload {
		return nil, ErrTooLarge
	}
	if kindOf(picture) == "" {
		return nil, ErrNoPicture
	}
	head, _, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil || head.Width < 1 || head.Height < 1 {
		return nil, fmt.Errorf("%w: %w", ErrNoPicture, err)
	}
	if head.Width > mostPixels/head.Height {
		return nil, ErrTooLarge
	}
	shrinking.Lock()
	defer shrinking.Unlock()
	full, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPicture, err)
	}
	from, size := choose(full.Bounds().Size())
	small := image.NewRGBA(image.Rectangle{Max: size})
	// The background of transparent pixels.
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), full, from.Add(full.Bounds().Min), draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: 85}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
