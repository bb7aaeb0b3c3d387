package installation

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"reprise/internal/backups"
	"reprise/internal/config"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page.
type pageView struct {
	Problem   string
	Groups    []groupView
	Parts     []templ.Component // of other resources
	Fixed     []ui.Fact         // what needs a restart
	FixedNote string
}

// groupView is a part of the page, folded unless Open: Note says in one line what is set in it.
type groupView struct {
	ID, Title, Note string
	Open            bool
	Above           templ.Component // what is known about it, before its settings; nil for nothing
	Forms           []formView
}

// above shows above the settings of a group what is known about it.
func (v *pageView) above(of config.Group, what templ.Component) {
	for i, g := range v.Groups {
		if g.ID == string(of) {
			v.Groups[i].Above = what
		}
	}
}

// backups shows in the group of their settings what is known about backups.
func (v *pageView) backups(ctx context.Context, s backups.Status) {
	v.above(config.Backups, backupsPart(backupsViewOf(ctx, s)))
	i := slices.IndexFunc(v.Groups, func(g groupView) bool { return g.ID == string(config.Backups) })
	if i >= 0 {
		v.Groups[i].Note = backupsNote(ctx, s, time.Now())
	}
}

// formView is a form whose fields are saved together. One with a Title is that of a provider, or of an issuer after the
// first, and a fold of its own.
type formView struct {
	ID, Title, Note string
	Open            bool
	Fields          []ui.Field
	Rest            []ui.Field // those that few people need
	RestOpen        bool
	Any             bool // whether anything can be edited
}

func viewOf(ctx context.Context, all []settings.Item, given map[string]string, refused *settings.Refused,
	name func(string) string) (v pageView) {
	if refused != nil {
		v.Problem = words.T(ctx, "setting.page.refused")
	}
	for _, g := range config.Groups() {
		group := groupView{ID: string(g), Title: words.Each("setting.group.", string(g)).T(ctx),
			Open: g == config.Server}
		of := slices.DeleteFunc(slices.Clone(all), func(i settings.Item) bool { return i.Group != g })
		if g == config.Restart {
			for _, i := range of {
				v.Fixed = append(v.Fixed, factOf(ctx, i))
			}
			v.FixedNote = noteOf(ctx, of)
			continue
		}
		for _, i := range of {
			f := FieldOf(ctx, i, given, refused)
			f.Problem = named(ctx, all, f.Problem)
			group.add(ctx, i, f, name)
		}
		group.note(ctx, of)
		if len(group.Forms) > 0 {
			v.Groups = append(v.Groups, group)
		}
	}
	return v
}

// add adds the field of a setting to the form of its provider or issuer, or to that of the group.
func (g *groupView) add(ctx context.Context, i settings.Item, f ui.Field, name func(string) string) {
	id := cmp.Or(setOf(i), "form-"+g.ID)
	at := slices.IndexFunc(g.Forms, func(o formView) bool { return o.ID == id })
	if at < 0 {
		at = len(g.Forms)
		form := formView{ID: id}
		if i.Provider != "" {
			form.Title = name(i.Provider)
		} else if n := i.Further(); n != 0 {
			form.Title = words.T(ctx, "setting.page.issuer", "Number", n)
		}
		g.Forms = append(g.Forms, form)
	}
	form := &g.Forms[at]
	wrong := f.Problem != ""
	if seldom(i) {
		form.Rest = append(form.Rest, f)
		form.RestOpen = form.RestOpen || wrong
	} else {
		form.Fields = append(form.Fields, f)
	}
	form.Any = form.Any || !f.Off
	form.Open, g.Open = form.Open || wrong, g.Open || wrong
}

// seldom reports whether few people need a setting: it is in a fold of its form.
func seldom(i settings.Item) bool {
	return strings.HasPrefix(i.Path, "backup.s3.") || strings.HasPrefix(i.Path, "auth.proxy_") ||
		strings.HasPrefix(i.Path, "auth.oidc") && slices.ContainsFunc([]string{".groups_claim", ".scopes", ".session"},
			func(name string) bool { return strings.HasSuffix(i.Path, name) }) ||
		i.Provider != "" && (i.Kind == config.URL || i.Kind == config.Rate) ||
		i.Path == "admin_token" || i.Path == "log.level"
}

// note says of the group, and of each provider in it, what is set.
func (g *groupView) note(ctx context.Context, all []settings.Item) {
	var own []settings.Item
	of := map[string][]settings.Item{}
	for _, i := range all {
		if i.Provider == "" {
			own = append(own, i)
		}
		of[setOf(i)] = append(of[setOf(i)], i)
	}
	var ready []string
	any := false
	for n := range g.Forms {
		f := &g.Forms[n]
		if f.Title == "" {
			continue
		}
		f.Note = noteOf(ctx, of[f.ID])
		if key, ok := keyOf(of[f.ID]); ok {
			f.Note = words.T(ctx, "setting.page.not_set_up")
			if key.Value != "" {
				f.Note = words.T(ctx, "setting.page.set_up")
			}
			if key.Provider == "" { // what the group says of itself says it, too
				continue
			}
			if any = true; key.Value != "" {
				ready = append(ready, f.Title)
			}
		}
	}
	switch {
	case len(ready) > 0:
		g.Note = words.T(ctx, "setting.page.all_set_up", "Names", strings.Join(ready, ", "))
	case any:
		g.Note = words.T(ctx, "setting.page.none_set_up")
	default:
		g.Note = noteOf(ctx, own)
	}
	if len(g.Forms) == 1 { // no fold in a fold
		g.Forms[0].Title = ""
	}
}

// noteOf says which settings are not at their defaults.
func noteOf(ctx context.Context, all []settings.Item) string {
	var names []string
	for _, i := range all {
		if i.Source != config.FromDefault && i.Value != i.Default {
			names = append(names, Label(ctx, i))
		}
	}
	if len(names) == 0 {
		return words.T(ctx, "setting.page.defaults")
	}
	return words.T(ctx, "setting.page.changed", "Names", strings.Join(names, ", "))
}

// keyOf returns the setting without which nobody can use a provider; false if there is none.
func keyOf(all []settings.Item) (settings.Item, bool) {
	for _, name := range []string{".model", ".client_id", ".keys"} {
		for _, i := range all {
			if strings.HasSuffix(i.Path, name) {
				return i, true
			}
		}
	}
	return settings.Item{}, false
}

// setOf returns the id of the form of a setting's provider, or of an issuer after the first; empty if it has none.
func setOf(i settings.Item) string {
	switch {
	case i.Provider != "":
		return "form-" + i.Provider
	case i.Further() != 0:
		return "form-" + config.Slots[i.Further()-1]
	}
	return ""
}
