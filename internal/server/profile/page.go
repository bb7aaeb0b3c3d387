package profile

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page on which a person sets up their profile.
type pageView struct {
	On         bool
	Since      time.Time
	Address    string // of the profile; empty if it is not known
	Name, Span ui.Field
	Boxes      []ui.Field

	EmbedLead      string
	Badge          string // address; empty for none
	HTML, Markdown string // code that embeds the badge
	Card           string // address
	Feed           string // address; empty for none
}

// longestName is the maximum length of the name on a profile, in characters.
const longestName = 64

// page answers with the page on which a person sets up their profile.
func (h *Handler) page(c echo.Context) error {
	ctx := c.Request().Context()
	s, err := h.store.Share(ctx, core.UserOf(c).ID, library.ShareProfile, "")
	v := pageView{On: err == nil}
	switch {
	case errors.Is(err, library.ErrNotFound):
		s = library.Share{Name: core.UserOf(c).Name, Parts: []string{playing, artists, albums, tracks},
			Span: library.ProfileSpans[0]}
	case err != nil:
		return err
	default:
		v.Since, v.Address = s.MadeAt, h.address(s.Code)
	}
	v.fields(ctx, s)
	if v.Address != "" {
		v.embed(ctx, s)
	}
	return h.core.ShowSettings(c, http.StatusOK, words.T(ctx, "section.nav.profile"), profilePage(v))
}

// fields adds the fields of the form.
func (v *pageView) fields(ctx context.Context, s library.Share) {
	show := showing(s.Parts)
	v.Name = ui.Field{Name: "name", Label: words.T(ctx, "profile.name"), Value: s.Name, MaxLength: "64", Optional: true,
		Autocomplete: "off", Exact: true, Help: words.T(ctx, "profile.name_help")}
	for _, name := range parts {
		v.Boxes = append(v.Boxes, ui.Field{Name: name, Type: "checkbox", Checked: show[name],
			Label: words.Each("profile.part.", name).T(ctx)})
	}
	v.Span = ui.Field{Name: "span", Label: words.T(ctx, "profile.span.label"), Value: s.Span}
	for _, span := range library.ProfileSpans {
		v.Span.Options = append(v.Span.Options, ui.Option{Value: span, Label: spanWords(ctx, span)})
	}
}

// embed adds the badge, the card and the feed, which other sites can show.
func (v *pageView) embed(ctx context.Context, s library.Share) {
	show, at := showing(s.Parts), openPath+s.Code
	v.Card, v.EmbedLead = at+"/card.png", words.T(ctx, "profile.no_badge")
	if show[latest] {
		v.Feed = at + "/feed.atom"
	}
	if !show.badged() {
		return
	}
	v.Badge, v.EmbedLead = at+"/badge.svg", words.T(ctx, "profile.embed_lead")
	alt := words.T(ctx, "profile.badge.alt")
	v.HTML = fmt.Sprintf(`<a href="%[1]s"><img src="%[1]s/badge.svg" alt="%[2]s" width="%[3]d" height="%[4]d"></a>`,
		html.EscapeString(v.Address), html.EscapeString(alt), badgeWide, badgeTall)
	v.Markdown = "[![" + alt + "](" + v.Address + "/badge.svg)](" + v.Address + ")"
}

// asked returns the profile that a form describes.
func asked(c echo.Context) library.Share {
	s := library.Share{Name: c.FormValue("name"), Span: c.FormValue("span")}
	for _, name := range parts {
		if c.FormValue(name) == "yes" {
			s.Parts = append(s.Parts, name)
		}
	}
	return s
}

// fill completes the profile that the user of a request wants, or refuses it.
func fill(c echo.Context, s library.Share) (library.Share, error) {
	refuse := func(id string) (library.Share, error) {
		return s, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.profile.title"),
			Detail: words.Each("problem.profile.", id)}
	}
	s.User, s.Kind, s.Zone = core.UserOf(c).ID, library.ShareProfile, core.Zone(c).String()
	s.Name = strings.TrimSpace(library.Name(s.Name))
	if s.Span == "" {
		s.Span = library.ProfileSpans[0]
	}
	switch {
	case len(s.Parts) == 0:
		return refuse("nothing")
	case len([]rune(s.Name)) > longestName:
		return refuse("name")
	case !slices.Contains(library.ProfileSpans, s.Span):
		return refuse("span")
	}
	return s, nil
}

// preview shows the user what others would see.
func (h *Handler) preview(c echo.Context) error {
	s, err := fill(c, asked(c))
	if err != nil {
		return err
	}
	return h.showOpen(c, s)
}

// keep stores what the profile shows. If there is no profile yet, or another is set, it makes a new address; made
// reports whether it did.
func (h *Handler) keep(c echo.Context, s library.Share, another bool) (_ library.Share, made bool, err error) {
	if s, err = fill(c, s); err != nil {
		return s, false, err
	}
	ctx := c.Request().Context()
	if s, made, err = core.KeepShare(ctx, h.store, s, another); made && err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.ProfileShared, User: s.User})
	}
	return s, made, err
}

// takeBack deletes the profile.
func (h *Handler) takeBack(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	err := h.store.DeleteShare(ctx, user, library.ShareProfile, "")
	if err == nil {
		h.core.Note(ctx, activity.Entry{Action: activity.ProfileUnshared, User: user})
	}
	return err
}

func (h *Handler) form(c echo.Context) error {
	another := c.FormValue("new") == "yes"
	_, made, err := h.keep(c, asked(c), another)
	if err != nil {
		return err
	}
	said := words.New("profile.changed")
	switch {
	case another:
		said = words.New("profile.replaced")
	case made:
		said = words.New("profile.made")
	}
	return h.core.Done(c, own, said)
}

func (h *Handler) takeBackForm(c echo.Context) error {
	// It may have been deleted in another tab.
	if err := h.takeBack(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.Done(c, own, words.New("profile.gone"))
}
