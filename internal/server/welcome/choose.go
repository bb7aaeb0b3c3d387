package welcome

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

// contactView is the step that asks an administrator for their address.
type contactView struct {
	Way     *ui.Way
	Problem string
	Value   string
}

func (h *Handler) contactPage(c echo.Context) error {
	item, _ := h.contact()
	return h.showContact(c, http.StatusOK, contactView{Value: item.Value})
}

func (h *Handler) showContact(c echo.Context, status int, v contactView) error {
	ctx := c.Request().Context()
	s, err := h.stepsOf(ctx, core.UserOf(c))
	if err != nil {
		return err
	}
	v.Way = h.way(s, "contact")
	return h.core.Show(c, status, words.T(ctx, "welcome.contact"), contactPage(v))
}

func (h *Handler) contactForm(c echo.Context) error {
	ctx := c.Request().Context()
	given := strings.TrimSpace(c.FormValue("contact"))
	if item, ok := h.contact(); ok && c.FormValue("skip") == "" && item.Fixed.IsZero() {
		err := h.settings.Change(ctx, map[string]*string{"contact": &given})
		if refused, ok := errors.AsType[*settings.Refused](err); ok {
			return h.showContact(c, http.StatusUnprocessableEntity, contactView{Value: given,
				Problem: refused.Fields["contact"].T(ctx)})
		}
		if err != nil {
			return err
		}
	}
	err := h.change(c, func(f *accounts.FirstSteps) { f.Contact, f.Begun, f.Ended = true, true, false })
	if err != nil {
		return err
	}
	return h.toNext(c)
}

// servicesView is the step in which a person says what they use.
type servicesView struct {
	Way     *ui.Way
	Problem string
	Offers  []offer
	Later   []offer // those that have to be set up first
	First   string  // the heading of Later
}

// offer is a service that can be chosen.
type offer struct {
	Name, Label string
	Purpose     string
	Chosen      bool
}

func (h *Handler) servicesPage(c echo.Context) error { return h.showServices(c, http.StatusOK, "") }

func (h *Handler) showServices(c echo.Context, status int, problem string) error {
	ctx, u := c.Request().Context(), core.UserOf(c)
	s, err := h.stepsOf(ctx, u)
	if err != nil {
		return err
	}
	v := servicesView{Way: h.way(s, "services"), Problem: problem, First: words.T(ctx, "welcome.wait_admin")}
	if u.Role == accounts.Admin {
		v.First = words.T(ctx, "welcome.setup_first")
	}
	for _, p := range h.core.Registry.All() {
		one := offer{Name: p.Name, Label: labelOf(ctx, p), Purpose: p.Purpose.T(ctx),
			Chosen: slices.Contains(s.Chosen, p.Name) || slices.Contains(s.connected, p.Name)}
		if h.asks.NeedOf(p) == asks.Setup {
			v.Later = append(v.Later, one)
		} else {
			v.Offers = append(v.Offers, one)
		}
	}
	return h.core.Show(c, status, words.T(ctx, "welcome.services"), servicesPage(v))
}

// labelOf returns a service's name, with those of the programs that are read in the same way.
func labelOf(ctx context.Context, p *providers.Provider) string {
	return strings.Join(append([]string{p.Called().T(ctx)}, p.Kin...), ", ")
}

func (h *Handler) servicesForm(c echo.Context) error {
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	var chosen []string
	for _, p := range h.core.Registry.All() {
		if slices.Contains(form["service"], p.Name) {
			chosen = append(chosen, p.Name)
		}
	}
	if len(chosen) == 0 {
		return h.showServices(c, http.StatusUnprocessableEntity, words.T(c.Request().Context(), "welcome.choose_one"))
	}
	err = h.change(c, func(f *accounts.FirstSteps) {
		f.Chosen, f.LeftOut, f.Begun, f.Ended = chosen, nil, true, false
	})
	if err != nil {
		return err
	}
	return h.toNext(c)
}
