package art

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // what is decoded
	"image/jpeg"
	_ "image/png"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// MaxUpload is the most bytes of a picture that somebody sends.
const MaxUpload = maxPicture

// These bound a picture that somebody sends: the pixels that are decoded, some 100 megabytes at worst, and the longer
// side of what is kept of it.
const (
	mostPixels  = 24_000_000
	longestSide = 640
)

// Errors of pictures that somebody sends.
var (
	ErrNoPicture = errors.New("not a picture in JPEG, PNG, WebP or GIF")
	ErrTooLarge  = errors.New("too many bytes or pixels")
)

// shrinking lets one picture be decoded at a time, so that several need no more memory than one.
var shrinking sync.Mutex

// Shrink decodes a picture that somebody sends, and returns it as a JPEG of at most 640 pixels on its longer side. Of
// the file nothing else is kept. What is none, or has more than MaxUpload bytes or 24 million pixels, is an error.
func Shrink(picture []byte) ([]byte, error) {
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
	size := full.Bounds().Size()
	if longest := max(size.X, size.Y); longest > longestSide {
		size = image.Pt(max(1, size.X*longestSide/longest), max(1, size.Y*longestSide/longest))
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	// Below what is transparent.
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), full, full.Bounds(), draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: 85}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
