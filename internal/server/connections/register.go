package connections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Settings are the settings of the installation.
type Settings interface {
	// One returns a setting, and false if there is none of that path.
	One(path string) (settings.Item, bool)
	// Change stores settings by their paths, and puts them into effect.
	Change(ctx context.Context, changes map[string]*string) error
}

// register answers for what an administrator does once before anybody can connect a service.
type register struct {
	core     *core.Core
	settings Settings     // nil where nothing can be set
	client   *http.Client // for trials of what was typed
	asks     Asks
	steps    Steps
}

// registerView is its page.
type registerView struct {
	Provider string
	Title    string
	Lead     string
	ReturnTo string
	Way      *ui.Way
	First    string // what decides whether it can work
	Steps    []registerStep
	Fields   []ui.Field
	Checked  bool   // what is typed can be checked, and saved without connecting
	Problem  string // of the form
	Saved    string // that it is saved, and whether the service accepts it
	Button   string
}

type registerStep struct {
	Text, Page string
	Copy       []string
}

// copyID returns the id of the n-th value that is copied in a step.
func copyID(step, n int) string { return fmt.Sprintf("copy-%d-%d", step+1, n+1) }

const contactPath = "contact"

// asked returns the settings that an administrator is asked for, in their order.
func (h *register) asked(p *providers.Provider) (all []settings.Item) {
	if h.settings == nil {
		return nil
	}
	for _, s := range p.Description.Settings {
		if s.Label.IsZero() {
			continue
		}
		if item, ok := h.settings.One(p.Path(s.Name)); ok {
			all = append(all, item)
		}
	}
	if slices.Contains(p.Missing, contactPath) {
		if item, ok := h.settings.One(contactPath); ok {
			all = append(all, item)
		}
	}
	return all
}

// named returns the name of a setting's field: the last part of its path.
func (h *register) named(i settings.Item) string { return i.Path[strings.LastIndex(i.Path, ".")+1:] }

func (h *register) page(c echo.Context) error {
	p, err := h.provider(c)
	if err != nil {
		return err
	}
	return h.show(c, http.StatusOK, p, registerView{ReturnTo: core.LocalPath(c.QueryParam("return_to"))}, nil)
}

func (h *register) provider(c echo.Context) (*providers.Provider, error) {
	p := h.core.Registry.Get(c.Param("provider"))
	if p == nil {
		return nil, core.NotFound(words.New("ask.unknown"))
	}
	return p, nil
}

// show completes the page and answers with it; given are the values that were typed.
func (h *register) show(
	c echo.Context, status int, p *providers.Provider, v registerView, given map[string]string,
) (err error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	v.Provider, v.Title = p.Name, words.T(ctx, "connect.setup_title", "Service", p.Called())
	v.Lead = words.T(ctx, "connect.setup_lead", "Service", p.Called())
	if r := p.Registration; r != nil {
		v.First, v.Checked = r.Guide.First.T(ctx), true
		for _, s := range r.Guide.Steps {
			one := registerStep{Text: s.Text.T(ctx), Page: s.Page}
			for _, value := range s.Copy {
				one.Copy = append(one.Copy, strings.ReplaceAll(value, providers.RedirectURI, h.redirectURI(p)))
			}
			v.Steps = append(v.Steps, one)
		}
	} else {
		v.Lead = words.T(ctx, "connect.contact_lead", "Service", p.Called())
	}
	for _, item := range h.asked(p) {
		v.Fields = append(v.Fields, h.field(ctx, p, item, given))
	}
	v.Button = words.T(ctx, "connect.setup_button")
	if v.Way, err = h.steps.Way(ctx, u, p.Name, v.ReturnTo); err != nil {
		return err
	}
	return h.core.Show(c, status, v.Title, registerPage(v))
}

func (h *register) field(
	ctx context.Context, p *providers.Provider, item settings.Item, given map[string]string,
) ui.Field {
	f := ui.Field{Name: h.named(item), Value: item.Value, Exact: true, Autocomplete: "off",
		Label: words.T(ctx, "connect.contact"), Required: true, Off: !item.Fixed.IsZero(), Help: item.Fixed.T(ctx)}
	if item.Path == contactPath {
		f.Help = words.T(ctx, "connect.contact_help")
	}
	for _, s := range p.Description.Settings {
		if s.Name == f.Name && item.Path != contactPath {
			f.Label, f.Required, f.Optional = s.Label.T(ctx), s.Required, !s.Required
		}
	}
	if typed, ok := given[f.Name]; ok && !item.Secret() {
		f.Value = typed
	}
	return f
}

