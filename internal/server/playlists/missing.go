package playlists

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// MissingAlbum is an album with songs of a person's playlists that a library doesn't have.
type MissingAlbum struct {
	Artist string         `json:"artist"`
	Album  string         `json:"album" doc:"Empty for songs whose album nobody knows."`
	Songs  []MissingTrack `json:"songs"`
}

// MissingTrack is one of those songs.
type MissingTrack struct {
	Track     string   `json:"track"`
	Artist    string   `json:"artist"`
	Playlists []string `json:"playlists" doc:"The names of the playlists that have it."`
}

// Missing are the songs of all playlists copied to a library that it doesn't have.
type Missing struct {
	Songs  int            `json:"songs" minimum:"0"`
	Albums []MissingAlbum `json:"albums" doc:"Those that would bring the most songs first."`
}

// missingAPI adds the routes of the API.
func (h *Handler) missingAPI(a *core.API) {
	core.Get(a, "/connections/{id}/missing", h.listMissing, core.Call{
		ID:      "listMissing",
		Summary: "Songs of your playlists that a library doesn't have, by album",
		Answer:  "What the copies to this connection could not find when they were written last.",
	})
	core.Get(a, "/connections/{id}/missing.csv", h.missingTable, core.Call{
		ID:      "exportMissing",
		Summary: "The same as a table",
		Answer:  "The file.",
		Types:   []string{"text/csv"},
	})
}

// missing returns what the copies to a connection could not find.
func (h *Handler) missing(ctx context.Context, user int64, conn library.ConnectionID) (m Missing, err error) {
	copies, err := h.store.Copies(ctx, user, delivery.WritePlaylist)
	if err != nil {
		return m, err
	}
	var keys []string // of the songs, in the order in which they were found
	songs, albums := map[string]*MissingTrack{}, map[string]string{}
	for _, c := range copies {
		id, err := strconv.ParseInt(c.Ref, 10, 64)
		var report delivery.Report
		if c.Connection != conn || err != nil || json.Unmarshal([]byte(c.Report), &report) != nil {
			continue // to another one, of an earlier version, or not written yet
		}
		list, tracks, err := h.store.Playlist(ctx, user, id)
		if err != nil {
			return m, err
		}
		for _, t := range tracks {
			key := delivery.SongKey(t.Title, t.Artist)
			albums[key] = cmp.Or(albums[key], t.Album)
		}
		for _, t := range report.Tracks {
			if t.How != match.ByNothing {
				continue
			}
			key := delivery.SongKey(t.Title, t.Artist)
			if songs[key] == nil {
				songs[key] = &MissingTrack{Track: t.Title, Artist: t.Artist}
				keys = append(keys, key)
			}
			if lists := songs[key].Playlists; !slices.Contains(lists, list.Name) {
				songs[key].Playlists = append(lists, list.Name)
			}
		}
	}
	return byAlbum(keys, songs, albums), nil
}

// byAlbum groups songs by their albums, those that would bring the most first.
func byAlbum(keys []string, songs map[string]*MissingTrack, albums map[string]string) Missing {
	m, places := Missing{Songs: len(keys), Albums: []MissingAlbum{}}, map[string]int{}
	for _, key := range keys {
		song, album := songs[key], albums[key]
		name := strings.ToLower(song.Artist + "\x00" + album)
		place, known := places[name]
		if !known {
			place = len(m.Albums)
			places[name] = place
			m.Albums = append(m.Albums, MissingAlbum{Artist: song.Artist, Album: album})
		}
		m.Albums[place].Songs = append(m.Albums[place].Songs, *song)
	}
	slices.SortStableFunc(m.Albums, func(a, b MissingAlbum) int {
		return cmp.Or(cmp.Compare(len(b.Songs), len(a.Songs)), cmp.Compare(a.Artist, b.Artist),
			cmp.Compare(a.Album, b.Album))
	})
	return m
}

func (h *Handler) listMissing(c echo.Context, _ *core.ConnectionID) (out Missing, _ error) {
	conn, _, err := h.core.Connection(c)
	if err != nil {
		return out, err
	}
	return h.missing(c.Request().Context(), core.UserOf(c).ID, conn)
}

func (h *Handler) missingTable(c echo.Context, _ *core.ConnectionID) (out core.Sent[core.None], _ error) {
	conn, _, err := h.core.Connection(c)
	if err != nil {
		return out, err
	}
	m, err := h.missing(c.Request().Context(), core.UserOf(c).ID, conn)
	if err != nil {
		return out, err
	}
	sheet := export.Sheet{Name: "missing", Heading: []string{"artist", "album", "track", "playlists"},
		Rows: func(yield func([]string, error) bool) {
			for _, a := range m.Albums {
				for _, t := range a.Songs {
					if !yield([]string{t.Artist, a.Album, t.Track, strings.Join(t.Playlists, ", ")}, nil) {
						return
					}
				}
			}
		}}
	return out, h.core.Download(c, export.SheetType, "missing.csv", func(w io.Writer) error {
		_, err := sheet.Write(w)
		return err
	})
}

// missingView is the page of what a library doesn't have.
type missingView struct {
	Head   ui.Heading
	Albums []ui.Item
	File   *ui.Action // nil if nothing is missing
}

// mostAlbums is how many albums the page shows.
const mostAlbums = 250

func (h *Handler) missingPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	conn, _, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	m, err := h.missing(ctx, user, conn)
	if err != nil {
		return err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	name := label(conn)
	v := missingView{Head: ui.Heading{Title: words.T(ctx, "missing.title", "Name", name),
		Lead: words.T(ctx, "missing.none", "Name", name), Back: "/playlists", BackTo: words.T(ctx, "playlists.title")}}
	if m.Songs > 0 {
		v.Head.Lead = leadOf(ctx, m)
		v.File = &ui.Action{Label: words.T(ctx, "missing.download"),
			URL: "/api/v1/connections/" + string(conn) + "/missing.csv"}
	}
	for i, a := range m.Albums[:min(len(m.Albums), mostAlbums)] {
		var titles []string
		for _, t := range a.Songs {
			titles = append(titles, t.Track)
		}
		v.Albums = append(v.Albums, ui.Item{ID: "album-" + strconv.Itoa(i+1),
			Title: ui.Named{Text: cmp.Or(a.Album, words.T(ctx, "missing.no_album"))}, By: []ui.Named{{Text: a.Artist}},
			Note: words.T(ctx, "missing.songs", "Count", len(a.Songs), "Songs", strings.Join(titles, ", "))})
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, missingSongs(v))
}

// few is how many albums the lead names.
const few = 5

// leadOf says how much the few albums would bring that would bring the most.
func leadOf(ctx context.Context, m Missing) string {
	brought, albums := 0, 0
	for _, a := range m.Albums {
		if a.Album != "" && albums < few {
			albums++
			brought += len(a.Songs)
		}
	}
	lead := words.T(ctx, "missing.lead", "Count", m.Songs)
	if albums > 1 {
		lead += " " + words.T(ctx, "missing.albums", "Count", brought, "Albums", albums)
	}
	return lead
}
