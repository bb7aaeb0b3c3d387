package loves

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const path = "/loved"

// pageView is the page of loved tracks.
type pageView struct {
	Head     ui.Heading
	Fields   []ui.Field // of the filter; none if there is nothing to filter
	Filtered bool
	Items    []ui.Item
	Pages    ui.Pages
	Services *ui.Grid
	Say      string // about the services
}

// atOnce is how many tracks a page shows.
const atOnce = 100

func (h *Handler) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	in := allRequest{Text: strings.TrimSpace(c.QueryParam("q")), Hated: c.QueryParam("hated") != "",
		At: c.QueryParam("at"), NotAt: c.QueryParam("not_at")}
	at, err := strconv.Atoi(c.QueryParam("page"))
	if err != nil || at < 1 {
		at = 1
	}
	all, total, err := h.store.Loves(ctx, in.filter(user), (at-1)*atOnce, atOnce)
	if err != nil {
		return err
	}
	v := pageView{Head: ui.Heading{Title: words.T(ctx, "loves.title"), Lead: words.T(ctx, "loves.lead", "Count", total),
		Back: "/listens", BackTo: words.T(ctx, "listens.title")},
		Filtered: in.Text != "" || in.Hated || in.At != "" || in.NotAt != "",
		Pages:    ui.Pages{Page: at, Pages: (total + atOnce - 1) / atOnce}}
	if v.Items, err = h.items(ctx, all); err != nil {
		return err
	}
	services, err := h.list(c)
	if err != nil {
		return err
	}
	v.fill(ctx, in, total, services)
	return h.core.Show(c, http.StatusOK, v.Head.Title, lovedTracks(v))
}

// fill adds what the page says, its filter, and its services.
func (v *pageView) fill(ctx context.Context, in allRequest, total int, services []LoveService) {
	switch {
	case total == 0 && v.Filtered:
		v.Head.Lead = words.T(ctx, "loves.none_such")
	case total == 0:
		v.Head.Lead = words.T(ctx, "loves.none")
	case in.Hated:
		v.Head.Lead = words.T(ctx, "loves.hated", "Count", total)
	}
	if total > 0 || v.Filtered {
		v.Fields = filterOf(ctx, in, services)
	}
	query := url.Values{}
	for name, value := range map[string]string{"q": in.Text, "at": in.At, "not_at": in.NotAt} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if in.Hated {
		query.Set("hated", "yes")
	}
	to := func(n int) string { query.Set("page", strconv.Itoa(n)); return path + "?" + query.Encode() }
	if v.Pages.Page > 1 {
		v.Pages.Before = to(v.Pages.Page - 1)
	}
	if v.Pages.Page < v.Pages.Pages {
		v.Pages.After = to(v.Pages.Page + 1)
	}
	if v.Say = words.T(ctx, "loves.services.none"); len(services) > 0 {
		v.Say, v.Services = words.T(ctx, "loves.services.lead"), tableOf(ctx, services)
	}
}

// filterOf returns the fields of the filter.
func filterOf(ctx context.Context, in allRequest, services []LoveService) []ui.Field {
	hated := ui.Field{Name: "hated", Type: "checkbox", Label: words.T(ctx, "loves.filter.hated")}
	if in.Hated {
		hated.Value, hated.Checked = "yes", true
	}
	fields := []ui.Field{{Name: "q", Type: "search", Label: words.T(ctx, "loves.filter.text"), Value: in.Text}}
	options := []ui.Option{{Label: words.T(ctx, "loves.filter.any")}}
	for _, s := range services {
		if s.Reads {
			options = append(options, ui.Option{Value: s.Connection, Label: s.Name})
		}
	}
	if len(options) > 1 {
		fields = append(fields,
			ui.Field{Name: "at", Label: words.T(ctx, "loves.filter.at"), Value: in.At, Options: options},
			ui.Field{Name: "not_at", Label: words.T(ctx, "loves.filter.not_at"), Value: in.NotAt, Options: options})
	}
	return append(fields, hated)
}

