package art

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPictureIsShrunkAndEncodedAgain(t *testing.T) {
	t.Parallel()
	large := image.NewNRGBA(image.Rect(0, 0, 1280, 320))
	large.Set(1, 1, color.NRGBA{R: 255, A: 255})
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, large))
	out, err := Shrink(append(b.Bytes(), "<script>alert(1)</script>"...))
	require.NoError(t, err)
	require.NotContains(t, string(out), "script", "nothing else of the file is kept")
	m, err := jpeg.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, image.Pt(640, 160), m.Bounds().Size())
	r, _, _, _ := m.At(300, 100).RGBA()
	require.Greater(t, r, uint32(0xf000), "what is transparent is white")
}

func TestTheMiddleOfAPictureIsASquare(t *testing.T) {
	t.Parallel()
	wide := image.NewNRGBA(image.Rect(0, 0, 300, 100))
	for x := range 300 {
		for y := range 100 {
			wide.Set(x, y, color.NRGBA{R: 255, A: 255})
			if x >= 100 && x < 200 {
				wide.Set(x, y, color.NRGBA{B: 255, A: 255})
			}
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, wide))
	out, err := Square(b.Bytes(), 40)
	require.NoError(t, err)
	m, err := jpeg.Decode(bytes.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, image.Pt(40, 40), m.Bounds().Size())
	for _, x := range []int{4, 20, 35} {
		r, _, blue, _ := m.At(x, 20).RGBA()
		require.Greater(t, blue, r, x)
	}
	_, err = Square([]byte("no picture"), 40)
	require.ErrorIs(t, err, ErrNoPicture)
}

// Files that claim to be larger than they are, that are cut off, or that are not pictures.
func TestHostilePicturesAreRefused(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))))
	vast := bytes.Clone(b.Bytes())
	binary.BigEndian.PutUint32(vast[16:], 1<<30) // the width
	binary.BigEndian.PutUint32(vast[29:], crc32.ChecksumIEEE(vast[12:29]))
	for what, test := range map[string]struct {
		picture []byte
		want    error
	}{
		"vast":      {vast, ErrTooLarge},
		"too large": {append(bytes.Clone(b.Bytes()), make([]byte, MaxUpload)...), ErrTooLarge},
		"cut off":   {b.Bytes()[:40], ErrNoPicture},
		"a page":    {[]byte("<!doctype html><script>alert(1)</script>"), ErrNoPicture},
		"a drawing": {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>`), ErrNoPicture},
		"WebP":      {[]byte("RIFF\x04\x00\x00\x00WEBPVP8 "), ErrNoPicture},
		"nothing":   {nil, ErrNoPicture},
	} {
		_, err := Shrink(test.picture)
		require.ErrorIs(t, err, test.want, what)
	}
}
