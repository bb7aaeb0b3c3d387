package corrections

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// chosen returns the listens that the query of a page selects, by numbers or by the filter of the page of listens; back
// leads there.
func chosen(c echo.Context) (v library.Selection, query url.Values, back string, err error) {
	if v.ListenFilter, query, err = music.Asked(c); err != nil {
		return v, nil, "", err
	}
	back = "/listens?" + query.Encode()
	if c.QueryParam("then") == "suspicious" {
		back = suspiciousPath
	}
	if texts := c.QueryParams()["listen"]; len(texts) > 0 {
		for _, text := range texts[:min(len(texts), mostIDs)] {
			id, err := core.Number(text)
			if err != nil {
				return v, nil, "", err
			}
			v.IDs = append(v.IDs, id)
		}
		v.ListenFilter = library.ListenFilter{User: v.User}
		return v, url.Values{"listen": texts}, back, nil
	}
	return v, query, back, nil
}

func (h *Handler) deletePage(c echo.Context) error {
	v, query, back, err := chosen(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if len(v.IDs) == 0 && len(query) == 0 {
		return h.core.Done(c, "/listens?select=1", words.New("corrections.choose_first"))
	}
	n, newest, err := h.store.CountSelected(ctx, v)
	if err != nil {
		return err
	}
	if n == 0 {
		return h.core.Done(c, back, words.New("corrections.nothing"))
	}
	held, err := h.holders(ctx, v)
	if err != nil {
		return err
	}
	query.Set("newest", strconv.FormatInt(newest, 10))
	if back == suspiciousPath {
		query.Set("then", "suspicious")
	}
	d := askDelete(ctx, n, v.Artist, query, held)
	d.Back = back
	return h.core.Show(c, http.StatusOK, d.Title, ui.Ask(d))
}

// askDelete asks whether n listens are deleted, which a query selects and some services told of; by an artist, unless
// that is empty.
func askDelete(ctx context.Context, n int, artist string, query url.Values, held []holder) ui.Dialog {
	title := words.T(ctx, "corrections.ask", "Count", n)
	if artist != "" {
		title = words.T(ctx, "corrections.ask_by", "Count", n, "Artist", artist)
	}
	facts := []string{words.T(ctx, "corrections.ask_kept"), words.T(ctx, "corrections.ask_sent")}
	facts = append(facts, stays(ctx, held)...)
	lead := words.T(ctx, "corrections.ask_lead")
	if deletable(held) {
		lead += " " + words.T(ctx, "corrections.ask_for_good")
	}
	return ui.Dialog{Title: title, Lead: lead, Facts: facts, Boxes: boxes(ctx, held),
		Do: ui.Action{Label: words.T(ctx, "corrections.delete", "Count", n), Warn: true,
			Post: "/listens/delete?" + query.Encode()}}
}

func (h *Handler) deleteForm(c echo.Context) error {
	v, _, back, err := chosen(c)
	if err != nil {
		return err
	}
	if v.Newest, err = core.Number(c.QueryParam("newest")); err != nil {
		return err
	}
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	if v.There, err = h.chosenThere(c, form["there"]); err != nil {
		return err
	}
	made, err := h.store.DeleteListens(c.Request().Context(), v)
	if err != nil {
		return err
	}
	return h.done(c, back, words.New("corrections.deleted", "Count", made.Listens), made)
}

func (h *Handler) undoForm(c echo.Context) error {
	v, err := h.undo(c)
	if err != nil {
		return err
	}
	said := words.New("corrections.undone", "Count", v.Listens)
	switch {
	case v.About != "":
		said = words.New("rules.undone")
	case v.Kind == library.Checked:
		said = words.New("suspicious.again")
	}
	label, err := h.core.Labels(c.Request().Context(), v.User)
	if err != nil {
		return err
	}
	for _, t := range v.There {
		if t.Asked > 0 {
			stay := words.New("corrections.stay_deleted", "Count", t.Asked, "Name", label(t.Connection))
			said = words.Join(said, stay)
		}
	}
	return h.core.Done(c, core.LocalPath(cmp.Or(c.FormValue("to"), "/corrections")), said)
}

// undoing returns where a form undoes a correction.
func undoing(made library.Correction) string {
	return "/corrections/" + strconv.FormatInt(made.ID, 10) + "/undo"
}

// done ends the form of a correction: it says on a page of ours what was done, with a button that undoes it and leads
// back there.
func (h *Handler) done(c echo.Context, to string, said words.Text, made library.Correction) error {
	return h.core.DoneUndoably(c, to, said, undoing(made), to)
}

// correctionsView is the page of corrections.
type correctionsView struct {
	Title, Lead string
	Items       []ui.Item
	Next        []ui.Action
	Pages       ui.Pages
}

func (h *Handler) page(c echo.Context) error {
	page, next, err := h.all(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	label, err := h.core.Labels(ctx, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	wrong, more, err := h.store.Suspicious(ctx, core.UserOf(c).ID, "", mostCounted)
	if err != nil {
		return err
	}
	v := viewOf(ctx, page, core.Administers(c), label)
	invented, err := h.store.Invented(ctx, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	v.Next = append(v.Next, suspiciousLink(ctx, len(wrong)+min(len(invented), 1), more != ""))
	if c.QueryParam("before") != "" {
		v.Pages.Newest = "/corrections"
	}
	if next != "" {
		v.Pages.Earlier = "/corrections?before=" + url.QueryEscape(next)
	}
	return h.core.Show(c, http.StatusOK, v.Title, correctionsPage(v))
}

// viewOf returns the page of corrections. admin means that the reader may undo corrections of the household; label
// returns what a connection is called.
func viewOf(ctx context.Context, page []library.Correction, admin bool,
	label func(library.ConnectionID) string) correctionsView {
	v := correctionsView{Title: words.T(ctx, "corrections.title"), Lead: words.T(ctx, "corrections.lead")}
	if len(page) == 0 {
		v.Lead = words.T(ctx, "corrections.none")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.title"), URL: "/listens"}}
	}
	for _, c := range page {
		i := itemOf(ctx, c, admin)
		i.Note = strings.Join(append([]string{i.Note}, saidThere(ctx, c, label)...), " ")
		v.Items = append(v.Items, i)
	}
	return v
}

// itemOf returns the row of a correction. See viewOf for admin.
func itemOf(ctx context.Context, c library.Correction, admin bool) ui.Item {
	i := ui.Item{ID: "correction-" + strconv.FormatInt(c.ID, 10), Note: said(ctx, c)}
	switch {
	case c.Title != "":
		i.Title = ui.Named{Text: c.Title}
		i.By = []ui.Named{{Text: c.Artist}}
	case c.Artist != "":
		i.Title = ui.Named{Text: c.Artist}
	case c.PlayRule != "":
		i.Title = ui.Named{Text: words.T(ctx, "corrections.by_rule", "Name", c.PlayRule),
			URL: "/rules/" + strconv.FormatInt(c.PlayRuleID, 10)}
	default:
		i.Title = ui.Named{Text: words.T(ctx, "corrections.several")}
	}
	if c.About != "" {
		i.Title.URL = pageOf(c.About, c.Of)
	}
	if c.UndoneAt.IsZero() && (c.About == "" || admin) {
		id := strconv.FormatInt(c.ID, 10)
		i.Aside = ui.Button(ui.Action{ID: "undo-" + id, Label: words.T(ctx, "corrections.undo"),
			Post: "/corrections/" + id + "/undo", DescribedBy: i.ID})
	}
	return i
}

// said says what a correction did and when, and that it was undone.
func said(ctx context.Context, c library.Correction) string {
	var text string
	switch {
	case c.About != "":
		text = ruleText(ctx, c)
	case c.Kind == library.Added:
		text = words.T(ctx, "corrections.did_add", "At", c.MadeAt)
	case c.Kind == library.Apart:
		text = words.T(ctx, "corrections.did_split", "Count", c.Listens, "At", c.MadeAt)
	case c.Kind == library.Checked:
		text = words.T(ctx, "suspicious.did_keep", "Count", c.Listens, "At", c.MadeAt)
	case c.Kind == library.Edited && c.Becomes != "":
		text = words.T(ctx, "corrections.did_rename", "Becomes", c.Becomes, "At", c.MadeAt)
	case c.Kind == library.Edited:
		text = words.T(ctx, "corrections.did_edit", "At", c.MadeAt)
	default:
		text = words.T(ctx, "corrections.did_delete", "Count", c.Listens, "At", c.MadeAt)
	}
	if !c.UndoneAt.IsZero() {
		text += " " + words.T(ctx, "corrections.was_undone", "At", c.UndoneAt)
	}
	return text
}

// ruleText describes a correction of an artist, an album or a track: what was done, when, and by whom.
func ruleText(ctx context.Context, c library.Correction) string {
	text := words.Each("rules.did.", c.Kind, "Becomes", c.Becomes, "At", c.MadeAt).T(ctx)
	if c.By != "" {
		text += " " + words.T(ctx, "rules.by", "Name", c.By)
	}
	return text
}