// items returns tracks as rows of a list.
func (h *Handler) items(ctx context.Context, all []library.Love) ([]ui.Item, error) {
	links, err := h.rows.Links(ctx, core.ViewAll(all, func(v library.Love) library.Track {
		return library.Track{Title: v.Title, Artist: v.Artist}
	})...)
	if err != nil {
		return nil, err
	}
	items := make([]ui.Item, len(all))
	for i, one := range all {
		picture := ui.Picture{Portrait: links[i].Portrait}
		if links[i].Picture != "" {
			picture.URL = "/art/" + links[i].Picture
		}
		items[i] = ui.Item{Picture: &picture,
			Title: ui.Named{Text: one.Title, URL: pageOf(library.KindTrack, links[i].Track)},
			By:    []ui.Named{{Text: one.Artist, URL: pageOf(library.KindArtist, links[i].Artist)}}, At: one.At}
	}
	return items, nil
}

func pageOf(kind string, id int64) string {
	if id == 0 {
		return ""
	}
	return "/music/" + kind + "/" + strconv.FormatInt(id, 10)
}

// tableOf returns what each service has.
func tableOf(ctx context.Context, services []LoveService) *ui.Grid {
	g := &ui.Grid{Class: "services", Columns: []string{words.T(ctx, "loves.services.name"),
		words.T(ctx, "loves.services.loved"), words.T(ctx, "loves.services.state")}}
	for _, s := range services {
		loved := "–"
		if s.Reads || s.Kept {
			loved = words.From(ctx).Number(s.Loved)
		}
		g.Rows = append(g.Rows, ui.Line{ID: "at-" + s.Connection, Cells: []templ.Component{
			ui.Linked(ui.Named{Text: s.Name, URL: path + "/at/" + s.Connection}), ui.Name(loved),
			ui.Name(stateOf(ctx, s))}})
	}
	return g
}

// stateOf says what is between a service and what its person loves, in a few words.
func stateOf(ctx context.Context, s LoveService) string {
	switch {
	case s.Gone > 0:
		return words.T(ctx, "loves.state.gone", "Count", s.Gone)
	case s.Note != "":
		return words.T(ctx, "loves.state.closed")
	case s.Kept && s.Sending > 0:
		return words.T(ctx, "loves.state.sending", "Count", s.Sending)
	case s.Kept && s.Reads:
		return words.T(ctx, "loves.state.same")
	case s.Kept:
		return words.T(ctx, "loves.state.told")
	case s.Reads && s.ReadAt.IsZero():
		return words.T(ctx, "loves.state.unread")
	case s.Reads && s.Takes:
		return words.T(ctx, "loves.state.could")
	case s.Reads:
		return words.T(ctx, "loves.state.read")
	}
	return words.T(ctx, "loves.state.untold")
}

// serviceView is the page of a service.
type serviceView struct {
	Head    ui.Heading
	Says    []string
	Actions []ui.Action
	Gone    []ui.Item
	Decide  []ui.Action
	Refused []ui.Item
	Lead    string // above what is refused
}

func (h *Handler) servicePage(c echo.Context) error {
	s, err := h.find(c)
	if err != nil {
		return err
	}
	ctx, user, id := c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(s.Connection)
	v := serviceView{Head: ui.Heading{Title: words.T(ctx, "loves.at", "Name", s.Name), Back: path,
		BackTo: words.T(ctx, "loves.title")}}
	v.says(ctx, s)
	if p := h.core.Registry.Get(id.Provider()); s.Note != "" && p != nil && p.OAuth != nil {
		v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "alert.action.reconnect"),
			URL: "/connect/" + s.Connection, Main: true})
	}
	gone, err := h.store.GoneLoves(ctx, user, id)
	if err != nil {
		return err
	}
	refused, err := h.store.LovesRefused(ctx, user, id)
	if err != nil {
		return err
	}
	for _, one := range gone {
		v.Gone = append(v.Gone, ui.Item{Title: ui.Named{Text: one.Title}, By: []ui.Named{{Text: one.Artist}}})
	}
	at := path + "/at/" + s.Connection
	if len(gone) > 0 {
		v.Decide = []ui.Action{
			{Label: words.T(ctx, "loves.decide.keep"), Post: at + "/decide", Main: true,
				Fields: []ui.Hidden{{Name: "decision", Value: stay}}},
			{Label: words.T(ctx, "loves.decide.follow", "Count", len(gone)), Post: at + "/decide", Warn: true,
				Fields: []ui.Hidden{{Name: "decision", Value: follow}}}}
	}
	for _, one := range refused {
		v.Refused = append(v.Refused, ui.Item{Title: ui.Named{Text: one.Title}, By: []ui.Named{{Text: one.Artist}},
			Note: one.Refused.T(ctx)})
	}
	if len(refused) > 0 {
		v.Lead = words.T(ctx, "loves.refused", "Name", s.Name, "Count", len(refused))
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, service(v))
}

