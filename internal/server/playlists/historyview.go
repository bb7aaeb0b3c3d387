package playlists

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/versions"
	"reprise/internal/words"
	"reprise/web/ui"
)

// historyView is the page of a playlist's versions.
type historyView struct {
	Head     ui.Heading
	Versions []ui.Item
}

// versionView is the page of a version.
type versionView struct {
	Head     ui.Heading
	With     ui.Field // what it is compared with
	At       string   // address of the form for that
	Lost     string   // says what was lost; empty for nothing
	Changes  []changeList
	Actions  []ui.Action
	Nowhere  string // says why it can't be restored anywhere
	Restored []copyCard
	Tracks   []trackRow
	Pages    ui.Pages
	Files    []ui.Link
}

// changeList are the tracks that a change concerns in one way.
type changeList struct {
	ID, Title string
	Open      bool // few enough to be shown at once
	Tracks    []ui.Item
}

// changed says how many tracks came, went and moved; empty if none did.
func changed(ctx context.Context, came, went, moved int) string {
	var all []string
	for _, part := range []struct {
		id    string
		count int
	}{{"added", came}, {"removed", went}, {"moved", moved}} {
		if part.count > 0 {
			all = append(all, words.Each("playlists.history.", part.id, "Count", part.count).T(ctx))
		}
	}
	return strings.Join(all, ", ")
}

