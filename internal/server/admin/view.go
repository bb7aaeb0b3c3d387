package admin

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
	"reprise/web/ui"
)

// key is a key with the service that it belongs to.
type key struct {
	keys.Status
	provider, service string
}

// why says why a key cannot be used now; zero if it can.
func why(k keys.Status) words.Text {
	switch {
	case k.Invalid && k.Category == resilience.Config:
		return words.New("key.why.not_for_this")
	case k.Invalid:
		return words.New("key.why.invalid")
	case k.Until.IsZero():
		return words.Text{}
	case k.Category == resilience.Quota:
		return words.New("key.why.quota")
	}
	return words.New("key.why.too_often")
}

// state says in a sentence whether a key can be used.
func state(k keys.Status) words.Text {
	switch k.State() {
	case keys.Cooling:
		return words.New("key.state.cooling", "Why", why(k), "Until", k.Until)
	case keys.Refused:
		return words.New("key.state.refused", "Why", why(k))
	}
	return words.New("key.state.ready")
}

// lead says what trying a key again means.
func lead(service string, k keys.Status) words.Text {
	switch k.State() {
	case keys.Refused:
		return words.New("key.lead.refused", "Service", service, "Why", why(k))
	case keys.Cooling:
		return words.New("key.lead.cooling", "Service", service, "Until", k.Until, "Why", why(k))
	}
	return words.New("key.lead.ready")
}

// keyTable returns keys as a table, without the columns in which there would be nothing.
func keyTable(ctx context.Context, all []key) ui.Grid {
	projects := slices.ContainsFunc(all, func(k key) bool { return k.Project != "" })
	spent := slices.ContainsFunc(all, func(k key) bool { return k.State() != keys.Ready })
	g := ui.Grid{Columns: []string{words.T(ctx, "key.service"), words.T(ctx, "key.key")}}
	if projects {
		g.Columns = append(g.Columns, words.T(ctx, "key.project"))
	}
	g.Columns = append(g.Columns, words.T(ctx, "key.status"))
	if spent {
		g.Columns = append(g.Columns, words.T(ctx, "key.action"))
	}
	for i, k := range all {
		id := "key-" + strconv.Itoa(i)
		cells := []templ.Component{ui.Labelled(id, k.service), ui.Code("…" + k.LastFour)}
		if projects {
			cells = append(cells, ui.Name(cmp.Or(k.Project, "–")))
		}
		cells = append(cells, ui.Say(state(k.Status).T(ctx)))
		if k.State() != keys.Ready {
			cells = append(cells, ui.Button(ui.Action{Label: words.T(ctx, "key.try"), DescribedBy: id,
				URL: "/settings/server/keys/" + k.provider + "/" + url.PathEscape(k.LastFour) + "/reset"}))
		} else if spent {
			cells = append(cells, templ.NopComponent)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: cells})
	}
	return g
}

// endpoints says how many endpoints were called, if none of them is paused.
func endpoints(ctx context.Context, open, all int) string {
	switch {
	case all == 0:
		return words.T(ctx, "breaker.none_called")
	case open == 0:
		return words.T(ctx, "breaker.all_well", "Count", all)
	}
	return ""
}

// breakerTable returns the breakers that are not closed as a table.
func breakerTable(ctx context.Context, open []transport.BreakerStatus) ui.Grid {
	g := ui.Grid{Columns: []string{words.T(ctx, "breaker.endpoint"), words.T(ctx, "breaker.status"),
		words.T(ctx, "breaker.since"), words.T(ctx, "key.action")}}
	for i, b := range open {
		id := "endpoint-" + strconv.Itoa(i)
		what := words.New("breaker.trying")
		if b.State == transport.BreakerOpen {
			what = words.New("breaker.paused", "Until", b.Until)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{labelledCode(id, b.Endpoint), ui.Say(what.T(ctx)),
			ui.Time(b.Since, ui.Ago), ui.Button(ui.Action{Label: words.T(ctx, "breaker.try"), DescribedBy: id,
				Post: "/settings/server/breakers/reset", Fields: []ui.Hidden{{Name: "endpoint", Value: b.Endpoint}}})}})
	}
	return g
}
