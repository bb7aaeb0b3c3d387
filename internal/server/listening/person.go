package listening

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Somebody may let everybody with an account see their numbers. Others then see this page and nothing else: what leads
// to listens, pages of artists, tables or digests is not a link there, and every other link is a filter of the page.

// owner finds the person whose listening a request asks for. Somebody who does not share it and somebody who does not
// exist give the same 404.
func (h *Handler) owner(c echo.Context) (u accounts.User, other bool, err error) {
	u = core.UserOf(c)
	name := strings.TrimSpace(c.QueryParam("person"))
	if name == "" || strings.EqualFold(name, u.Name) {
		return u, false, nil
	}
	u, err = h.store.Sharer(c.Request().Context(), name)
	if errors.Is(err, accounts.ErrUnknown) {
		err = core.HTTPProblem(http.StatusNotFound)
	}
	return u, true, err
}

// zone returns the time zone in which the listening of somebody is counted: theirs, else that of who asks.
func zone(c echo.Context, owner accounts.User) *time.Location {
	if zone, ok := words.ZoneNamed(owner.Zone); ok {
		return zone
	}
	return core.Zone(c)
}

// sharing is what a page of numbers says about who else may see it.
type sharing struct {
	Own     string     // the address of the reader's own page; empty on it
	Common  string     // the address of what the reader has in common with whose page it is; empty on their own
	Also    []ui.Named // others whose pages the reader may see
	Address string     // of this page for others; empty unless they may see it
	Offer   bool       // others have accounts and cannot see it
}

// sharing returns what the page says about who else may see it.
func (h *Handler) sharing(c echo.Context, a *asked) (s sharing, err error) {
	ctx, me := c.Request().Context(), core.UserOf(c)
	all, err := h.store.Sharers(ctx)
	if err != nil {
		return s, err
	}
	for _, u := range all {
		if u.ID != me.ID && u.ID != a.owner.ID {
			s.Also = append(s.Also, ui.Named{Text: u.Name, URL: a.bare(u.Name)})
		}
	}
	switch {
	case a.other:
		s.Own, s.Common = a.bare(""), a.common(listening.Span{Name: listening.All})
	case me.SharesListening:
		s.Address = h.core.BaseURL() + a.query("person", me.Name)
	default:
		s.Offer, err = h.household(ctx)
	}
	return s, err
}

// household reports whether more than one person has an account.
func (h *Handler) household(ctx context.Context) (bool, error) {
	_, total, err := h.store.UsersPart(ctx, accounts.Part{})
	return total > 1, err
}

// bare returns the address of somebody's page, the reader's for no name, for this span without any filter.
func (a *asked) bare(person string) string {
	other := asked{at: a.at, hour: -1, day: -1, owner: accounts.User{Name: person}, other: person != ""}
	other.Span = a.Span
	return other.query("", "")
}

// title names the page.
func (a *asked) title(ctx context.Context) string {
	if a.other {
		return words.T(ctx, "listening.of", "Person", a.owner.Name)
	}
	return words.T(ctx, "listening.title")
}

// named returns the name of a connection: the owner's for it, to others only that of the service.
func (h *Handler) named(ctx context.Context, a *asked) (func(library.ConnectionID) string, error) {
	if a.other {
		return func(id library.ConnectionID) string { return h.core.NameOf(ctx, id) }, nil
	}
	return h.core.Labels(ctx, a.owner.ID)
}

type peopleAnswer struct {
	People []Person `json:"people"`
}

// Person is somebody whose statistics others may see.
type Person struct {
	Name string `json:"name" minLength:"1" maxLength:"64"`
}

// peopleAPI lists the people whose statistics the one who asks may see.
func (h *Handler) peopleAPI(c echo.Context, _ *core.None) (out peopleAnswer, _ error) {
	all, err := h.store.Sharers(c.Request().Context())
	if err != nil {
		return out, err
	}
	out.People = []Person{}
	for _, u := range all {
		if u.ID != core.UserOf(c).ID {
			out.People = append(out.People, Person{u.Name})
		}
	}
	return out, nil
}
