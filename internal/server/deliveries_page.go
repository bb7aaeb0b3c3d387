package server

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/providers"
	"reprise/web"
)

type deliveriesView struct {
	Filter     deliveryFilter
	Filtered   bool
	Chips      []chipView
	Providers  []optionView
	Kinds      []optionView
	Deliveries []deliveryView
	Newest     string // address of the first page, when this is a later one
	Earlier    string // address of the next page
	Redrivable int    // dead or retrying, under this filter
	RedriveAll string
	Takers     []*providers.Provider // connected, and able to take listens
}

// chipView is a state with its number, and leads to those that are in it.
type chipView struct {
	State   string // empty for all of them
	Count   int
	URL     string
	Current bool
}

type optionView struct{ Value, Label string }

// kindWords are the kinds of deliveries in words.
var kindWords = map[string]string{
	delivery.SubmitListens: "Listens, submitted",
	delivery.Scrobble:      "Listens, scrobbled",
	delivery.WritePlaylist: "Playlists",
	delivery.Archive:       "Months of the archive",
	delivery.Notify:        "Messages",
}

// address is a page's with this filter; more are further names and values.
func (f deliveryFilter) address(path string, more ...string) string {
	q := url.Values{}
	pairs := append([]string{"state", f.State, "provider", f.Provider, "kind", f.Kind, "category", f.Category}, more...)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (s *Server) deliveriesPage(c echo.Context) error {
	in, f, err := s.queryFilter(c)
	if err != nil {
		return err
	}
	v := deliveriesView{Filter: in, Filtered: in != deliveryFilter{}, RedriveAll: in.address("/deliveries/redrive")}
	var next string
	if v.Deliveries, next, err = s.deliveries(c, f); err != nil {
		return err
	}
	if next != "" {
		v.Earlier = in.address("/deliveries", "before", next)
	}
	if c.QueryParam("before") != "" {
		v.Newest = in.address("/deliveries")
	}
	if err := s.addCounts(c, &v, f); err != nil {
		return err
	}
	statuses, err := s.Connections.StatusOf(c.Request().Context(), f.User, s.Store)
	if err != nil {
		return err
	}
	for _, st := range statuses {
		if st.Provider.Takes.Listens != "" {
			v.Takers = append(v.Takers, st.Provider)
		}
	}
	kinds := map[string]bool{delivery.Notify: true}
	for _, p := range s.Registry.All() {
		if p.Takes.Nothing() {
			continue
		}
		v.Providers = append(v.Providers, optionView{p.Name, p.DisplayName})
		kinds[p.Takes.Listens] = true
		kinds[delivery.WritePlaylist] = kinds[delivery.WritePlaylist] || p.Takes.Playlists
		kinds[delivery.Archive] = kinds[delivery.Archive] || p.Takes.Archive
	}
	for _, kind := range channels.Kinds() {
		shown := func(d deliveryView) bool { return d.Provider == kind.Name }
		if in.Provider == kind.Name || slices.ContainsFunc(v.Deliveries, shown) {
			v.Providers = append(v.Providers, optionView{kind.Name, kind.Label})
		}
	}
	for _, kind := range delivery.Kinds {
		if kinds[kind] {
			v.Kinds = append(v.Kinds, optionView{kind, kindWords[kind]})
		}
	}
	return s.render(c, http.StatusOK, "deliveries", "Deliveries", v)
}

// addCounts fills in the numbers by state, and how many could be re-driven.
func (s *Server) addCounts(c echo.Context, v *deliveriesView, f delivery.Filter) error {
	counts, err := s.counts(c.Request().Context(), f)
	if err != nil {
		return err
	}
	all := chipView{Current: f.State == "", URL: v.Filter.in("").address("/deliveries")}
	v.Chips = append(v.Chips, all)
	for _, state := range delivery.States {
		n := counts[state]
		v.Chips[0].Count += n
		v.Chips = append(v.Chips, chipView{State: string(state), Count: n, Current: f.State == state, URL: v.Filter.in(state).address("/deliveries")})
		if redrivable(state) && (f.State == "" || f.State == state) {
			v.Redrivable += n
		}
	}
	return nil
}

// in is the filter with another state.
func (f deliveryFilter) in(state delivery.State) deliveryFilter {
	f.State = string(state)
	return f
}

// confirmView asks before something that cannot be taken back, or that is much.
type confirmView struct {
	Title, Lead string
	Facts       []string
	Action      string
	Fields      []fieldView // hidden ones
	Button      string
	Warn        bool
	Back        string
}

type fieldView struct{ Name, Value string }

func (s *Server) confirm(c echo.Context, v confirmView) error {
	return s.render(c, http.StatusOK, "confirm", v.Title, v)
}

// toDeliveries ends a form with a sentence on the page of deliveries.
func (s *Server) toDeliveries(c echo.Context, to, sentence string) error {
	s.sessions.Put(c.Request().Context(), flashKey, sentence)
	return c.Redirect(http.StatusSeeOther, to)
}

func (s *Server) redriveAllPage(c echo.Context) error {
	in, f, err := s.queryFilter(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	n, err := s.Deliveries.Redrive(ctx, f, true)
	if err != nil {
		return err
	}
	back := in.address("/deliveries")
	if n == 0 {
		return s.toDeliveries(c, back, "There is nothing to re-drive here.")
	}
	v := confirmView{Title: "Re-drive " + web.Count(n, "delivery", "deliveries") + "?", Action: "/deliveries/redrive", Back: back, Button: "Re-drive " + web.Count(n, "delivery", "deliveries"),
		Lead:   "They become due at once, with all their attempts before them. What cannot be carried yet waits again; nothing is sent twice.",
		Fields: []fieldView{{"state", in.State}, {"provider", in.Provider}, {"kind", in.Kind}, {"category", in.Category}}}
	counts, err := s.Store.CountDeliveries(ctx, f)
	if err != nil {
		return err
	}
	if n := counts[delivery.Dead]; n > 0 {
		v.Facts = append(v.Facts, web.Count(n, "dead letter", "dead letters"))
	}
	if n := counts[delivery.Retrying]; n > 0 {
		v.Facts = append(v.Facts, web.Count(n, "delivery that waits for its next attempt", "deliveries that wait for their next attempt"))
	}
	return s.confirm(c, v)
}

func (s *Server) redriveAllForm(c echo.Context) error {
	in, err := body[deliveryFilter](c)
	if err != nil {
		return err
	}
	f, err := s.filter(userOf(c).ID, in)
	if err != nil {
		return err
	}
	n, err := s.Deliveries.Redrive(c.Request().Context(), f, false)
	if err != nil {
		return err
	}
	return s.toDeliveries(c, "/deliveries", web.Count(n, "delivery goes", "deliveries go")+" out again now.")
}

func (s *Server) redriveForm(c echo.Context) error {
	v, err := s.redriveOne(c)
	if p, ok := errors.AsType[*problem](err); ok && p.Status == http.StatusConflict {
		return s.toDeliveries(c, s.cameFrom(c), v.Subject+": "+p.Detail)
	}
	if err != nil {
		return err
	}
	return s.toDeliveries(c, s.cameFrom(c), v.Subject+": goes out again now.")
}

func (s *Server) discardPage(c echo.Context) error {
	d, v, err := s.delivery(c)
	if err == nil {
		err = mayDiscard(d)
	}
	if err != nil {
		return err
	}
	back := s.cameFrom(c)
	if !strings.HasPrefix(back, "/deliveries") {
		back = "/deliveries"
	}
	return s.confirm(c, confirmView{Title: "Discard this delivery?", Fields: []fieldView{{"back", back}}, Lead: lossOf(d, s.Registry.Get(d.Provider)), Facts: []string{v.Subject},
		Action: "/deliveries/" + v.ID + "/discard", Button: "Discard", Warn: true, Back: back})
}

// lossOf says what is lost with a delivery.
func lossOf(d delivery.Delivery, p *providers.Provider) string {
	to := d.Provider
	if p != nil {
		to = p.DisplayName
	}
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
	return "These " + web.Count(d.Items, "listen", "listens") + " stay in your history here, but they will not reach " + to + "."
}

func (s *Server) discardForm(c echo.Context) error {
	v, err := s.discard(c)
	if err != nil {
		return err
	}
	return s.toDeliveries(c, localPath(c.FormValue("back")), v.Subject+": discarded.")
}
