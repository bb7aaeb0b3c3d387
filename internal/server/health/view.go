package health

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/connections"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page.
type pageView struct {
	Title, Lead string
	Shape       string // of the state of all services; empty for a past day
	Empty       bool   // no service was ever called
	Services    []serviceView
	Days        []ui.Link
	Jobs        *ui.Grid // what waits or is under way, for administrators; nil if nothing does
	Servers     *ui.Grid // those that share the database, for administrators; nil if there is only this one
}

// serviceView is the line of a service, with what it shows on demand.
type serviceView struct {
	ID, Name  string
	Mark      ui.Mark // empty for a past day
	Why       string  // what is wrong
	Strip     stripView
	Answered  string    // share of the calls
	Typical   string    // time of a call
	Trouble   time.Time // the last one; zero for none
	Tries     string    // per success, lately; empty without any
	Live      bool
	Open      bool // shows its details from the start
	Fortnight *stripView
	Source    string // of the chart
	Remarks   []remarkView
	Endpoints []endpointLine
}

// stripView is a row of bars.
type stripView struct {
	Label string
	Slots []ui.Slot
	From  time.Time
}

// remarkView is a sentence about what is wrong, with what an administrator can do.
type remarkView struct {
	ID, Text string
	Requests string   // that it is about, for those who look into it
	Reset    []string // the endpoints whose breakers can be reset
}

// hidden returns the fields with which a button names endpoints.
func hidden(endpoints []string) (all []ui.Hidden) {
	for _, e := range endpoints {
		all = append(all, ui.Hidden{Name: "endpoint", Value: e})
	}
	return all
}

// endpointLine is an endpoint in the table.
type endpointLine struct {
	Name, Title                    string // method and path, and with the host
	Calls, Failed, Typical, Paused string
	Mark                           ui.Mark
}

// builder makes the page of what was counted.
type builder struct {
	l   *words.Language
	ctx context.Context
	now time.Time
	counted
	standings map[string]standing
	open      map[endpointKey][]transport.BreakerStatus
	offline   bool
	mayReset  bool
	name      displayName
}

// service is a service with its endpoints, on the way into a view.
type service struct {
	numbers
	name      string
	state     string
	why       string
	endpoints []numbers
}

func (b *builder) page() pageView {
	all := b.services()
	v := pageView{Days: b.days(), Empty: len(all) == 0 && b.day.IsZero()}
	for i := range all {
		v.Services = append(v.Services, b.view(&all[i]))
	}
	openOne(v.Services)
	v.Title, v.Lead, v.Shape = b.headline(all)
	return v
}

// live says whether the page is about now.
func (b *builder) live() bool { return b.day.IsZero() }

// services groups the endpoints by service, the worst first.
func (b *builder) services() (all []service) {
	seen := map[string]bool{}
	for rest := b.endpoints; len(rest) > 0; {
		provider := rest[0].Provider
		n := slices.IndexFunc(rest, func(h metrics.Health) bool { return h.Provider != provider })
		if n < 0 {
			n = len(rest)
		}
		all, rest = append(all, b.service(provider, rest[:n])), rest[n:]
		seen[provider] = true
	}
	for provider, s := range b.standings {
		if !seen[provider] && gravity[s.state] > 0 {
			all = append(all, b.service(provider, nil))
		}
	}
	slices.SortStableFunc(all, func(x, y service) int {
		return cmp.Or(gravity[y.state]-gravity[x.state], cmp.Compare(strings.ToLower(x.name), strings.ToLower(y.name)))
	})
	return all
}

func (b *builder) service(provider string, endpoints []metrics.Health) service {
	s := service{name: b.name(library.ConnectionID(provider))}
	s.Health = metrics.Sum(endpoints)
	s.Provider = provider
	for _, h := range endpoints {
		e := numbers{h, b.open[endpointKey{provider, h.Endpoint}]}
		s.endpoints = append(s.endpoints, e)
		s.numbers.open = append(s.numbers.open, e.open...)
		s.Trend = max(s.Trend, h.Trend)
	}
	card := b.standings[provider]
	if s.state = s.numbers.state(); b.live() {
		s.state = worse(s.state, card.state)
	}
	if s.state == card.state && s.state != needsAdmin && s.state != needsReconnect { // which the banner says
		s.why = card.why
	}
	slices.SortStableFunc(s.endpoints, func(x, y numbers) int { return gravity[y.state()] - gravity[x.state()] })
	return s
}

