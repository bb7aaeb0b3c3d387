package profile

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// openPath is the path of the addresses of profiles.
const openPath = "/profile/"

// Open adds the routes for anybody who has the address of a profile. They ignore sessions.
func (h *Handler) Open(e *echo.Echo) {
	at := openPath + ":code"
	g := e.Group(at, core.Visitors(), core.Unreferred)
	g.GET("", h.openPage)
	g.GET("/card.svg", h.openCard)
	g.GET("/card.png", h.openCard)
	g.GET("/badge.svg", h.badge)
	g.GET("/feed.atom", h.feed)
	// Pictures aren't limited like visits, because a page has dozens of them. Only those who were sent the page know
	// their addresses, and one costs no more than a static file.
	e.GET(at+"/art/:mark/:hash", h.picture, core.Unreferred)
}

// gone is the answer for an address without a profile, and for a part that a profile doesn't show.
func gone() error {
	return &core.Refusal{Status: http.StatusNotFound, Title: words.New("problem.profile.gone"),
		Detail: words.New("problem.profile.gone_text")}
}

// shared returns the profile whose code is in the address of a request.
func (h *Handler) shared(c echo.Context) (library.Share, error) {
	s, err := h.store.ShareByHash(c.Request().Context(), library.ShareProfile, accounts.HashToken(c.Param("code")))
	if errors.Is(err, library.ErrNotFound) {
		return s, gone()
	}
	s.Code = c.Param("code") // the store doesn't know it if the key was lost
	return s, err
}

func (h *Handler) openPage(c echo.Context) error {
	s, err := h.shared(c)
	if err != nil {
		return err
	}
	return h.showOpen(c, s)
}

// showOpen answers with the page of a profile. A share without a code makes it a preview.
func (h *Handler) showOpen(c echo.Context, s library.Share) error {
	ctx := c.Request().Context()
	p, err := h.gather(ctx, s, everything(), mostLatest)
	if err != nil {
		return err
	}
	v := p.view(ctx, artOf(s))
	about := p.about(ctx)
	meta := []ui.Meta{{Name: "og:title", Content: v.Title}, {Name: "og:type", Content: "profile"},
		{Name: "og:description", Content: about}}
	if s.Code != "" {
		if p.parts[latest] {
			v.Feed = openPath + s.Code + "/feed.atom"
		}
		meta = append(meta, ui.Meta{Name: "og:image", Content: h.address(s.Code) + "/card.png"},
			ui.Meta{Name: "og:image:width", Content: "1200"}, ui.Meta{Name: "og:image:height", Content: "630"},
			ui.Meta{Name: "og:image:alt", Content: about},
			ui.Meta{Name: "twitter:card", Content: "summary_large_image"})
	}
	return h.core.ShowOpen(c, v.Title, meta, openProfile(v))
}

// artOf returns a function that returns the address of a picture on the page of a profile. The address has a mark that
// proves that the page showed the picture: by names alone, strangers could find out whether somebody here has an album.
func artOf(s library.Share) func(picture string) string {
	return func(picture string) string {
		switch {
		case picture == "":
			return ""
		case s.Code == "":
			return "/art/" + picture
		}
		return openPath + s.Code + "/art/" + markOf(s, picture) + "/" + picture
	}
}

// markOf returns the mark of a picture on a profile.
func markOf(s library.Share, picture string) string {
	mac := hmac.New(sha256.New, s.Key)
	_, _ = mac.Write([]byte(picture)) // a hash returns no error
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func (h *Handler) picture(c echo.Context) error {
	s, err := h.shared(c)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(c.Param("mark")), []byte(markOf(s, c.Param("hash")))) {
		return gone()
	}
	return h.rows.SendPicture(c, c.Param("hash"))
}

// address returns the address of the profile with a code; empty if the code is not known.
func (h *Handler) address(code string) string {
	if code == "" {
		return ""
	}
	return h.core.BaseURL() + openPath + code
}

// title returns the title of a profile: the name of its person, or a general one if the name is empty.
func title(ctx context.Context, name string) string {
	return cmp.Or(name, words.T(ctx, "profile.title"))
}
