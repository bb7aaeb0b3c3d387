package corrections

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// rulesPages adds the routes of the pages for correcting artists, albums and tracks.
func (h *Handler) rulesPages(g *echo.Group) {
	const one = "/music/:kind/:id/"
	g.GET(one+"rename", h.renamePage, core.MustBeAdmin)
	g.POST(one+"rename", h.renameForm, core.MustBeAdmin)
	g.GET(one+"merge", h.mergePage, core.MustBeAdmin)
	g.POST(one+"merge", h.mergeForm, core.MustBeAdmin)
	g.GET(one+"split", h.dividePage, core.MustBeAdmin)
	g.POST(one+"split", h.divideForm, core.MustBeAdmin)
	g.GET(one+"picture", h.picturePage, core.MustBeAdmin)
	g.POST(one+"picture", h.pictureForm, core.MustBeAdmin)
}

// subject is the artist, the album or the track that a page corrects.
type subject struct {
	library.Heard
	page   string // its address
	chosen string // its picture, if an administrator has chosen it
	told   []enrich.Told
}

// subject returns the subject of a request, if its person has heard it.
func (h *Handler) subject(c echo.Context) (v subject, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return v, err
	}
	m, err := h.store.Music(c.Request().Context(), core.UserOf(c).ID, c.Param("kind"), id)
	v.Heard = library.Heard{ID: m.ID, Entity: m.Entity, Plays: m.Plays}
	v.page, v.chosen, v.told = pageOf(m.Kind, m.ID), m.Chosen, m.Told
	return v, err
}

// pageOf returns the address of the page of an artist, an album or a track.
func pageOf(kind string, id int64) string { return "/music/" + kind + "/" + strconv.FormatInt(id, 10) }

