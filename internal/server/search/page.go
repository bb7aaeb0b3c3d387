package search

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page of a search.
type pageView struct {
	Text, Kind string
	All        string // the address of the results of every kind, on a page of one kind
	Count      string // how many results there are; empty for none
	None       string // says that nothing was found; empty if something was, or nothing was asked
	Groups     []group
}

// group is the results of one kind.
type group struct {
	Kind  string
	Items []ui.Item
	More  *ui.Link // to all of them; nil if these are all
}

// shownText is how much of a long question is repeated, in bytes.
const shownText = 100

func pageFor(q library.Search) pageView {
	p := pageView{Text: q.Text, Kind: q.Kind}
	if q.Kind != "" {
		p.All = addressOf(q.Text, "")
	}
	return p
}

// addressOf returns the address of a search.
func addressOf(text, kind string) string {
	query := url.Values{"q": {text}}
	if kind != "" {
		query.Set("kind", kind)
	}
	return "/search?" + query.Encode()
}

// fill adds the results, of which there is one more of a kind than are shown if there are more.
func (h *Handler) fill(ctx context.Context, p *pageView, q library.Search, f library.Found) error {
	label, err := h.core.Labels(ctx, q.User)
	if err != nil {
		return err
	}
	pictures, err := h.pictures(ctx, f)
	if err != nil {
		return err
	}
	rows, err := h.rows.Of(ctx, q.User, f.Listens)
	if err != nil {
		return err
	}
	heard := func(one library.Heard) ui.Item { return itemOf(ctx, one, pictures[one.ID]) }
	items := map[string][]ui.Item{
		library.KindArtist: core.ViewAll(f.Artists, heard),
		library.KindAlbum:  core.ViewAll(f.Albums, heard),
		library.KindTrack:  core.ViewAll(f.Tracks, heard),
		library.KindPlaylist: core.ViewAll(f.Playlists, func(l library.StoredPlaylist) ui.Item {
			return playlistItem(ctx, l, label(l.Connection))
		}),
		library.KindListen: music.Items(ctx, rows),
	}
	p.group(ctx, q, items)
	return nil
}

// group sorts the results into groups, and says how many there are.
func (p *pageView) group(ctx context.Context, q library.Search, items map[string][]ui.Item) {
	total, more := 0, false
	for _, kind := range kinds {
		all := items[kind]
		g := group{Kind: kind, Items: all[:min(len(all), q.Most)]}
		if len(all) > q.Most {
			more = true
			if q.Kind == "" {
				g.More = &ui.Link{URL: addressOf(q.Text, kind), Label: words.Each("search.more.", kind).T(ctx)}
			}
		}
		if len(g.Items) > 0 {
			p.Groups = append(p.Groups, g)
		}
		total += len(g.Items)
	}
	switch text := strings.ToValidUTF8(q.Text[:min(len(q.Text), shownText)], ""); {
	case total > 0 && more:
		p.Count = words.T(ctx, "search.best", "Count", total)
	case total > 0:
		p.Count = words.T(ctx, "search.count", "Count", total)
	case text != "":
		p.None = words.T(ctx, "search.none", "Text", text)
	}
}

// itemOf returns the row of an artist, an album or a track.
func itemOf(ctx context.Context, one library.Heard, picture ui.Picture) ui.Item {
	id := one.Kind + "-" + strconv.FormatInt(one.ID, 10)
	i := ui.Item{ID: id, Picture: &picture, At: one.LastHeard,
		Title: ui.Named{Text: one.Name(), URL: "/music/" + strings.Replace(id, "-", "/", 1)},
		Note:  words.T(ctx, "search.plays", "Count", one.Plays)}
	if one.Kind != library.KindArtist {
		i.By = []ui.Named{{Text: one.Artist}}
	}
	return i
}

func playlistItem(ctx context.Context, p library.StoredPlaylist, from string) ui.Item {
	id := strconv.FormatInt(p.ID, 10)
	return ui.Item{ID: "playlist-" + id, Title: ui.Named{Text: p.Name, URL: "/playlists/" + id},
		By: []ui.Named{{Text: words.T(ctx, "playlists.tracks", "Count", p.TrackCount)}}, Tags: []string{from}}
}

// pictures returns the pictures of what was found, by id.
func (h *Handler) pictures(ctx context.Context, f library.Found) (map[int64]ui.Picture, error) {
	var all []library.Heard
	var tracks []library.Track
	for _, some := range [][]library.Heard{f.Artists, f.Albums, f.Tracks} {
		for _, one := range some {
			t := library.Track{Artist: one.Artist, Album: one.Album}
			switch one.Kind {
			case library.KindAlbum:
				t.Album = one.Title
			case library.KindTrack:
				t.Title = one.Title
			}
			all, tracks = append(all, one), append(tracks, t)
		}
	}
	links, err := h.rows.Links(ctx, tracks...)
	if err != nil {
		return nil, err
	}
	pictures := make(map[int64]ui.Picture, len(all))
	for i, one := range all {
		// The name beside it says what it shows.
		p := ui.Picture{Portrait: links[i].Portrait || one.Kind == library.KindArtist}
		if links[i].Picture != "" {
			p.URL = "/art/" + links[i].Picture
		}
		pictures[one.ID] = p
	}
	return pictures, nil
}
