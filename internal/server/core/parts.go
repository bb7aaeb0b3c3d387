package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Part is an element of a page that can change while the page is open: one with the attribute data-part, or one with an
// id inside of it. Elements that are the same keep their Version.
type Part struct {
	ID      string
	Tag     string
	Version string // of all that is in it
	Outline string // the version of what is in it beside its own parts
	Parts   []Part // in it
	HTML    []byte // with what is in it

	start, end int // in the page
}

// Live is the attribute of a page's body from which scripts know that it follows what happens. The versions of its
// parts are beside it.
const Live = `data-live="yes"`

// Stamp returns a page with the versions of its parts, for a browser that asks for what has changed since.
func Stamp(page []byte) []byte {
	if !bytes.Contains(page, []byte(Live)) {
		return page
	}
	var all []string
	for _, p := range PartsOf(page) {
		all = append(all, p.ID+":"+p.Version)
	}
	stamped := Live + ` data-parts="` + html.EscapeString(strings.Join(all, ",")) + `"`
	return bytes.Replace(page, []byte(Live), []byte(stamped), 1)
}

// void are the elements without an end.
var void = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
	"wbr"}

// opened is an element whose end is not reached yet.
type opened struct {
	tag  string
	part *Part // nil for an element that is no part
}

// PartsOf returns the parts of a page that are in no other part.
func PartsOf(page []byte) []Part {
	var top []Part
	var stack []opened
	at := 0
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			if z.Err() != io.EOF {
				return nil
			}
			return top
		}
		start := at
		at += len(z.Raw())
		switch kind {
		case html.StartTagToken:
			tag, more := z.TagName()
			o := opened{tag: string(tag)}
			if slices.Contains(void, o.tag) {
				continue
			}
			id, live := attributes(z, more)
			if id != "" && (live || slices.ContainsFunc(stack, func(o opened) bool { return o.part != nil })) {
				o.part = &Part{ID: id, Tag: o.tag, start: start}
			}
			stack = append(stack, o)
		case html.EndTagToken:
			tag, _ := z.TagName()
			for len(stack) > 0 {
				last := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if last.part != nil {
					last.part.finish(page, at)
					top = give(stack, *last.part, top)
				}
				if last.tag == string(tag) {
					break
				}
			}
		}
	}
}

// attributes returns the id of an element, and whether it is marked as a part.
func attributes(z *html.Tokenizer, more bool) (id string, live bool) {
	var key, value []byte
	for more {
		key, value, more = z.TagAttr()
		switch string(key) {
		case "id":
			id = string(value)
		case "data-part":
			live = true
		}
	}
	return id, live
}

// give adds a part to the one around it, or else to the top.
func give(stack []opened, p Part, top []Part) []Part {
	for _, o := range slices.Backward(stack) {
		if o.part != nil {
			o.part.Parts = append(o.part.Parts, p)
			return top
		}
	}
	return append(top, p)
}

// finish fills in what is known once the end of a part is reached.
func (p *Part) finish(page []byte, end int) {
	p.end, p.HTML = end, page[p.start:end]
	p.Version = version(p.HTML)
	p.Outline = version(p.with(func(in Part) []byte { return []byte("\x00" + in.ID + "\x00") }))
}

// with returns the HTML of a part with each part in it replaced.
func (p *Part) with(replace func(Part) []byte) []byte {
	var b bytes.Buffer
	at := p.start
	for _, in := range p.Parts {
		b.Write(p.HTML[at-p.start : in.start-p.start])
		b.Write(replace(in))
		at = in.end
	}
	b.Write(p.HTML[at-p.start:])
	return b.Bytes()
}

// Keep marks an element of a change as one that the browser has and keeps as it is.
const Keep = "data-keep"

// Changed is a part whose content has changed, as a browser gets it.
type Changed struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// Known are the parts that a browser has, by their ids.
type Known map[string]Part

// Changes returns what a browser needs to show parts as they are now, and notes that it has it. Where only an element
// inside of a part has changed, that is all it gets.
func (k Known) Changes(now []Part) (all []Changed) {
	for _, p := range now {
		old, has := k[p.ID]
		switch {
		case has && old.Version == p.Version:
		case has && old.Outline == p.Outline && old.Outline != "":
			all = append(all, k.Changes(p.Parts)...)
		default:
			all = append(all, Changed{ID: p.ID, HTML: string(k.whole(p))})
		}
		k.Note(p)
	}
	return all
}

// whole returns the HTML of a part, in which the elements that the browser has are only named.
func (k Known) whole(p Part) []byte {
	return p.with(func(in Part) []byte {
		if old, has := k[in.ID]; has && old.Version == in.Version && old.Tag == in.Tag {
			return []byte("<" + in.Tag + ` id="` + html.EscapeString(in.ID) + `" ` + Keep + `></` + in.Tag + ">")
		}
		return k.whole(in)
	})
}

// Note notes that a browser has a part, with those in it.
func (k Known) Note(p Part) {
	k[p.ID] = Part{ID: p.ID, Tag: p.Tag, Version: p.Version, Outline: p.Outline}
	for _, in := range p.Parts {
		k.Note(in)
	}
}

// version returns a short name of a content.
func version(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}
