package search

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// shareStore finds what is shared.
type shareStore interface {
	TrackByID(ctx context.Context, user int64, id string) (library.Track, library.StoredPlaylist, error)
	EntityByMBID(ctx context.Context, kind, mbid string) (id int64, err error)
	Music(ctx context.Context, user int64, kind string, id int64) (enrich.Music, error)
	LoveOf(ctx context.Context, user int64, title, artist string) (library.Love, error)
}

// shareView is the page for what another application has shared.
type shareView struct {
	Lead   string
	Found  []ui.Item // what was shared; one at most
	Do     []ui.Action
	Later  string    // what can be done once it was heard; empty for nothing
	Others []ui.Item // what may be meant
	Text   string    // to search for
	Search bool      // whether it can be searched for
}

// share answers with what is known of the link or the name that another application has shared. It changes nothing, and
// asks no service.
func (h *Handler) share(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	s := readShared(h.core.Services(), c.QueryParam("title"), c.QueryParam("text"), c.QueryParam("url"))
	v, err := h.shareView(ctx, user, s)
	if err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "share.title"), sharePage(v))
}

func (h *Handler) shareView(ctx context.Context, user int64, s shared) (v shareView, err error) {
	var in library.StoredPlaylist
	if s.ID != "" && s.Kind == library.KindTrack {
		t, list, err := h.store.TrackByID(ctx, user, s.ID)
		if err != nil && !errors.Is(err, library.ErrNotFound) {
			return v, err
		}
		if in = list; err == nil {
			s.Kind, s.Track, s.Text = library.KindTrack, t, t.Artist+" "+t.Title
		}
	}
	m, err := h.heard(ctx, user, s)
	if err == nil {
		return h.heardView(ctx, user, m)
	}
	if !errors.Is(err, library.ErrNotFound) {
		return v, err
	}
	v.Text, v.Search = s.Text, true
	if s.Track.Title != "" && s.Track.Artist != "" {
		love, err := h.store.LoveOf(ctx, user, s.Track.Title, s.Track.Artist)
		if err != nil {
			return v, err
		}
		if love.Score != library.Loved {
			v.Do = append(v.Do, music.LoveNamed(ctx, s.Track))
		}
		v.Do = append(v.Do, adding(ctx, s.Track))
	}
	if in.ID != 0 {
		list := ui.Named{Text: in.Name, URL: "/playlists/" + strconv.FormatInt(in.ID, 10)}
		v.Lead = words.T(ctx, "share.in_playlist")
		v.Found = []ui.Item{{Title: ui.Named{Text: s.Track.Title}, By: []ui.Named{{Text: s.Track.Artist}, list}}}
		return v, nil
	}
	if v.Others, err = h.meant(ctx, user, s.Text); err != nil {
		return v, err
	}
	switch {
	case len(v.Others) > 0:
		v.Lead = words.T(ctx, "share.similar", "Text", s.Text)
	case s.Text != "":
		v.Lead = words.T(ctx, "share.unheard", "Text", s.Text)
		if len(v.Do) == 0 {
			v.Later = words.T(ctx, "share.names")
		}
	case s.From != nil:
		v.Lead = words.T(ctx, "share.unknown", "Name", s.From.Called())
	default:
		v.Lead = words.T(ctx, "share.nothing")
	}
	return v, nil
}

// heard returns what a person has heard that was shared, or library.ErrNotFound.
func (h *Handler) heard(ctx context.Context, user int64, s shared) (m enrich.Music, err error) {
	if s.MBID != "" {
		id, err := h.store.EntityByMBID(ctx, s.Kind, s.MBID)
		if err != nil {
			return m, err
		}
		return h.store.Music(ctx, user, s.Kind, id)
	}
	if s.Track.Artist == "" {
		return m, library.ErrNotFound
	}
	swapped := s.Track
	if s.From == nil || s.ID != "" {
		swapped.Title, swapped.Artist = s.Track.Artist, s.Track.Title // some write "Title – Artist"
	}
	for _, t := range []library.Track{s.Track, swapped} {
		links, err := h.rows.Links(ctx, t)
		if err != nil {
			return m, err
		}
		kind := cmp.Or(s.Kind, library.KindTrack)
		id := map[string]int64{library.KindTrack: links[0].Track, library.KindAlbum: links[0].Album,
			library.KindArtist: links[0].Artist}[kind]
		if id == 0 {
			continue
		}
		if m, err = h.store.Music(ctx, user, kind, id); !errors.Is(err, library.ErrNotFound) {
			return m, err
		}
	}
	return m, library.ErrNotFound
}

// heardView shows what was shared and has been heard, with what can be done.
func (h *Handler) heardView(ctx context.Context, user int64, m enrich.Music) (v shareView, err error) {
	one := library.Heard{ID: m.ID, Entity: m.Entity, Plays: m.Plays, LastHeard: m.LastHeard}
	items, err := h.items(ctx, one)
	if err != nil {
		return v, err
	}
	v.Lead, v.Found = words.T(ctx, "share.heard"), items
	page := items[0].Title.URL
	v.Do = []ui.Action{{Label: words.Each("share.open.", m.Kind).T(ctx), URL: page, Main: true}}
	if m.Kind == library.KindTrack {
		love, err := h.store.LoveOf(ctx, user, m.Title, m.Artist)
		if err != nil {
			return v, err
		}
		v.Do = append(v.Do, *music.LoveAction(ctx, page, love),
			adding(ctx, library.Track{Title: m.Title, Artist: m.Artist, Album: m.Album}))
	}
	return v, nil
}

// adding is the button that leads to the form for a listen of a track: from vinyl, the radio, a friend's.
func adding(ctx context.Context, t library.Track) ui.Action {
	form := url.Values{"track": {t.Title}, "artist": {t.Artist}, "album": {t.Album}}
	return ui.Action{ID: "add", Label: words.T(ctx, "share.add"), URL: "/listens/new?" + form.Encode()}
}

// meant returns what a person has heard that fits a text.
func (h *Handler) meant(ctx context.Context, user int64, text string) ([]ui.Item, error) {
	f, err := h.store.Search(ctx, library.Search{User: user, Text: text, Kind: library.KindTrack, Most: some})
	if err != nil {
		return nil, err
	}
	return h.items(ctx, f.Tracks...)
}

// items returns rows for what a person has heard.
func (h *Handler) items(ctx context.Context, all ...library.Heard) ([]ui.Item, error) {
	pictures, err := h.pictures(ctx, library.Found{Tracks: all})
	return core.ViewAll(all, func(one library.Heard) ui.Item { return itemOf(ctx, one, pictures[one.ID]) }), err
}
