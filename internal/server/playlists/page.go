package playlists

import (
	"context"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listView is the page of all playlists.
type listView struct {
	Playlists []ui.Item
	Pages     ui.Pages
	Next      []ui.Action // what to do without a playlist
}

// pageView is the page of a playlist.
type pageView struct {
	Head     ui.Heading
	CopyOf   string      // a sentence, if Reprise writes it from another one
	Original []ui.Action // the way to that one
	Copies   []copyCard
	Offer    *offerView // of copies; nil for none
	Tracks   []trackRow
	Pages    ui.Pages
	Files    []ui.Link // downloads in several formats
	Post     string    // address of the form about its address
	Address  addressView
	History  string // address of the page of its versions
	Recipe   string // address of its recipe; empty for a playlist of a service
}

// addressView has the addresses at which anybody can get a playlist.
type addressView struct {
	MadeAt time.Time // zero if it has none
	Forms  []ui.Link // empty if the addresses can't be shown
}

// offerView offers to copy a playlist to services.
type offerView struct {
	Asks    []string // sentences about services that first ask for a permission
	Actions []ui.Action
	Into    []ui.Link // to use an existing playlist instead of a new one
}

// trackRow is a track on the page of its playlist.
type trackRow struct {
	Position, Title, Artist, Album, Length string
	Gone                                   string // says that its video is gone, and when that was noticed
	Why                                    string // says why its recipe chose it
}

// overviewOf returns the page of all playlists, or of a part of them.
func overviewOf(ctx context.Context, all []Playlist, pages ui.Pages) listView {
	v := listView{Pages: pages,
		Next: []ui.Action{{Label: words.T(ctx, "playlists.connect"), URL: "/", Main: true}}}
	for _, p := range all {
		item := ui.Item{ID: "playlist-" + p.ID, Title: ui.Named{Text: p.Name, URL: "/playlists/" + p.ID},
			By:   []ui.Named{{Text: words.T(ctx, "playlists.tracks", "Count", p.TrackCount)}},
			From: []ui.Origin{{Provider: p.Provider, Name: p.From}}}
		if !p.Active {
			item.By = append(item.By, ui.Named{Text: words.T(ctx, "playlists.gone")})
		}
		if p.CopyOf != nil {
			item.Note = words.T(ctx, "playlists.copy_of", "Name", p.CopyName)
		}
		v.Playlists = append(v.Playlists, item)
	}
	return v
}

// pageOf returns the page of a playlist, with a part of its tracks.
func pageOf(ctx context.Context, p Playlist, tracks []Track, copies []Copy) pageView {
	args := []any{"Tracks", words.New("playlists.tracks", "Count", p.TrackCount), "Name", p.From}
	v := pageView{Head: ui.Heading{Title: p.Name, Lead: words.T(ctx, "playlists.lead", args...), Back: "/playlists",
		BackTo: words.T(ctx, "playlists.title")}}
	if !p.Active {
		v.Head.Lead = words.T(ctx, "playlists.lead_gone", args...)
	}
	v.Files, v.History = files(p.ID, ""), "/playlists/"+p.ID+"/history"
	if p.Connection == string(library.Recipes) {
		v.Head.Lead = words.T(ctx, "recipes.made", args...)
		v.Recipe = "/playlists/recipes/" + p.SourceID
	}
	if p.CopyOf != nil {
		v.CopyOf = words.T(ctx, "playlists.is_copy", "Name", p.CopyName)
		v.Original = []ui.Action{{Label: words.T(ctx, "playlists.original"), URL: "/playlists/" + *p.CopyOf}}
	}
	v.Post = "/playlists/" + p.ID + "/address"
	for _, c := range copies {
		if c.Enabled {
			v.Copies = append(v.Copies, cardOf(ctx, p.ID, c))
			continue
		}
		if v.Offer == nil {
			v.Offer = &offerView{}
		}
		v.Offer.add(ctx, p.ID, c)
	}
	for _, t := range tracks {
		v.Tracks = append(v.Tracks, rowOf(ctx, t))
	}
	return v
}

// add offers one more copy.
func (v *offerView) add(ctx context.Context, playlist string, c Copy) {
	do := ui.Action{Label: words.T(ctx, "playlists.copy_to", "Name", c.DisplayName), Post: copyPath(playlist, c),
		Fields: []ui.Hidden{{Name: "write", Value: "start"}}, DescribedBy: "offer"}
	if c.Consent != nil {
		v.Asks = append(v.Asks, words.T(ctx, "playlists.consent_lead", "Name", c.DisplayName))
		do = ui.Action{Label: words.T(ctx, "playlists.copy_ask", "Name", c.DisplayName), URL: *c.Consent}
	}
	v.Actions = append(v.Actions, do)
	if c.Consent == nil {
		v.Into = append(v.Into, ui.Link{Label: words.T(ctx, "playlists.into.link", "Name", c.DisplayName),
			URL: intoPath(playlist, c)})
	}
}

// rowOf returns the row of a track.
func rowOf(ctx context.Context, t Track) trackRow {
	row := trackRow{Position: strconv.Itoa(t.Position), Title: t.Track, Artist: t.Artist, Album: t.Album, Why: t.Why}
	if t.DurationMS != nil {
		row.Length = ui.Length(time.Duration(*t.DurationMS) * time.Millisecond)
	}
	if gone := t.Video.Gone(); gone != "" {
		row.Gone = words.Each("playlists.video_", gone, "Since", t.Video.GoneSince.Time).T(ctx)
	}
	return row
}

// pagesOf returns where a page is in a list, for its links.
func pagesOf(p core.Pager) ui.Pages {
	return ui.Pages{Page: p.Page, Pages: p.Pages, Before: p.Before, After: p.After}
}
