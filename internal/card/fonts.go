package card

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"sync"
	"unicode"

	"github.com/andybalholm/brotli"
	"github.com/go-text/typesetting/font"
)

// pack.go makes them.
//
//go:embed fonts/*.ttf.br
var files embed.FS

// typeface is a font, unpacked when a character of it is first needed.
type typeface struct {
	file   string
	ranges *unicode.RangeTable // its scripts; nil for all
	once   sync.Once
	face   *font.Face
}

var (
	regular = &typeface{file: "NotoSans-Regular"}
	bold    = &typeface{file: "NotoSans-Bold"}
	// others are the fallbacks, the one with the most characters last.
	others = []*typeface{
		{file: "NotoSansArabic-Regular", ranges: unicode.Arabic},
		{file: "NotoSansHebrew-Regular", ranges: unicode.Hebrew},
		{file: "NotoSansThai-Regular", ranges: unicode.Thai},
		{file: "NotoSansArmenian-Regular", ranges: unicode.Armenian},
		{file: "NotoSansGeorgian-Regular", ranges: unicode.Georgian},
		{file: "NotoSansDevanagari-Regular", ranges: unicode.Devanagari},
		{file: "NotoSansBengali-Regular", ranges: unicode.Bengali},
		{file: "NotoSansTamil-Regular", ranges: unicode.Tamil},
		{file: "NotoSansTelugu-Regular", ranges: unicode.Telugu},
		{file: "NotoSansGujarati-Regular", ranges: unicode.Gujarati},
		{file: "NotoSansGurmukhi-Regular", ranges: unicode.Gurmukhi},
		{file: "NotoSansKannada-Regular", ranges: unicode.Kannada},
		{file: "NotoSansMalayalam-Regular", ranges: unicode.Malayalam},
		{file: "NotoSansSinhala-Regular", ranges: unicode.Sinhala},
		{file: "NotoSansKhmer-Regular", ranges: unicode.Khmer},
		{file: "NotoSansLao-Regular", ranges: unicode.Lao},
		{file: "NotoSansMyanmar-Regular", ranges: unicode.Myanmar},
		{file: "NotoSansEthiopic-Regular", ranges: unicode.Ethiopic},
		{file: "NanumSquareR", ranges: unicode.Hangul},
		{file: "DroidSansFallbackFull"},
	}
)

// get returns the font. It panics if the embedded font is broken.
func (t *typeface) get() *font.Face {
	t.once.Do(func() {
		packed, err := files.ReadFile("fonts/" + t.file + ".ttf.br")
		if err != nil {
			panic(fmt.Sprintf("read font %s: %v", t.file, err))
		}
		b, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
		if err != nil {
			panic(fmt.Sprintf("unpack font %s: %v", t.file, err))
		}
		if t.face, err = font.ParseTTF(bytes.NewReader(b)); err != nil {
			panic(fmt.Sprintf("parse font %s: %v", t.file, err))
		}
	})
	return t.face
}

// find returns the font for a character, or nil. The caller holds oneByOne, because fonts cache their lookups.
func find(r rune, first *typeface) *font.Face {
	if face := first.get(); has(face, r) {
		return face
	}
	for _, t := range others {
		if t.ranges != nil && !unicode.Is(t.ranges, r) {
			continue
		}
		if t.ranges == nil && r < 0x1100 { // it is large, and adds nothing below U+1100
			return nil
		}
		if face := t.get(); has(face, r) {
			return face
		}
	}
	return nil
}

func has(face *font.Face, r rune) bool {
	_, ok := face.NominalGlyph(r)
	return ok
}

// weight selects the font that is tried first.
type weight struct{ first *typeface }

// ResolveFace implements shaping.Fontmap.
func (w weight) ResolveFace(r rune) *font.Face {
	if face := find(r, w.first); face != nil {
		return face
	}
	return w.first.get()
}
