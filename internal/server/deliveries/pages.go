package deliveries

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web"
)

// pages are the pages of deliveries.
type pages struct{ *Handler }

type pageView struct {
	Filter     filter
	Empty      bool // there are none at all
	Chips      []chipView
	Providers  []core.Option
	Kinds      []core.Option
	Groups     []groupView // of dead letters
	Deliveries []View
	Newest     string // address of the first page, if this is another one
	Earlier    string // address of the next page
	Redrivable int    // dead or retrying, under this filter
	RedriveAll string
	Takers     []core.Option // connections that can take listens
}

// chipView is a state with its number of deliveries and a link to them.
type chipView struct {
	State   string // empty for all of them
	Count   int
	URL     string
	Current bool
}

// kindWords holds the kinds of deliveries in words.
var kindWords = map[string]string{
	delivery.SubmitListens: "Listens, submitted",
	delivery.Scrobble:      "Listens, scrobbled",
	delivery.WritePlaylist: "Playlists",
	delivery.Archive:       "Months of the archive",
	delivery.Notify:        "Messages",
}

// page shows everything in groups, or what a query selects one by one.
func (h *pages) page(c echo.Context) error {
	if c.Request().URL.RawQuery == "" {
		return h.overviewPage(c)
	}
	return h.listPage(c)
}

