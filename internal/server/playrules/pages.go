package playrules

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const path = "/rules"

func pathOf(r playrules.Rule) string { return path + "/" + strconv.FormatInt(r.ID, 10) }

// listView is the page of all rules.
type listView struct {
	Head     ui.Heading
	Rules    []ui.Item
	Kinds    []ui.Item
	Finished []ui.Item
	Download string // empty without rules
	Gone     string // what rules did that are gone; empty for nothing
}

func kindName(ctx context.Context, k playrules.Kind) string {
	return words.Each("playrules.kind.", string(k)).T(ctx)
}

// done returns a person's rules, and what each rule has done, by its id: also those that are gone.
func (h *Handler) done(ctx context.Context, user int64) (all []playrules.Rule, done map[int64]playrules.Done,
	err error) {
	if all, err = h.store.PlayRules(ctx, user); err == nil {
		done, err = h.store.DoneBy(ctx, user)
	}
	return all, done, err
}

func (h *Handler) listPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, done, err := h.done(ctx, user)
	if err != nil {
		return err
	}
	v := listView{Head: ui.Heading{Title: words.T(ctx, "playrules.title"), Lead: words.T(ctx, "playrules.lead"),
		Back: "/listens", BackTo: words.T(ctx, "listens.title")}}
	for _, r := range all {
		one := ui.Item{ID: "rule-" + strconv.FormatInt(r.ID, 10), Title: ui.Named{Text: r.Name, URL: pathOf(r)},
			By: []ui.Named{{Text: kindName(ctx, r.Kind)}}}
		turn := ui.Action{Label: words.T(ctx, "playrules.off"), Post: pathOf(r) + "/switch", DescribedBy: one.ID}
		if r.Off {
			one.Tags, turn.Label = []string{words.T(ctx, "playrules.is_off")}, words.T(ctx, "playrules.on")
		}
		if d := done[r.ID]; d != (playrules.Done{}) {
			one.By = append(one.By, ui.Named{Text: didWords(ctx, d)})
		}
		one.Aside = ui.Button(turn)
		v.Rules, v.Download = append(v.Rules, one), path+"/download"
	}
	if d := goneOf(all, done); d != (playrules.Done{}) {
		v.Gone = didWords(ctx, d)
	}
	for _, k := range playrules.Kinds {
		v.Kinds = append(v.Kinds, ui.Item{ID: "kind-" + string(k),
			Title: ui.Named{Text: kindName(ctx, k), URL: path + "/new?kind=" + string(k)},
			By:    []ui.Named{{Text: words.Each("playrules.about.", string(k)).T(ctx)}}})
	}
	for _, f := range playrules.Finished {
		name := words.Each("playrules.finished.", f.Key).T(ctx)
		v.Finished = append(v.Finished, ui.Item{ID: "finished-" + f.Key,
			Title: ui.Named{Text: name, URL: path + "/new?finished=" + f.Key}})
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, listing(v))
}

// goneOf returns what rules have done that are gone, given those that there are.
func goneOf(have []playrules.Rule, done map[int64]playrules.Done) (sum playrules.Done) {
	for id, d := range done {
		if !slices.ContainsFunc(have, func(r playrules.Rule) bool { return r.ID == id }) {
			sum.Renamed += d.Renamed
			sum.Ignored += d.Ignored
			sum.Withheld += d.Withheld
		}
	}
	return sum
}

const gonePath = path + "/gone/undo"

// undoGonePage asks whether what rules did that are gone is to be undone.
func (h *Handler) undoGonePage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, done, err := h.done(ctx, user)
	if err != nil {
		return err
	}
	d := goneOf(all, done)
	if d == (playrules.Done{}) {
		return h.core.Done(c, path, words.New("playrules.gone.none"))
	}
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "playrules.gone.question"),
		Facts: []string{didWords(ctx, d)}, Lead: words.T(ctx, "playrules.gone.lead"), Action: gonePath,
		Button: words.T(ctx, "playrules.gone.do"), Back: path})
}

