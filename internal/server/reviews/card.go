// Package reviews has what the pages of weeks and of years share: lists with pictures, and a card to share, drawn as
// SVG or PNG.
package reviews

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
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"
	_ "golang.org/x/image/webp"

	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Limits of the cards.
const (
	mostCards  = 16       // in the cache
	mostPixels = 16 << 20 // of a cover
)

// Desk answers with cards. It draws one at a time, and caches the latest. It is safe for concurrent use.
type Desk struct {
	rows *music.Rows
	log  *slog.Logger

	drawing chan struct{} // has an element while a card is drawn

	mu   sync.Mutex
	kept map[string][]byte // by tag
	tags []string          // the oldest first
}

// NewDesk returns a Desk, which reads the pictures of rows.
func NewDesk(k *core.Core, rows *music.Rows) *Desk {
	return &Desk{rows: rows, log: k.Log, drawing: make(chan struct{}, 1), kept: map[string][]byte{}}
}

// get returns the card with a tag from the cache, or calls make and caches the result.
func (c *Desk) get(ctx context.Context, tag string, make func() ([]byte, error)) ([]byte, error) {
	find := func() []byte {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.kept[tag]
	}
	if b := find(); b != nil {
		return b, nil
	}
	select {
	case c.drawing <- struct{}{}:
		defer func() { <-c.drawing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b := find(); b != nil { // somebody else has just drawn it
		return b, nil
	}
	b, err := make()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tags) == mostCards {
		delete(c.kept, c.tags[0])
		c.tags = slices.Delete(c.tags, 0, 1)
	}
	c.kept[tag], c.tags = b, append(c.tags, tag)
	return b, nil
}

// drawnAs is the version of the drawing code. Change it with the code, so that browsers do not show cards from their
// cache.
const drawnAs = "2"

// tagOf returns the ETag of a card.
func tagOf(c Content, ending string) (string, error) {
	b, err := json.Marshal(c)
	sum := sha256.Sum256(append(b, drawnAs+ending...))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, err
}

// LookOf returns the look that a request asks for.
func LookOf(c echo.Context) (as Look, err error) {
	as = Look{Theme: "light", Shape: "wide"}
	for _, one := range []struct {
		name  string
		value *string
		known []string
	}{{"theme", &as.Theme, []string{"light", "dark"}}, {"shape", &as.Shape, []string{"wide", "square"}}} {
		if text := c.QueryParam(one.name); text != "" {
			if !slices.Contains(one.known, text) {
				return as, core.BadRequest(words.New("problem.year.title"),
					words.New("problem.year.look", "Name", one.name, "First", one.known[0],
						"Second", one.known[1]))
			}
			*one.value = text
		}
	}
	return as, nil
}

// Send answers with a card, as PNG or SVG by the ending of the route. Browsers may cache it, but check each time
// whether it is still the same.
func (c *Desk) Send(to echo.Context, said Content) error {
	ctx := to.Request().Context()
	ending := path.Ext(to.Path())
	tag, err := tagOf(said, ending)
	if err != nil {
		return err
	}
	header := to.Response().Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Add("Vary", "Accept-Language")
	if to.Request().Header.Get("If-None-Match") == tag {
		return to.NoContent(http.StatusNotModified)
	}
	b, err := c.get(ctx, tag, func() ([]byte, error) {
		drawn := said.draw(c.images(said.Prizes))
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
		header.Set("Content-Security-Policy", "default-src 'none'; img-src data:; frame-ancestors 'none'")
	}
	header.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment",
		map[string]string{"filename": "reprise-" + said.Name + ending}))
	return to.Blob(http.StatusOK, kind, b)
}

// images reads pictures, without those that cannot be read or are too large.
func (c *Desk) images(prizes []Prize) map[string]image.Image {
	all := map[string]image.Image{}
	for _, p := range prizes {
		if p.Picture == "" || all[p.Picture] != nil {
			continue
		}
		b, err := c.rows.Picture(p.Picture)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				c.log.Error("a picture for a card cannot be read", "err", err)
			}
			continue
		}
		if m := decode(b); m != nil {
			all[p.Picture] = m
		}
	}
	return all
}

// decode decodes a picture; nil if it is broken or too large.
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