func (h *pages) listPage(c echo.Context) error {
	in, f, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	v := pageView{Filter: in, RedriveAll: in.address("/deliveries/redrive")}
	var next string
	if f.Reason == "" && (f.State == "" || f.State == delivery.Dead) {
		if v.Groups, err = h.groups(c, in, f); err != nil {
			return err
		}
		f.Except = delivery.Dead
	}
	if v.Deliveries, next, err = h.Handler.page(c, f); err != nil {
		return err
	}
	f.Except = ""
	if next != "" {
		v.Earlier = in.address("/deliveries", "before", next)
	}
	if c.QueryParam("before") != "" {
		v.Newest = in.address("/deliveries")
	}
	if err := h.addCounts(c, &v, f); err != nil {
		return err
	}
	v.Empty = v.Chips[0].Count == 0 && in == filter{}
	statuses, err := h.connections.StatusOf(c.Request().Context(), f.User, h.store)
	if err != nil {
		return err
	}
	for _, st := range statuses {
		if st.Provider.Takes.Listens != "" {
			v.Takers = append(v.Takers, core.Option{Value: string(st.Connection.ID),
				Label: st.Connection.Label(st.Provider.DisplayName)})
		}
	}
	kinds := map[string]bool{delivery.Notify: true}
	for _, p := range h.core.Registry.All() {
		if p.Takes.Nothing() {
			continue
		}
		v.Providers = append(v.Providers, core.Option{Value: p.Name, Label: p.DisplayName})
		kinds[p.Takes.Listens] = true
		kinds[delivery.WritePlaylist] = kinds[delivery.WritePlaylist] || p.Takes.Playlists
		kinds[delivery.Archive] = kinds[delivery.Archive] || p.Takes.Archive
	}
	for _, kind := range channels.Kinds() {
		shown := func(d View) bool { return d.Provider == kind.Name }
		if in.Provider == kind.Name || slices.ContainsFunc(v.Deliveries, shown) {
			v.Providers = append(v.Providers, core.Option{Value: kind.Name, Label: kind.Label})
		}
	}
	for _, kind := range delivery.Kinds {
		if kinds[kind] {
			v.Kinds = append(v.Kinds, core.Option{Value: kind, Label: kindWords[kind]})
		}
	}
	return h.core.Render(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// addCounts fills in the number of deliveries in each state, and how many can be re-driven.
func (h *pages) addCounts(c echo.Context, v *pageView, f delivery.Filter) error {
	counts, err := h.counts(c.Request().Context(), f)
	if err != nil {
		return err
	}
	all := chipView{Current: f.State == "", URL: v.Filter.in("").address("/deliveries")}
	v.Chips = append(v.Chips, all)
	for _, state := range delivery.States {
		n := counts[state]
		v.Chips[0].Count += n
		v.Chips = append(v.Chips, chipView{State: string(state), Count: n, Current: f.State == state,
			URL: v.Filter.in(state).address("/deliveries")})
		if redrivable(state) && (f.State == "" || f.State == state) {
			v.Redrivable += n
		}
	}
	return nil
}

func (h *pages) redriveAllPage(c echo.Context) error {
	in, f, err := h.queryFilter(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, err := h.deliveries.Redrive(ctx, f, true)
	if err != nil {
		return err
	}
	back := in.address("/deliveries")
	if n == 0 {
		return h.core.Done(c, back, words.Plain("There is nothing to re-drive here."))
	}
	v := core.Confirmation{Title: "Re-drive " + web.Count(n, "delivery", "deliveries") + "?",
		Action: "/deliveries/redrive", Back: back, Button: "Re-drive " + web.Count(n, "delivery", "deliveries"),
		Lead: "They become due at once, with all their attempts before them. What cannot be carried yet waits " +
			"again; nothing is sent twice.",
		Fields: in.fields()}
	counts, err := h.store.CountDeliveries(ctx, f)
	if err != nil {
		return err
	}
	if n := counts[delivery.Dead]; n > 0 {
		v.Facts = append(v.Facts, web.Count(n, "dead letter", "dead letters"))
	}
	if n := counts[delivery.Retrying]; n > 0 {
		v.Facts = append(v.Facts, web.Count(n, "delivery that waits for its next attempt",
			"deliveries that wait for their next attempt"))
	}
	return h.core.Confirm(c, v)
}

func (h *pages) redriveAllForm(c echo.Context) error {
	in, err := core.Body[filter](c)
	if err != nil {
		return err
	}
	f, err := in.read(h.core.Registry, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	n, err := h.deliveries.Redrive(c.Request().Context(), f, false)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/deliveries", words.Plain(web.Count(n, "delivery goes", "deliveries go")+" out again now."))
}

func (h *pages) redriveForm(c echo.Context) error {
	v, err := h.redriveOne(c)
	if p, ok := errors.AsType[*core.Problem](err); ok && p.Status == http.StatusConflict {
		return h.core.Done(c, h.core.CameFrom(c), words.Plain(v.Subject+": "+p.Detail))
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, h.core.CameFrom(c), words.Plain(v.Subject+": goes out again now."))
}

func (h *pages) discardPage(c echo.Context) error {
	d, v, err := h.one(c)
	if err == nil {
		err = mayDiscard(d)
	}
	if err != nil {
		return err
	}
	label, err := h.core.Labels(c.Request().Context(), d.User)
	if err != nil {
		return err
	}
	to, back := label(d.Connection), h.core.CameFrom(c)
	if !strings.HasPrefix(back, "/deliveries") {
		back = "/deliveries"
	}
	return h.core.Confirm(c, core.Confirmation{Title: "Discard this delivery?",
		Fields: []core.Field{{Name: "back", Value: back}}, Lead: lossOf(d, to),
		Facts:  []string{v.Subject},
		Action: "/deliveries/" + v.ID + "/discard", Button: "Discard", Warn: true, Back: back})
}

// lossOf says what is lost if a delivery to a connection is discarded.
func lossOf(d delivery.Delivery, to string) string {
	switch {
	case d.Kind == delivery.Notify:
		return "What waits for this channel is not sent. It stands on the page of notifications."
	case d.Kind == delivery.WritePlaylist:
		return "The playlist stays as it is, here and there. It is written to " + to + " again when it changes."
	case d.Kind == delivery.Archive:
		return "The listens stay here. The month is written to the archive again when it gets another listen."
	case d.Items == 1:
		return "The listen stays in your history here, but it will not reach " + to + "."
	}
	return "These " + web.Count(d.Items, "listen", "listens") + " stay in your history here, but they will " +
		"not reach " + to + "."
}

func (h *pages) discardForm(c echo.Context) error {
	v, err := h.discard(c)
	if err != nil {
		return err
	}
	return h.core.Done(c, core.LocalPath(c.FormValue("back")), words.Plain(v.Subject+": discarded."))
}
