//go:build ignore

// Command pack makes the files in fonts/: go run pack.go FONT.ttf... It leaves out what only low resolutions
// need, the instructions that fit outlines to pixels, and the names of glyphs, and compresses the rest. A font with a
// reserved name, which only the unchanged font may bear, is only compressed.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/go-text/typesetting/font/opentype"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := pack(path); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
	}
}

func pack(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	if !strings.HasPrefix(name, "Nanum") {
		if file, err = lighten(file); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	w := brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	if _, err := w.Write(file); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("fonts", name+".br"), out.Bytes(), 0o644)
}

// needless are the tables that only hints need, and the signature, which does not hold for a changed font.
var needless = []string{"DSIG", "LTSH", "VDMX", "cvt ", "fpgm", "gasp", "hdmx", "prep"}

func lighten(file []byte) ([]byte, error) {
	in, err := opentype.NewLoader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	tables := map[string][]byte{}
	for _, tag := range in.Tables() {
		if tables[tag.String()], err = in.RawTable(tag); err != nil {
			return nil, err
		}
	}
	for _, tag := range needless {
		delete(tables, tag)
	}
	const noNames = 3 << 16 // the version of a table post without names, of 32 bytes
	tables["post"] = tables["post"][:32]
	binary.BigEndian.PutUint32(tables["post"], noNames)
	long := binary.BigEndian.Uint16(tables["head"][50:]) == 1
	if tables["glyf"], tables["loca"], err = glyphs(tables["glyf"], offsets(tables["loca"], long)); err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint16(tables["head"][50:], 1)
	var all []opentype.Table
	for tag, content := range tables {
		for len(content)%4 > 0 {
			content = append(content, 0)
		}
		all = append(all, opentype.Table{Tag: opentype.MustNewTag(tag), Content: content})
	}
	slices.SortFunc(all, func(a, b opentype.Table) int { return int(a.Tag) - int(b.Tag) })
	return opentype.WriteTTF(all), nil
}

// offsets reads where each glyph begins, and where the last one ends.
func offsets(loca []byte, long bool) (all []int) {
	for len(loca) >= 2 {
		if long {
			all, loca = append(all, int(binary.BigEndian.Uint32(loca))), loca[4:]
		} else {
			all, loca = append(all, 2*int(binary.BigEndian.Uint16(loca))), loca[2:]
		}
	}
	return all
}

// glyphs returns the glyphs without instructions, and where each begins.
func glyphs(from []byte, at []int) (glyf, loca []byte, err error) {
	for i := range at {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		if i+1 == len(at) || at[i] == at[i+1] {
			continue
		}
		one := slices.Clone(from[at[i]:at[i+1]])
		if n := int(int16(binary.BigEndian.Uint16(one))); n >= 0 {
			one = simple(one, n)
		} else if one, err = composite(one); err != nil {
			return nil, nil, fmt.Errorf("glyph %d: %w", i, err)
		}
		if len(one)%2 > 0 {
			one = append(one, 0)
		}
		glyf = append(glyf, one...)
	}
	return glyf, loca, nil
}

const header = 10 // bytes of a glyph before its contours

// simple empties the instructions of a glyph with outlines.
func simple(glyph []byte, contours int) []byte {
	at := header + 2*contours
	length := int(binary.BigEndian.Uint16(glyph[at:]))
	binary.BigEndian.PutUint16(glyph[at:], 0)
	return slices.Delete(glyph, at+2, at+2+length)
}

// The flags of a part of a composite glyph.
const (
	words        = 1 << 0
	scale        = 1 << 3
	more         = 1 << 5
	twoScales    = 1 << 6
	matrix       = 1 << 7
	instructions = 1 << 8
)

// composite cuts the instructions off a glyph that is put together from others.
func composite(glyph []byte) ([]byte, error) {
	for at := header; at+4 <= len(glyph); {
		flags := binary.BigEndian.Uint16(glyph[at:])
		binary.BigEndian.PutUint16(glyph[at:], flags&^instructions)
		at += 6
		if flags&words != 0 {
			at += 2
		}
		switch {
		case flags&scale != 0:
			at += 2
		case flags&twoScales != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			return glyph[:at], nil
		}
	}
	return nil, fmt.Errorf("it does not end")
}
