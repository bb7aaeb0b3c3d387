// Package welcome leads a person through their first steps: what the services should know, which of them they use, how
// each is connected, and how the history arrives. It can be left and taken up again.
package welcome

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Store keeps how far people have come, and has what has arrived.
type Store interface {
	FirstSteps(ctx context.Context, user int64) (accounts.FirstSteps, error)
	SaveFirstSteps(ctx context.Context, user int64, f accounts.FirstSteps) error
	Listens(ctx context.Context, user int64, before string,
		limit int) (page []library.StoredListen, next string, err error)
	CountListens(ctx context.Context, user int64) (int, error)
	PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error)
}

// Handler answers for the first steps.
type Handler struct {
	core     *core.Core
	store    Store
	statuses *connections.Statuses
	settings connections.Settings // nil where nothing can be set
	asks     connections.Asks
	speed    *speed
}

// New returns a Handler.
func New(k *core.Core, store Store, statuses *connections.Statuses, set connections.Settings,
	a connections.Asks) *Handler {
	h := &Handler{core: k, store: store, statuses: statuses, settings: set, asks: a, speed: newSpeed()}
	k.AddNotice(h.notice)
	return h
}

// Path is where the first steps begin and are taken up again.
const Path = "/welcome"

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(Path, h.goOn)
	g.GET(Path+"/contact", h.contactPage, core.MustBeAdmin)
	g.POST(Path+"/contact", h.contactForm, core.MustBeAdmin)
	g.GET(Path+"/services", h.servicesPage)
	g.POST(Path+"/services", h.servicesForm)
	g.POST(Path+"/later/:provider", h.later)
	g.GET(Path+"/done", h.donePage)
	g.POST(Path+"/end", h.end)
}

// API adds no routes: programs need no first steps.
func (h *Handler) API(*core.API) {}

// Begin has a person led who has just got their account.
func (h *Handler) Begin(ctx context.Context, user int64) error {
	return h.store.SaveFirstSteps(ctx, user, accounts.FirstSteps{Begun: true})
}

// notice offers, on the start page, to take up the first steps again.
func (h *Handler) notice(c echo.Context) (*ui.Notice, error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	if c.Request().URL.Path != "/" {
		return nil, nil
	}
	s, err := h.stepsOf(ctx, u)
	// Without a connection the start page has the button; on the last page nothing is left to do.
	if err != nil || !s.Begun || s.Ended || len(s.connected) == 0 || h.next(s) == Path+"/done" {
		return nil, err
	}
	return &ui.Notice{ID: "first-steps", Text: words.T(ctx, "welcome.continue"), Actions: []ui.Action{
		{ID: "continue", Label: words.T(ctx, "welcome.continue_button"), URL: Path, Main: true},
		{ID: "dismiss", Label: words.T(ctx, "welcome.dismiss"), Post: Path + "/end"}}}, nil
}

// steps is how far a person has come.
type steps struct {
	accounts.FirstSteps
	contact   bool     // the question for the contact is one of the steps
	connected []string // the services that are connected
}

func (h *Handler) stepsOf(ctx context.Context, u accounts.User) (s steps, err error) {
	if s.FirstSteps, err = h.store.FirstSteps(ctx, u.ID); err != nil {
		return s, err
	}
	s.contact = h.asksContact(u.Role)
	all, err := h.statuses.All(ctx, u.ID)
	for _, v := range all {
		s.connected = append(s.connected, v.Provider)
	}
	return s, err
}

// contact returns the setting with the administrator's address.
func (h *Handler) contact() (settings.Item, bool) {
	if h.settings == nil {
		return settings.Item{}, false
	}
	return h.settings.One("contact")
}

// asksContact reports whether people of a role are asked for the contact.
func (h *Handler) asksContact(role string) bool {
	item, ok := h.contact()
	return role == accounts.Admin && ok && item.Fixed.IsZero()
}