func (h *Handler) renamePage(c echo.Context) error {
	v, err := h.subject(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	title := words.T(ctx, "rules.rename_this", "Name", v.Name())
	return h.core.Show(c, http.StatusOK, title, rulePage(ruleView{Title: title, Back: v.page, BackTo: v.Name(),
		Lead: words.T(ctx, "rules.for_all"), Forms: []ui.Form{renameForm(ctx, v)}}))
}

func renameForm(ctx context.Context, v subject) ui.Form {
	return ui.Form{ID: "rename", Post: v.page + "/rename", Submit: words.T(ctx, "rules.rename"), Main: true,
		Cancel: v.page, Fields: []ui.Field{{Name: "name", Label: words.T(ctx, "rules.name"), Value: v.Name(),
			Required: true, Autofocus: true, Exact: true, MaxLength: strconv.Itoa(longestName)}}}
}

func (h *Handler) renameForm(c echo.Context) error {
	made, err := h.rename(c, c.Param("kind"), c.FormValue("name"))
	if err != nil {
		return err
	}
	return h.done(c, pageOf(made.About, made.Of), words.New("rules.renamed"), made)
}

// ruleView is a page for one correction.
type ruleView struct {
	Title, Lead  string
	Back, BackTo string
	Forms        []ui.Form
	Search       *mergeSearch
	Parts        []parting
}

// mergeSearch is the search for the artist, the album or the track to keep.
type mergeSearch struct {
	Action, Text string
	Count        string
	Items        []ui.Item
}

// parting is a form with one way to split, in which some items of lists are selected.
type parting struct {
	ID, Title, Lead, Post string
	Days                  []ui.Day // lists of items
	Fields                []ui.Field
	Hidden                []ui.Hidden
	Submit                string
}

// mostOffered caps the results of a search for the one to keep.
const mostOffered = 12

// mergePage shows the search for the one to keep or, with "into", asks to confirm the merge.
func (h *Handler) mergePage(c echo.Context) error {
	v, err := h.subject(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if into := c.QueryParam("into"); into != "" {
		e, err := h.effect(c, v.Kind, into)
		if err != nil {
			return err
		}
		d := askMerge(ctx, e)
		return h.core.Show(c, http.StatusOK, d.Title, ui.Ask(d))
	}
	text := strings.TrimSpace(c.QueryParam("q"))
	asked := text
	if asked == "" {
		asked = v.Name() // the one to keep usually has a similar name
	}
	found, err := h.store.Search(ctx, library.Search{User: core.UserOf(c).ID, Text: asked, Kind: v.Kind,
		Most: mostOffered + 1})
	if err != nil {
		return err
	}
	page := mergeViewOf(ctx, v, text, slices.Concat(found.Artists, found.Albums, found.Tracks))
	return h.core.Show(c, http.StatusOK, page.Title, rulePage(page))
}

// mergeViewOf returns the page with the search for the one to keep.
func mergeViewOf(ctx context.Context, v subject, text string, found []library.Heard) ruleView {
	title := words.T(ctx, "rules.merge_this", "Name", v.Name())
	s := &mergeSearch{Action: v.page + "/merge", Text: text}
	for _, one := range found {
		if one.ID == v.ID || len(s.Items) == mostOffered {
			continue
		}
		i := ui.Item{ID: one.Kind + "-" + strconv.FormatInt(one.ID, 10), Note: words.T(ctx, "search.plays",
			"Count", one.Plays), Title: ui.Named{Text: one.Name(),
			URL: s.Action + "?into=" + strconv.FormatInt(one.ID, 10)}}
		if one.Kind != library.KindArtist {
			i.By = []ui.Named{{Text: one.Artist}}
		}
		s.Items = append(s.Items, i)
	}
	switch {
	case len(s.Items) > 0:
		s.Count = words.T(ctx, "rules.found", "Count", len(s.Items))
	case text != "":
		s.Count = words.T(ctx, "rules.found_none")
	}
	return ruleView{Title: title, Lead: words.Each("rules.merge_lead.", v.Kind).T(ctx), Back: v.page, BackTo: v.Name(),
		Search: s}
}

// askMerge asks to confirm a merge, and describes its effect.
func askMerge(ctx context.Context, e library.Effect) ui.Dialog {
	from, into := e.From.Name(), e.Into.Name()
	d := ui.Dialog{Title: words.T(ctx, "rules.ask_merge", "From", from, "Into", into),
		Lead:  words.T(ctx, "rules.for_all"),
		Facts: []string{words.T(ctx, "rules.merge_listens", "Count", e.From.Plays, "Into", into)},
		Back:  pageOf(e.From.Kind, e.From.ID),
		Do: ui.Action{ID: "merge", Label: words.T(ctx, "rules.merge"), Main: true,
			Post:   pageOf(e.From.Kind, e.From.ID) + "/merge",
			Fields: []ui.Hidden{{Name: "into", Value: strconv.FormatInt(e.Into.ID, 10)}}}}
	if e.Albums > 0 {
		d.Facts = append(d.Facts, words.T(ctx, "rules.merge_albums", "Count", e.Albums))
	}
	if e.Tracks > 0 {
		d.Facts = append(d.Facts, words.T(ctx, "rules.merge_tracks", "Count", e.Tracks))
	}
	return d
}

func (h *Handler) mergeForm(c echo.Context) error {
	into := c.FormValue("into")
	made, err := h.merge(c, c.Param("kind"), into)
	if err != nil {
		return err
	}
	return h.done(c, "/music/"+made.About+"/"+into, words.New("rules.merged"), made)
}

func (h *Handler) dividePage(c echo.Context) error {
	v, err := h.subject(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	page := ruleView{Title: words.T(ctx, "rules.split_this", "Name", v.Name()), Lead: words.T(ctx, "rules.for_all"),
		Back: v.page, BackTo: v.Name()}
	if v.Kind == library.KindArtist {
		albums, tracks, err := h.store.Works(ctx, user, v.ID)
		if err != nil {
			return err
		}
		page.divideArtist(ctx, v, albums, tracks)
	} else {
		all, err := h.store.Written(ctx, user, v.Kind, v.ID)
		if err != nil {
			return err
		}
		page.divideWritten(ctx, v, all)
	}
	return h.core.Show(c, http.StatusOK, page.Title, rulePage(page))
}

// divideArtist adds the two ways to split an artist.
func (p *ruleView) divideArtist(ctx context.Context, v subject, albums, tracks []library.Heard) {
	p.Parts = []parting{{ID: "several", Title: words.T(ctx, "rules.several"), Lead: words.T(ctx, "rules.several_lead"),
		Post: v.page + "/split", Submit: words.T(ctx, "rules.split"), Fields: []ui.Field{{Name: "names",
			Label: words.T(ctx, "rules.names"), Value: v.Name(), Lines: 3, Required: true, Exact: true}}}}
	another := parting{ID: "another", Title: words.T(ctx, "rules.another"), Lead: words.T(ctx, "rules.another_lead"),
		Post: v.page + "/split", Submit: words.T(ctx, "rules.split"), Fields: []ui.Field{{Name: "name",
			Label: words.T(ctx, "rules.another_name"), Value: "", Required: true, Exact: true,
			Placeholder: v.Name() + " (2)"}}}
	for _, list := range []struct {
		name, title string
		all         []library.Heard
	}{{"album", words.T(ctx, "search.heading.album"), albums},
		{"track", words.T(ctx, "search.heading.track"), tracks}} {
		if len(list.all) == 0 {
			continue
		}
		day := ui.Day{ID: "leave-" + list.name, Title: list.title}
		for _, one := range list.all {
			day.Items = append(day.Items, ui.Item{Title: ui.Named{Text: one.Name()}, Note: words.T(ctx, "search.plays",
				"Count", one.Plays), Pick: &ui.Pick{Name: list.name, Value: strconv.FormatInt(one.ID, 10),
				Label: one.Name()}})
		}
		another.Days = append(another.Days, day)
	}
	p.Parts = append(p.Parts, another)
}

// divideWritten adds the titles that can be split off.
func (p *ruleView) divideWritten(ctx context.Context, v subject, all []library.Writing) {
	if len(all) < 2 {
		p.Lead = words.Each("rules.one_writing.", v.Kind).T(ctx)
		return
	}
	day := ui.Day{ID: "written", Title: words.T(ctx, "rules.written")}
	for _, w := range all {
		day.Items = append(day.Items, ui.Item{Title: ui.Named{Text: w.Title}, Note: words.T(ctx, "search.plays",
			"Count", w.Plays), Pick: &ui.Pick{Name: "title", Value: w.Title, Label: w.Title}})
	}
	p.Parts = []parting{{ID: "titles", Lead: words.Each("rules.written_lead.", v.Kind).T(ctx), Post: v.page + "/split",
		Submit: words.T(ctx, "rules.split"), Days: []ui.Day{day}}}
}

func (h *Handler) divideForm(c echo.Context) error {
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	in := division{Albums: form["album"], Tracks: form["track"], Name: form.Get("name"), Titles: form["title"]}
	for line := range strings.Lines(form.Get("names")) {
		if line = strings.TrimSpace(line); line != "" {
			in.Names = append(in.Names, line)
		}
	}
	made, err := h.divide(c, c.Param("kind"), in)
	if err != nil {
		return err
	}
	return h.done(c, pageOf(made.About, made.Of), words.New("rules.divided"), made)
}