func (b *builder) view(s *service) serviceView {
	v := serviceView{ID: s.Provider, Name: s.name, Why: s.why, Live: b.live(), Typical: b.mean(s.Day),
		Answered: b.answered(s.Day), Strip: b.strip(s)}
	if b.live() {
		v.Mark = b.mark(s.state)
		v.Source = "/api/v1/health/hours?provider=" + s.Provider
		hours := b.hoursOf(s.Provider)
		v.Trouble, v.Tries = b.lastTrouble(s, hours), b.tries(s)
		fortnight := b.fortnight(s.name, hours)
		v.Fortnight = &fortnight
	}
	v.Remarks = b.remarks(s)
	for _, e := range s.endpoints {
		v.Endpoints = append(v.Endpoints, b.line(e))
	}
	return v
}

// openOne opens the one service about which something is to be read. Where there are several, a person chooses.
func openOne(all []serviceView) {
	remarked := func(s serviceView) bool { return len(s.Remarks) > 0 }
	first := slices.IndexFunc(all, remarked)
	if first >= 0 && !slices.ContainsFunc(all[first+1:], remarked) {
		all[first].Open = true
	}
}

// mark returns a state in a word: those that connections have too are named as everywhere else.
func (b *builder) mark(state string) ui.Mark {
	switch state {
	case needsAdmin, needsReconnect, held, paused:
		return connections.StateMark(b.ctx, state, b.mayReset)
	}
	return ui.Mark{Shape: shapeOf(state), Word: words.Each("health.state.", state).In(b.l)}
}

// line returns the row of an endpoint.
func (b *builder) line(e numbers) endpointLine {
	v := endpointLine{Name: withoutHost(e.Endpoint), Title: e.Endpoint, Calls: b.l.Number(e.Day.Attempts),
		Failed: b.percent(e.Day.FailureRate()), Typical: b.mean(e.Day), Paused: b.minutes(e.Day.Open)}
	if b.live() {
		v.Mark = b.mark(e.state())
	}
	return v
}

// withoutHost returns method and path of an endpoint: "GET /v1/me" of "GET api.spotify.com/v1/me".
func withoutHost(endpoint string) string {
	method, rest, ok := strings.Cut(endpoint, " ")
	if !ok {
		return endpoint
	}
	if _, path, ok := strings.Cut(rest, "/"); ok {
		return method + " /" + path
	}
	_, name, ok := strings.Cut(rest, " ") // of a call that has no path: "POST ws.audioscrobbler.com track.scrobble"
	if !ok {
		return endpoint
	}
	return method + " " + name
}

// hoursOf returns the hours of a service.
func (b *builder) hoursOf(provider string) []metrics.Quarter {
	from := slices.IndexFunc(b.hours, func(q metrics.Quarter) bool { return q.Provider == provider })
	if from < 0 {
		return nil
	}
	n := slices.IndexFunc(b.hours[from:], func(q metrics.Quarter) bool { return q.Provider != provider })
	if n < 0 {
		return b.hours[from:]
	}
	return b.hours[from : from+n]
}

// troubled says whether so much of a time failed that a person would call it trouble.
func troubled(t metrics.Tally) bool {
	return t.Open > 0 || t.Failures > 1 && t.Failures*4 >= t.Attempts
}

// lastTrouble returns when the latest trouble ended, at most now; zero for none. An hour with many calls would hide a
// short outage of one endpoint, so that the quarters of the last day are looked at as well.
func (b *builder) lastTrouble(s *service, hours []metrics.Quarter) (end time.Time) {
	for _, q := range slices.Backward(hours) {
		if troubled(q.Tally) {
			end = q.Start.Add(time.Hour)
			break
		}
	}
	for _, e := range s.endpoints {
		for i, t := range slices.Backward(e.Quarters) {
			if !troubled(t) {
				continue
			}
			if at := b.from.Add(time.Duration(i+1) * metrics.QuarterLength); at.After(end) {
				end = at
			}
			break
		}
	}
	if end.After(b.now) {
		return b.now
	}
	return end
}