// save stores what was typed if the service accepts it, and goes on to connecting or says that it does.
func (h *register) save(c echo.Context) error {
	p, err := h.provider(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	v, given := registerView{ReturnTo: core.LocalPath(c.FormValue("return_to"))}, map[string]string{}
	changes := map[string]*string{}
	for _, item := range h.asked(p) {
		text := strings.TrimSpace(c.FormValue(h.named(item)))
		if given[h.named(item)] = text; item.Fixed.IsZero() {
			changes[item.Path] = &text
		}
	}
	checked, err := h.try(c, p, given)
	if err != nil {
		v.Problem = words.Plain(err.Error()).T(ctx)
		if said, ok := errors.AsType[*words.Error](err); ok {
			v.Problem = said.Text.T(ctx)
		}
		return h.show(c, http.StatusUnprocessableEntity, p, v, given)
	}
	if h.settings == nil || len(changes) == 0 {
		changes = nil
	} else if err := h.settings.Change(ctx, changes); err != nil {
		refused, ok := errors.AsType[*settings.Refused](err)
		if !ok {
			return err
		}
		v.Problem = problemsIn(ctx, refused)
		return h.show(c, http.StatusUnprocessableEntity, p, v, given)
	}
	if p = h.core.Registry.Get(p.Name); c.FormValue("do") == "save" {
		if v.Saved = words.T(ctx, "connect.saved_unchecked", "Service", p.Called()); checked {
			v.Saved = words.T(ctx, "connect.accepted", "Service", p.Called())
		}
		return h.show(c, http.StatusOK, p, v, nil)
	}
	return h.core.Onward(c, "/connect/"+p.Name+"?"+url.Values{"return_to": {v.ReturnTo}}.Encode())
}

func problemsIn(ctx context.Context, r *settings.Refused) string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(r.Fields)) {
		all = append(all, r.Fields[path].T(ctx))
	}
	return strings.Join(all, " ")
}

// try makes a call that shows whether the service accepts what was typed, and returns whether it could find that out.
// What it cannot find out at the moment, the consent shows.
func (h *register) try(c echo.Context, p *providers.Provider, given map[string]string) (checked bool, _ error) {
	if p.Registration == nil {
		return false, nil
	}
	now := maps.Clone(p.Settings)
	for _, s := range p.Description.Settings {
		text, ok := given[s.Name]
		if !ok || s.Secret() && strings.HasPrefix(text, "…") { // the stored one
			continue
		}
		if s.Required && text == "" {
			return false, words.Errorf("connect.missing", "Fields", s.Label.T(c.Request().Context()))
		}
		v, err := s.Parse(text)
		if err != nil {
			return false, err
		}
		now[s.Name] = v
	}
	ctx, done := core.Waits(c)
	defer done()
	call := resilience.Call{Client: h.client, User: core.UserOf(c).ID, Provider: p.Name, Proof: true, Eager: true}
	checked = true
	for _, trial := range p.Trials(now, call, h.redirectURI(p)) {
		err := trial.Try(ctx)
		if err == nil || resilience.VerdictOf(err).Class != resilience.Fatal {
			checked = checked && err == nil
			continue
		}
		h.core.Log.Info("a registration was refused", "provider", p.Name, "err", resilience.Excerpt(err.Error()))
		return false, h.refused(p, err)
	}
	return checked, nil
}

func (h *register) refused(p *providers.Provider, err error) error {
	if why := resilience.VerdictOf(err).Category; why == resilience.Config || why == resilience.Auth {
		return words.Errorf("connect.not_accepted", "Service", p.Called())
	}
	w := notify.Refused(p, err)
	return &words.Error{Text: w.Message}
}

// redirectURI returns the address that has to be registered with a service that asks for consent on its own page.
func (h *register) redirectURI(p *providers.Provider) string { return RedirectURI(h.core, p) }

// RedirectURI returns the address that has to be registered with a service that asks for consent on its own page: this
// server's, or if the service takes only safe addresses and this server has none, one of the person's own machine.
func RedirectURI(k *core.Core, p *providers.Provider) string {
	base, path := k.BaseURL(), "/connect/"+p.Name+"/callback"
	u, err := url.Parse(base)
	if err != nil || p.Registration == nil || !p.Registration.Redirect.Secure || u.Scheme == "https" ||
		core.Loopback(u.Host) {
		return base + path
	}
	port := u.Port()
	if port == "" {
		port = "8420"
	}
	return "http://" + net.JoinHostPort("127.0.0.1", port) + path
}

// elsewhere says whether a browser cannot open an address because it is one of this machine, and the browser on
// another.
func elsewhere(c echo.Context, address string) bool {
	u, err := url.Parse(address)
	return err == nil && core.Loopback(u.Host) && !core.Loopback(c.Request().Host)
}
