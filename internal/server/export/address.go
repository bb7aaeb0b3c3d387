package export

import (
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Open adds the route for anybody who has the address of a playlist. It ignores sessions.
func (h *Handler) Open(e *echo.Echo) {
	e.GET(core.OpenList, h.openList, core.Visitors(), core.Unreferred)
}

// addressAPI adds the calls about the addresses of playlists.
func (h *Handler) addressAPI(a *core.API) {
	core.Get(a, "/playlists/{id}/address", h.addressOf, core.Call{
		ID:      "getPlaylistAddress",
		Summary: "The addresses at which anybody who knows them gets a playlist as it is now",
		Answer:  "The addresses.",
	})
	core.Put(a, "/playlists/{id}/address", h.makeAddressAPI, core.Call{
		ID:      "makePlaylistAddress",
		Summary: "Give a playlist addresses of its own; earlier ones stop working",
		Answer:  "The addresses.",
	})
	core.Delete(a, "/playlists/{id}/address", h.endAddressAPI, core.Call{
		ID:      "endPlaylistAddress",
		Summary: "Delete the addresses of a playlist",
		Answer:  "They no longer work.",
	})
}

// openList sends a playlist, as it is now, to anybody who has its address.
func (h *Handler) openList(c echo.Context) error {
	ending := path.Ext(c.Param("file"))
	f, ok := listForm(ending)
	if !ok {
		return core.HTTPProblem(http.StatusNotFound)
	}
	ctx := c.Request().Context()
	s, err := h.store.ShareByHash(ctx, library.SharePlaylist,
		accounts.HashToken(strings.TrimSuffix(c.Param("file"), ending)))
	var p library.StoredPlaylist
	if err == nil {
		p, err = h.store.PlaylistOnly(ctx, s.User, s.Playlist())
	}
	if errors.Is(err, library.ErrNotFound) {
		return &core.Refusal{Status: http.StatusNotFound, Title: words.New("problem.list.gone"),
			Detail: words.New("problem.list.gone_text")}
	}
	if err != nil {
		return err
	}
	page := h.trackPage(p)
	p.Connection = "" // others needn't know from which service it comes
	return h.sendList(c, p, page, p.Name, f, h.tracks(ctx, s.User, p.ID))
}

// listed returns the playlist that a request names.
func (h *Handler) listed(c echo.Context) (library.StoredPlaylist, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return library.StoredPlaylist{}, err
	}
	return h.store.PlaylistOnly(c.Request().Context(), core.UserOf(c).ID, id)
}

// makeAddress gives the playlist that a request names a new address, which replaces any earlier one.
func (h *Handler) makeAddress(c echo.Context) (s library.Share, err error) {
	p, err := h.listed(c)
	if err != nil {
		return s, err
	}
	ctx := c.Request().Context()
	s, _, err = core.KeepShare(ctx, h.store, library.Share{User: core.UserOf(c).ID, Kind: library.SharePlaylist,
		Subject: strconv.FormatInt(p.ID, 10)}, true)
	if err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.ListShared, User: s.User, Subject: p.Name})
	}
	return s, err
}

// endAddress deletes the address of the playlist that a request names.
func (h *Handler) endAddress(c echo.Context) error {
	p, err := h.listed(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	err = h.store.DeleteShare(ctx, user, library.SharePlaylist, strconv.FormatInt(p.ID, 10))
	if err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.ListUnshared, User: user, Subject: p.Name})
	}
	return err
}

func (h *Handler) addressForm(c echo.Context) error {
	if _, err := h.makeAddress(c); err != nil {
		return err
	}
	return h.core.Done(c, "/playlists/"+c.Param("id")+"#file", words.New("playlists.address.made"))
}

func (h *Handler) endAddressForm(c echo.Context) error {
	// It may have been deleted in another tab.
	if err := h.endAddress(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.Done(c, "/playlists/"+c.Param("id")+"#file", words.New("playlists.address.ended"))
}

// ListAddress has the addresses of a playlist. They are null if the server's secret key has been lost since.
type ListAddress struct {
	MadeAt core.Time `json:"made_at"`
	JSPF   *string   `json:"jspf"`
	XSPF   *string   `json:"xspf"`
	M3U8   *string   `json:"m3u8"`
}

func (h *Handler) viewAddress(s library.Share) ListAddress {
	at := func(f export.ListForm) *string {
		if s.Code == "" {
			return nil
		}
		return core.Text(h.core.ListAddress(s.Code, f.Ending))
	}
	return ListAddress{core.Stamp(s.MadeAt), at(export.JSPF), at(export.XSPF), at(export.M3U8)}
}

func (h *Handler) addressOf(c echo.Context, _ *core.ByID) (out ListAddress, _ error) {
	s, err := h.store.Share(c.Request().Context(), core.UserOf(c).ID, library.SharePlaylist, c.Param("id"))
	if err != nil {
		return out, err
	}
	return h.viewAddress(s), nil
}

func (h *Handler) makeAddressAPI(c echo.Context, _ *core.ByID) (out ListAddress, _ error) {
	s, err := h.makeAddress(c)
	if err != nil {
		return out, err
	}
	return h.viewAddress(s), nil
}

func (h *Handler) endAddressAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.endAddress(c)
}