// open returns the chosen services that are neither connected nor put off, in the order in which they are offered.
func (h *Handler) open(s steps) (names []string) {
	for _, p := range h.core.Registry.All() {
		if slices.Contains(s.Chosen, p.Name) && !slices.Contains(s.connected, p.Name) &&
			!slices.Contains(s.LeftOut, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// next returns the page of the next step.
func (h *Handler) next(s steps) string {
	if s.contact && !s.Contact {
		return Path + "/contact"
	}
	if len(s.Chosen) == 0 {
		return Path + "/services"
	}
	if open := h.open(s); len(open) > 0 {
		return "/connect/" + open[0] + "?" + url.Values{"return_to": {Path}}.Encode()
	}
	return Path + "/done"
}

func (h *Handler) goOn(c echo.Context) error {
	s, err := h.stepsOf(c.Request().Context(), core.UserOf(c))
	switch {
	case err != nil:
		return err
	case s.Ended && len(s.connected) == 0: // and wants to be led again, from the start page
		return c.Redirect(http.StatusSeeOther, Path+"/services")
	case s.Ended:
		return c.Redirect(http.StatusSeeOther, "/")
	}
	if p := h.consents(s); p != nil {
		return h.consentPage(c, s, p)
	}
	return c.Redirect(http.StatusSeeOther, h.next(s))
}

// consents returns the service of the next step if its own page is next, on which people consent; nil for others.
func (h *Handler) consents(s steps) *providers.Provider {
	open := h.open(s)
	if !strings.HasPrefix(h.next(s), "/connect/") || len(open) == 0 {
		return nil
	}
	if p := h.core.Registry.Get(open[0]); p.InBrowser() && p.Registered() {
		return p
	}
	return nil
}

// consentView is the step before a service's own page.
type consentView struct {
	Way         *ui.Way
	Title, Lead string
	Actions     []ui.Action
}

// consentPage says that a service's own page is next. A form may have led here, from which no browser goes on to
// another site by itself, and a person may not want to.
func (h *Handler) consentPage(c echo.Context, s steps, p *providers.Provider) error {
	ctx := c.Request().Context()
	title := words.T(ctx, "connect.title", "Name", p.Called())
	v := consentView{Way: h.way(s, p.Name), Title: title, Lead: words.T(ctx, "welcome.consent", "Name", p.Called()),
		Actions: []ui.Action{{Label: words.T(ctx, "welcome.consent_button", "Name", p.Called()), URL: h.next(s),
			Main: true}, h.laterAction(ctx, p.Name)}}
	return h.core.Show(c, http.StatusOK, title, nextPage(v))
}

// toNext ends a form: it leads to the next step, which may be on the page of a service.
func (h *Handler) toNext(c echo.Context) error {
	s, err := h.stepsOf(c.Request().Context(), core.UserOf(c))
	if err != nil {
		return err
	}
	if h.consents(s) != nil {
		return c.Redirect(http.StatusSeeOther, Path)
	}
	return c.Redirect(http.StatusSeeOther, h.next(s))
}

// partsOf returns the names of all steps: the account, the contact if it is asked for, the choice of services,
// connecting those, and the end.
func partsOf(contact bool) []string {
	if contact {
		return []string{"account", "contact", "services", "connect", "done"}
	}
	return []string{"account", "services", "connect", "done"}
}

// First returns the step on which a person of this role makes their account.
func (h *Handler) First(role string) *ui.Way {
	return &ui.Way{At: 1, Of: len(partsOf(h.asksContact(role)))}
}

// way returns where a step stands among all steps. A service's name means the step that connects it.
func (h *Handler) way(s steps, name string) *ui.Way {
	all := partsOf(s.contact || name == "contact") // it can be opened again
	w := &ui.Way{At: slices.Index(all, name) + 1, Of: len(all)}
	if w.At > 0 {
		return w
	}
	w.At = slices.Index(all, "connect") + 1
	for _, p := range h.core.Registry.All() {
		if slices.Contains(s.Chosen, p.Name) {
			if w.Parts++; p.Name == name {
				w.Part = w.Parts
			}
		}
	}
	return w
}

// Way implements connections.Steps.
func (h *Handler) Way(ctx context.Context, u accounts.User, provider, returnTo string) (*ui.Way, error) {
	if returnTo != Path {
		return nil, nil
	}
	s, err := h.stepsOf(ctx, u)
	if err != nil || !slices.Contains(s.Chosen, provider) {
		return nil, err
	}
	w := h.way(s, provider)
	w.Later = h.laterAction(ctx, provider)
	return w, nil
}

// laterAction puts a service off.
func (h *Handler) laterAction(ctx context.Context, provider string) ui.Action {
	return ui.Action{ID: "later", Label: words.T(ctx, "welcome.later"), Post: Path + "/later/" + provider}
}

// change stores what a step has changed.
func (h *Handler) change(c echo.Context, f func(*accounts.FirstSteps)) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	s, err := h.store.FirstSteps(ctx, user)
	if err != nil {
		return err
	}
	f(&s)
	return h.store.SaveFirstSteps(ctx, user, s)
}

// later puts a service off.
func (h *Handler) later(c echo.Context) error {
	p := h.core.Registry.Get(c.Param("provider"))
	if p == nil {
		return core.NotFound(words.New("ask.unknown"))
	}
	err := h.change(c, func(f *accounts.FirstSteps) {
		if !slices.Contains(f.LeftOut, p.Name) {
			f.LeftOut = append(f.LeftOut, p.Name)
		}
	})
	if err != nil {
		return err
	}
	return h.toNext(c)
}

// end ends the first steps, or dismisses them.
func (h *Handler) end(c echo.Context) error {
	if err := h.change(c, func(f *accounts.FirstSteps) { f.Ended = true }); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/")
}