func (h *Handler) undoGoneForm(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, done, err := h.done(ctx, user)
	if err != nil {
		return err
	}
	for id := range done {
		if slices.ContainsFunc(all, func(r playrules.Rule) bool { return r.ID == id }) {
			continue
		}
		if _, err := h.store.UndoPlayRule(ctx, user, id); err != nil {
			return err
		}
	}
	return h.core.Done(c, path, words.New("playrules.gone.undone"))
}

// didWords says what a rule has done.
func didWords(ctx context.Context, d playrules.Done) string {
	var all []string
	for _, one := range []struct {
		name string
		n    int
	}{{"renamed", d.Renamed}, {"ignored", d.Ignored}, {"withheld", d.Withheld}} {
		if one.n > 0 {
			all = append(all, words.Each("playrules.did.", one.name, "Count", one.n).T(ctx))
		}
	}
	return strings.Join(all, ", ")
}

func (h *Handler) saveForm(c echo.Context) error {
	r := playrules.Rule{}
	if c.Param("id") != "" {
		var err error
		if r, err = h.find(c); err != nil {
			return err
		}
	}
	r = h.asked(c, r)
	if !r.Check().IsZero() {
		return h.edit(c, http.StatusUnprocessableEntity, r)
	}
	r, err := h.save(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return h.core.Done(c, path, words.New("playrules.saved", "Name", r.Name))
}

func (h *Handler) switchForm(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	r.Off = !r.Off
	if _, err = h.store.SavePlayRule(c.Request().Context(), r); err != nil {
		return err
	}
	said := words.New("playrules.switched_on", "Name", r.Name)
	if r.Off {
		said = words.New("playrules.switched_off", "Name", r.Name)
	}
	return h.core.Done(c, path, said)
}

func (h *Handler) applyPage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, err := h.store.CountPlayRule(ctx, r)
	if err != nil {
		return err
	}
	if n == 0 {
		return h.core.Done(c, pathOf(r), words.New("playrules.apply_none", "Name", r.Name))
	}
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "playrules.apply_title", "Name", r.Name),
		Facts: []string{words.T(ctx, "playrules.apply_count", "Count", n)},
		Lead:  words.T(ctx, "playrules.apply_lead"), Action: pathOf(r) + "/apply",
		Button: words.T(ctx, "playrules.apply_do"), Back: pathOf(r)})
}

func (h *Handler) applyForm(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	n, err := h.store.ApplyPlayRule(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return h.core.Done(c, pathOf(r), words.New("playrules.applied", "Count", n))
}

func (h *Handler) deletePage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	done, err := h.store.DoneBy(ctx, r.User)
	if err != nil {
		return err
	}
	v := deleteView{Head: ui.Heading{Title: words.T(ctx, "playrules.delete_title", "Name", r.Name), Back: pathOf(r),
		BackTo: r.Name}, Lead: words.T(ctx, "playrules.delete_lead"),
		Do: []ui.Action{{Label: words.T(ctx, "playrules.delete_undo"), Post: pathOf(r) + "/delete", Main: true,
			Fields: []ui.Hidden{{Name: "undo", Value: "yes"}}},
			{Label: words.T(ctx, "playrules.delete_keep"), Post: pathOf(r) + "/delete"},
			{Label: words.T(ctx, "ui.cancel"), URL: pathOf(r)}}}
	if d := done[r.ID]; d != (playrules.Done{}) {
		v.Did = didWords(ctx, d)
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, deleting(v))
}

// deleteView asks what becomes of what a rule has done.
type deleteView struct {
	Head ui.Heading
	Lead string
	Did  string // what it has done; empty if nothing is known
	Do   []ui.Action
}

func (h *Handler) deleteForm(c echo.Context) error {
	n, err := h.delete(c, c.FormValue("undo") != "")
	if err != nil {
		return err
	}
	said := words.New("playrules.deleted")
	if n > 0 {
		said = words.New("playrules.undone", "Count", n)
	}
	return h.core.Done(c, path, said)
}