func (h *Handler) historyPage(c echo.Context) error {
	p, id, err := h.one(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	all, err := h.store.Versions(ctx, core.UserOf(c).ID, id)
	if err != nil {
		return err
	}
	title := words.T(ctx, "playlists.history.of", "Name", p.Name)
	return h.core.Show(c, http.StatusOK, title, history(historyOf(ctx, p, all)))
}

func historyOf(ctx context.Context, p Playlist, all []library.PlaylistVersion) historyView {
	v := historyView{Head: ui.Heading{Title: words.T(ctx, "playlists.history.of", "Name", p.Name),
		Back: "/playlists/" + p.ID, BackTo: p.Name}}
	size, name := 0, p.Name
	for _, one := range all {
		size += one.Bytes
		item := ui.Item{ID: "version-" + strconv.Itoa(one.Number), At: one.Until, Kind: ui.At,
			Title: ui.Named{Text: changed(ctx, one.Came, one.Went, one.Moved), URL: pathOfVersion(p.ID, one.Number)},
			By:    []ui.Named{{Text: words.T(ctx, "playlists.history.before", "Count", one.TrackCount)}}}
		taken := ""
		if one.Lost.Taken {
			taken = words.T(ctx, "playlists.lost.taken", "Count", one.Lost.Songs, "Name", p.From)
		}
		renamed := ui.Named{Text: words.T(ctx, "playlists.history.renamed", "Name", one.Name)}
		switch moved := item.Title.Text != ""; {
		case one.Name != name && moved:
			item.By = append(item.By, renamed)
		case one.Name != name:
			item.Title.Text = renamed.Text
		case !moved:
			item.Title.Text = cmp.Or(taken, words.T(ctx, "playlists.history.details"))
		}
		if taken != "" && taken != item.Title.Text {
			item.By = append(item.By, ui.Named{Text: taken})
		}
		if one.Pinned {
			item.Note = words.T(ctx, "playlists.history.kept")
		}
		name = one.Name
		v.Versions = append(v.Versions, item)
	}
	v.Head.Lead = words.T(ctx, "playlists.history.none")
	if len(all) > 0 {
		v.Head.Lead = words.T(ctx, "playlists.history.lead", "Count", len(all), "Size", (size+1023)/1024)
	}
	return v
}

// fewChanges is how many changed tracks are shown without being asked for, and mostChanges how many at all.
const fewChanges, mostChanges = 25, 500

func (h *Handler) versionPage(c echo.Context) error {
	v, err := h.version(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.store.Versions(ctx, user, v.id)
	if err != nil {
		return err
	}
	after := next(all, v.at.Number)
	with, err := strconv.Atoi(c.QueryParam("with")) // without a number, what it is like now
	if err != nil && v.at.Lost.Songs > 0 {
		with = after // what was lost is among the changes
	}
	changes, err := h.changes(c, v, with)
	if err != nil {
		return err
	}
	lost, err := h.lost(c, v, after)
	if err != nil {
		return err
	}
	pager, err := core.PagerOf(c, len(v.tracks), atOnce)
	if err != nil {
		return err
	}
	targets, err := h.targets(ctx, user)
	if err != nil {
		return err
	}
	restored, err := h.restored(ctx, v, targets)
	if err != nil {
		return err
	}
	zone := core.Zone(c)
	at := pathOfVersion(v.list.ID, v.at.Number)
	title := words.T(ctx, "playlists.history.title", "List", v.at.Name, "Day", words.Day(v.at.Until.In(zone)))
	page := versionView{At: at, Pages: pagesOf(pager), Head: ui.Heading{Title: title,
		Lead: words.T(ctx, "playlists.history.span", "Tracks", words.New("playlists.tracks", "Count", v.at.TrackCount),
			"Since", v.at.Since, "Until", v.at.Until),
		Back:   "/playlists/" + v.list.ID + "/history",
		BackTo: words.T(ctx, "playlists.history.of", "Name", v.list.Name)}}
	page.With = withOf(ctx, v, all, with, zone)
	page.Lost = lost.say(ctx, v, words.Day(v.at.Until.In(zone)))
	page.Changes = changesOf(ctx, v, changes, lost)
	page.offer(ctx, v, targets, h.copies, lost)
	for _, one := range restored {
		card := copyCard{ID: one.Connection,
			Title: words.T(ctx, "playlists.history.restored", "Name", one.DisplayName)}
		card.state(ctx, one)
		card.report(ctx, one)
		page.Restored = append(page.Restored, card)
	}
	for i, t := range v.tracks[pager.Offset():min(pager.Offset()+atOnce, len(v.tracks))] {
		row := rowOf(ctx, Track{Position: pager.Offset() + i + 1, ListedTrack: viewListed(t)})
		page.Tracks = append(page.Tracks, row)
	}
	page.Files = files(v.list.ID, "?version="+strconv.Itoa(v.at.Number))
	return h.core.Show(c, http.StatusOK, title, version(page))
}

// withOf returns the field for what a version is compared with.
func withOf(ctx context.Context, v found, all []library.PlaylistVersion, with int, zone *time.Location) ui.Field {
	f := ui.Field{Name: "with", ID: "with", Label: words.T(ctx, "playlists.history.compare"),
		Value: strconv.Itoa(with), Options: []ui.Option{{Value: "0", Label: words.T(ctx, "playlists.history.now")}}}
	for _, one := range all {
		if one.Number != v.at.Number {
			f.Options = append(f.Options, ui.Option{Value: strconv.Itoa(one.Number), Label: words.T(ctx,
				"playlists.history.option", "Day", words.Day(one.Until.In(zone)), "Count", one.TrackCount)})
		}
	}
	return f
}

// changesOf returns the lists of tracks that differ.
func changesOf(ctx context.Context, v found, c versions.Changes, lost losses) (all []changeList) {
	var listed []library.Track
	if lost.listed {
		listed = lost.tracks
	}
	for _, part := range []struct {
		id     string
		title  words.Text
		tracks []library.Track
	}{
		{"lost", words.New("playlists.lost.taken", "Count", len(listed), "Name", v.list.From), listed},
		{"added", words.New("playlists.history.added", "Count", len(c.Came)), c.Came},
		{"removed", words.New("playlists.history.removed", "Count", len(c.Went)), c.Went},
		{"moved", words.New("playlists.history.moved", "Count", len(c.Moved)), c.Moved},
	} {
		if len(part.tracks) == 0 {
			continue
		}
		l := changeList{ID: "changes-" + part.id, Open: len(part.tracks) <= fewChanges, Title: part.title.T(ctx)}
		for _, t := range part.tracks[:min(len(part.tracks), mostChanges)] {
			item := ui.Item{Title: ui.Named{Text: t.Title}, By: []ui.Named{{Text: t.Artist}}}
			if lost.has(t) {
				item.Note = words.T(ctx, "playlists.lost.here_mark")
			}
			l.Tracks = append(l.Tracks, item)
		}
		all = append(all, l)
	}
	return all
}

// offer adds what can be done with a version, the main action first.
func (p *versionView) offer(ctx context.Context, v found, targets []library.Connection, copies *copies,
	lost losses) {
	main := copies.best(v, targets, lost)
	pin := ui.Action{Label: words.T(ctx, "playlists.history.pin"), Post: p.At + "/pin",
		Fields: []ui.Hidden{{Name: "pinned", Value: "yes"}}}
	if v.at.Pinned {
		pin.Label, pin.Fields = words.T(ctx, "playlists.history.unpin"), []ui.Hidden{{Name: "pinned", Value: "no"}}
	}
	for _, to := range targets {
		name, at := copies.label(to), p.At+"/restore/"+string(to.ID)
		do := ui.Action{Label: words.T(ctx, "playlists.history.copy", "Name", name), Post: at, Main: to.ID == main}
		switch {
		case !copies.mayWrite(to):
			do = ui.Action{Label: words.T(ctx, "playlists.consent", "Name", name),
				URL: connections.AllowPath(to.ID, providers.WritePlaylists, p.At)}
		case string(to.ID) == v.list.Connection: // what is there is replaced
			do.Label, do.Post, do.URL = words.T(ctx, "playlists.history.restore", "Name", name), "", at
		}
		if do.Main {
			p.Actions = slices.Insert(p.Actions, 0, do)
		} else {
			p.Actions = append(p.Actions, do)
		}
	}
	if len(targets) == 0 {
		p.Nowhere = words.T(ctx, "playlists.history.nowhere")
	}
	p.Actions = append(p.Actions, pin)
}

// files are the downloads of a playlist in several formats; query says which version.
func files(playlist, query string) (all []ui.Link) {
	for _, form := range []string{"JSPF", "XSPF", "M3U8", "CSV"} {
		all = append(all, ui.Link{Label: form,
			URL: "/api/v1/export/playlists/" + playlist + "." + strings.ToLower(form) + query})
	}
	return all
}