// says adds what is between the service and its person, and what can be done.
func (v *serviceView) says(ctx context.Context, s LoveService) {
	say := func(id string, args ...any) {
		v.Says = append(v.Says, words.Each("loves.says.", id, append([]any{"Name", s.Name}, args...)...).T(ctx))
	}
	at := path + "/at/" + s.Connection
	switch {
	case s.Note != "":
		v.Says = append(v.Says, s.Note)
	case s.Reads && s.ReadAt.IsZero():
		say("unread")
	case s.Reads:
		say("reads", "Count", s.Loved)
	}
	if s.Gone > 0 {
		say("gone", "Count", s.Gone)
	}
	switch {
	case s.Note != "" && !s.Kept:
	case !s.Takes:
		say("cannot")
	case s.Kept:
		if say("kept"); s.Consent != nil { // the permission was taken back
			say("asks")
			v.Actions = append(v.Actions,
				ui.Action{Label: words.T(ctx, "playlists.consent", "Name", s.Name), URL: *s.Consent, Main: true})
		}
		if s.Sending > 0 {
			say("sending", "Count", s.Sending)
		}
		if s.Refused > 0 {
			v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "loves.again"), Post: at + "/keep"})
		}
		v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "loves.leave"), Post: at + "/leave"})
	default:
		if s.Reads {
			say("would", "Count", s.Sending)
		} else {
			say("would_tell")
		}
		keep := ui.Action{Label: words.T(ctx, "loves.keep"), Post: at + "/keep", Main: true}
		if s.Consent != nil {
			say("asks")
			keep = ui.Action{Label: words.T(ctx, "loves.keep_ask"), URL: *s.Consent, Main: true}
		}
		v.Actions = append(v.Actions, keep)
	}
}

func (h *Handler) keepForm(c echo.Context) error {
	if err := h.keep(c); err != nil {
		return err
	}
	return h.core.Done(c, path+"/at/"+c.Param("id"), words.New("loves.said_keep"))
}

func (h *Handler) leaveForm(c echo.Context) error {
	if err := h.leave(c); err != nil {
		return err
	}
	return h.core.Done(c, path+"/at/"+c.Param("id"), words.New("loves.said_leave"))
}

func (h *Handler) decideForm(c echo.Context) error {
	decision := c.FormValue("decision")
	n, err := h.decide(c, decision)
	if err != nil {
		return err
	}
	said := words.New("loves.said_stay", "Count", n)
	if decision == follow {
		said = words.New("loves.said_follow", "Count", n)
	}
	return h.core.Done(c, path+"/at/"+c.Param("id"), said)
}

// namedForm loves a track that its person may not have heard yet, by its names.
func (h *Handler) namedForm(c echo.Context) error {
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	one := library.Love{Title: strings.TrimSpace(library.Name(form.Get("title"))),
		Artist: strings.TrimSpace(library.Name(form.Get("artist"))), Score: library.Loved, At: time.Now()}
	if one.Title == "" || one.Artist == "" {
		return core.BadRequest(words.New("loves.unnamed"), words.New("loves.unnamed_text"))
	}
	if err := h.store.SaveLove(c.Request().Context(), core.UserOf(c).ID, one); err != nil {
		return err
	}
	return h.core.Done(c, path, words.New("loves.said", "Track", one.Title))
}
