package connections

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Uplink is our own connection to the internet; see [transport.Uplink].
type Uplink interface {
	Offline() (until time.Time, offline bool)
}

// overview answers for the start page, which shows all connections.
type overview struct {
	core     *core.Core
	store    Store
	statuses *Statuses
	rows     *music.Rows
	uplink   Uplink
	players  Players
	history  History
}

// Players shows what sends by itself.
type Players interface {
	// Glance returns a person's players for the start page; nil without any.
	Glance(c echo.Context) (templ.Component, error)
	// Hears returns what a person hears now, the latest first, each with the name of what says so.
	Hears(c echo.Context) ([]players.Playing, error)
}

// statusView is the start page.
type statusView struct {
	Empty    *emptyView // instead of the rest, without a connection
	Headline headline
	Whole    string // since when everything is here; empty while nothing says so
	Cards    []CardView
	Offers   []offer
	Others   []ui.Named      // to connect another account at a service
	NotReady string          // for members: the offers that the administrator must set up first
	Players  templ.Component // nil without any
	Listens  []ui.Item
	Total    int
}

// offer is a service that is not connected.
type offer struct {
	Provider, Name string
	Connect        *ui.Action // nil for a member, if the administrator must set it up first
	Ask            *ui.Action // instead: to ask for it
}

// listensShown is how many of the newest listens there are.
const listensShown = 5

func (h *overview) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.inOrder(ctx, user.ID)
	if err != nil {
		return err
	}
	open, err := h.core.Open(ctx, user.ID)
	if err != nil {
		return err
	}
	r, v := readerOf(user, "/", open), statusView{}
	if v.Headline, err = h.headline(ctx, all, r); err != nil {
		return err
	}
	if v.Cards, err = h.cards(ctx, user.ID, all, r); err != nil {
		return err
	}
	v.Headline = v.Headline.beside(ctx, v.Cards)
	v.Offers, v.Others = h.offers(ctx, all, r.Admin), h.others(ctx, all)
	v.NotReady = notReady(v.Offers)
	if v.Listens, err = h.newest(ctx, user.ID, listensShown); err != nil {
		return err
	}
	if v.Total, err = h.store.CountListens(ctx, user.ID); err != nil {
		return err
	}
	if v.Players, err = h.players.Glance(c); err != nil {
		return err
	}
	if v.Whole, err = h.history.Figure(ctx, user.ID); err != nil {
		return err
	}
	if len(all) == 0 && v.Players == nil {
		f, err := h.store.FirstSteps(ctx, user.ID)
		if err != nil {
			return err
		}
		empty := emptyOf(ctx, user.Name, f, h.core.Registry.All(), r.Admin)
		v.Empty = &empty
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "status.title"), startPage(v))
}

// Card returns the card of one connection as it is on the start page, to be shown alone, or library.ErrNotFound.
func (h *Handler) Card(ctx context.Context, u accounts.User, id library.ConnectionID) (CardView, error) {
	v, err := h.statuses.One(ctx, u.ID, id)
	if err != nil {
		return CardView{}, err
	}
	open, err := h.overview.core.Open(ctx, u.ID)
	if err != nil {
		return CardView{}, err
	}
	r := readerOf(u, "/", open)
	cards, err := h.overview.cards(ctx, u.ID, []Connection{v}, r)
	if err != nil {
		return CardView{}, err
	}
	return cards[0], nil
}

// cards returns the cards of connections, with what happened there today.
func (h *overview) cards(ctx context.Context, user int64, all []Connection, r reader) ([]CardView, error) {
	now := time.Now()
	today, err := h.store.HeardSince(ctx, user, midnight(now.In(r.Zone)))
	if err != nil {
		return nil, err
	}
	from := dayStart(now, halfHour)
	cards := make([]CardView, 0, len(all))
	for _, v := range all {
		card := newCard(ctx, v, r)
		if err := card.through(ctx, h.history, user, v); err != nil {
			return nil, err
		}
		if v.Reads {
			quarters, err := h.store.RunQuarters(ctx, user, library.ConnectionID(v.ID), from)
			if err != nil {
				return nil, err
			}
			card.Slots, card.Sum = slots(ctx, quarters, from, halfHour), runWords(ctx, quarters)
			if n := today[library.ConnectionID(v.ID)]; v.has(library.Listens) {
				card.Figures = append([]string{words.T(ctx, "status.today", "Count", n)}, card.Figures...)
			}
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// midnight returns when the day of a time began.
func midnight(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
}

// newest returns rows for a person's newest listens.
func (h *overview) newest(ctx context.Context, user int64, most int) ([]ui.Item, error) {
	page, _, err := h.store.Listens(ctx, user, "", most)
	if err != nil {
		return nil, err
	}
	rows, err := h.rows.Of(ctx, user, page)
	return music.Items(ctx, rows), err
}

// headline says how a person's connections do.
func (h *overview) headline(ctx context.Context, all []Connection, r reader) (headline, error) {
	_, offline := h.uplink.Offline()
	counts, err := h.store.CountDeliveries(ctx, delivery.Filter{User: r.ID, State: delivery.Dead})
	return headlineOf(ctx, all, offline, r.Admin).except(ctx, counts[delivery.Dead]), err
}

// offers returns what can be connected and is not.
func (h *overview) offers(ctx context.Context, all []Connection, admin bool) (offers []offer) {
	for _, p := range h.core.Registry.All() {
		if !slices.ContainsFunc(all, func(v Connection) bool { return v.Provider == p.Name }) {
			offers = append(offers, offerOf(ctx, p, admin))
		}
	}
	return offers
}

func offerOf(ctx context.Context, p *providers.Provider, admin bool) offer {
	o := offer{Provider: p.Name, Name: p.Called().T(ctx)}
	switch ready := !p.InBrowser() || p.Registered(); {
	case ready:
		o.Connect = &ui.Action{Label: words.T(ctx, "status.connect", "Name", p.Called()), URL: "/connect/" + p.Name}
	case admin:
		o.Connect = &ui.Action{Label: words.T(ctx, "status.set_up", "Name", p.Called()), URL: "/connect/" + p.Name}
	default: // it names the service, as it is in one row with others
		o.Ask = &ui.Action{ID: "ask-" + p.Name, Label: words.T(ctx, "status.ask_for", "Name", o.Name),
			Post: "/ask/" + p.Name}
	}
	return o
}

// asking returns the buttons with which a member asks for the offers that the administrator must set up first.
func asking(offers []offer) (all []ui.Action) {
	for _, o := range offers {
		if o.Ask != nil {
			all = append(all, *o.Ask)
		}
	}
	return all
}

// notReady returns the names of the offers that only the administrator can set up.
func notReady(offers []offer) string {
	var names []string
	for _, o := range offers {
		if o.Connect == nil {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, ", ")
}

// others returns what a person can connect once more.
func (h *overview) others(ctx context.Context, all []Connection) (others []ui.Named) {
	for _, p := range h.core.Registry.All() {
		taken := func(id library.ConnectionID) bool {
			return slices.ContainsFunc(all, func(v Connection) bool { return v.ID == string(id) })
		}
		next, free := library.NextConnectionID(p.Name, taken)
		if free && next.Number() > 1 && p.Registered() {
			others = append(others, ui.Named{Text: p.Called().T(ctx), URL: "/connect/" + string(next)})
		}
	}
	return others
}
