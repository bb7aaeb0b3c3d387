// Package cards draws and sends pictures to share. It has what the cards of weeks, years and profiles have in common.
package cards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	_ "image/gif" // formats of cached pictures
	_ "image/jpeg"
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"
	_ "golang.org/x/image/webp"

	"reprise/internal/card"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Limits of the cards.
const (
	mostCards  = 16       // in the cache
	mostPixels = 16 << 20 // of a cover
)

// Cards draws one card at a time, and caches the latest. It is safe for concurrent use.
type Cards struct {
	core    *core.Core
	rows    *music.Rows
	drawing chan struct{} // has an element while a card is drawn

	mu   sync.Mutex
	kept map[string][]byte // by tag
	tags []string          // the oldest first
}

// New returns Cards.
func New(k *core.Core, rows *music.Rows) *Cards {
	return &Cards{core: k, rows: rows, drawing: make(chan struct{}, 1), kept: map[string][]byte{}}
}

// Picture is a card to be sent.
type Picture struct {
	Kind    string   // what is drawn of the content, such as "badge"
	Content any      // all that is drawn; with Kind, its ETag follows from it
	Covers  []string // names of cached pictures; empty ones are ignored
	Draw    func(covers map[string]image.Image) *card.Card
	File    string // its name when it is downloaded, without the ending
	// Embedded means that pages of other sites may load and show it.
	Embedded bool
}

// Send answers with a card as PNG or SVG, as the end of the route says. Browsers may cache it, but must check each time
// whether it is still the same.
func (s *Cards) Send(c echo.Context, p Picture) error {
	ending := path.Ext(c.Path())
	tag, err := tagOf(p, ending)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Add("Vary", "Accept-Language")
	if p.Embedded {
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	if c.Request().Header.Get("If-None-Match") == tag {
		return c.NoContent(http.StatusNotModified)
	}
	ctx := c.Request().Context()
	b, err := s.get(ctx, tag, func() ([]byte, error) {
		drawn := p.Draw(s.images(ctx, p.Covers))
		if ending == ".png" {
			return drawn.PNG()
		}
		return drawn.SVG()
	})
	if err != nil {
		return err
	}
	kind := "image/png"
	if ending == ".svg" {
		kind = "image/svg+xml"
		header.Set("Content-Security-Policy",
			"default-src 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'")
	}
	if !p.Embedded {
		header.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment",
			map[string]string{"filename": p.File + ending}))
	}
	return c.Blob(http.StatusOK, kind, b)
}

// Choice returns the value of a query parameter, which must be first or second. The default is first.
func Choice(c echo.Context, name, first, second string) (string, error) {
	switch text := c.QueryParam(name); text {
	case "", first:
		return first, nil
	case second:
		return second, nil
	}
	return "", core.BadRequest(words.New("problem.year.title"),
		words.New("problem.year.look", "Name", name, "First", first, "Second", second))
}

// drawnAs is the version of the drawing code. Change it with the code, so that browsers do not show cards from their
// cache.
const drawnAs = "2"

// tagOf returns the ETag of a card.
func tagOf(p Picture, ending string) (string, error) {
	b, err := json.Marshal([]any{p.Kind, p.Content, drawnAs, ending})
	sum := sha256.Sum256(b)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, err
}

// get returns the card with a tag from the cache, or calls make and caches the result.
func (s *Cards) get(ctx context.Context, tag string, make func() ([]byte, error)) ([]byte, error) {
	find := func() []byte {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.kept[tag]
	}
	if b := find(); b != nil {
		return b, nil
	}
	select {
	case s.drawing <- struct{}{}:
		defer func() { <-s.drawing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b := find(); b != nil { // another request has just drawn it
		return b, nil
	}
	b, err := make()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tags) == mostCards {
		delete(s.kept, s.tags[0])
		s.tags = slices.Delete(s.tags, 0, 1)
	}
	s.kept[tag], s.tags = b, append(s.tags, tag)
	return b, nil
}

// images reads pictures. It leaves out those that cannot be read or are too large.
func (s *Cards) images(ctx context.Context, names []string) map[string]image.Image {
	all := map[string]image.Image{}
	for _, name := range names {
		if name == "" || all[name] != nil {
			continue
		}
		b, _, err := s.rows.ReadPicture(ctx, name)
		if err != nil {
			if !errors.Is(err, library.ErrNotFound) {
				s.core.Log.Error("a picture for a card cannot be read", "err", err)
			}
			continue
		}
		if m := decode(b); m != nil {
			all[name] = m
		}
	}
	return all
}

// decode decodes a picture. It returns nil if the picture is broken or too large.
func decode(b []byte) image.Image {
	about, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || about.Width < 1 || about.Height < 1 || about.Width > mostPixels/about.Height {
		return nil
	}
	m, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return m
}
