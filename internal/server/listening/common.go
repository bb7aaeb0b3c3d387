package listening

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// commonPath is the page of what two people have in common, and without one of them, the list of those who share.
const commonPath = "/listening/common"

// mostUnheard caps the artists that the page recommends.
const mostUnheard = 5

// commonView is the page of what two people have in common.
type commonView struct {
	Title, Person string
	Back          ui.Named
	Spans         []ui.Chip // none for all time alone
	When          string
	Apart         *apartView // where the other one is on another server
	Shares        []figure
	Empty         string // why there is nothing; empty if there is something
	Next          []ui.Action
	Found         []ui.Sentence
	Lists         []top
	Unheard       []ui.Item
}

// compared compares the listens of who asks with those of the person that a request names.
func (h *Handler) compared(c echo.Context, usual string, most int) (a asked, found listening.Common, err error) {
	a = asked{hour: -1, day: -1}
	if a.owner, a.other, err = h.owner(c); err != nil {
		return a, found, err
	}
	if !a.other {
		return a, found, core.HTTPProblem(http.StatusNotFound)
	}
	if err := a.span(c, core.Zone(c), usual); err != nil {
		return a, found, err
	}
	ctx := c.Request().Context()
	yours, err := h.columns(ctx, core.UserOf(c).ID, false)
	if err != nil {
		return a, found, err
	}
	theirs, err := h.columns(ctx, a.owner.ID, true)
	if err != nil {
		return a, found, err
	}
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return a, found, err
	}
	a.Most = most
	return a, listening.Compare(yours, theirs, meanings, a.Question), nil
}

// commonNames returns the names of everything in the lists of found.
func (h *Handler) commonNames(ctx context.Context, found listening.Common) (map[uint32]library.Entity, error) {
	var ids []uint32
	for _, list := range [][]listening.Pair{found.Artists, found.Albums, found.Tracks} {
		ids = append(ids, core.ViewAll(list, func(p listening.Pair) uint32 { return p.ID })...)
	}
	ids = append(ids, core.ViewAll(found.Found, func(f listening.Found) uint32 { return f.ID })...)
	return h.namesOf(ctx, ids, found.Unheard)
}

// commonPage shows what the reader and somebody else have in common, of all time unless the address has a span.
func (h *Handler) commonPage(c echo.Context) error {
	ctx := c.Request().Context()
	if _, other, err := h.owner(c); err == nil && !other {
		return h.sharers(c)
	}
	a, found, err := h.compared(c, listening.All, 10)
	if err != nil {
		return err
	}
	names, err := h.commonNames(ctx, found)
	if err != nil {
		return err
	}
	v := a.commonView(ctx, found)
	if err := h.fillCommon(ctx, &a, &v, found, names); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Title, common(v))
}

// fillCommon adds the lists of what two people have in common.
func (h *Handler) fillCommon(ctx context.Context, a *asked, v *commonView, found listening.Common,
	names map[uint32]library.Entity) error {
	for _, one := range []struct {
		id, title string
		pairs     []listening.Pair
	}{
		{"artists", words.T(ctx, "year.part.artists"), found.Artists},
		{"albums", words.T(ctx, "year.part.albums"), found.Albums},
		{"tracks", words.T(ctx, "year.part.tracks"), found.Tracks},
	} {
		rows, err := h.pairs(ctx, a, one.pairs, names)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			v.Lists = append(v.Lists, top{ID: one.id, Title: one.title, Rows: rows})
		}
	}
	for _, f := range found.Found {
		v.Found = append(v.Found, ui.Sentence{
			Text: words.T(ctx, "common.found", "Artist", "{artist}", "Month", words.From(ctx).Month(f.Month)),
			Slots: map[string]ui.Named{"{artist}": {Text: names[f.ID].Artist,
				URL: pageOf(library.KindArtist, f.ID)}}})
	}
	// These lead to the page of the other one.
	var err error
	v.Unheard, err = h.items(ctx, a, found.Unheard[:min(mostUnheard, len(found.Unheard))], names, nil)
	return err
}

// commonView puts what two people have in common into words and numbers, its lists apart.
func (a *asked) commonView(ctx context.Context, found listening.Common) commonView {
	v := commonView{Title: words.T(ctx, "common.title", "Person", a.owner.Name), Person: a.owner.Name,
		Back:  ui.Named{Text: a.title(ctx), URL: a.bare(a.owner.Name)},
		Spans: a.commonSpans(ctx), When: a.when(ctx)}
	whole := ui.Action{Label: words.T(ctx, "common.whole"), URL: a.common(listening.Span{Name: listening.All}),
		Main: true}
	bounded := a.Span.Name != listening.All
	switch {
	case found.Yours.Listens == 0 && !bounded:
		v.Empty = words.T(ctx, "common.nothing")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
			{Label: words.T(ctx, "listens.import"), URL: "/imports"}}
	case found.Theirs.Listens == 0 && !bounded:
		v.Empty = words.T(ctx, "listening.nothing_of", "Person", a.owner.Name)
		v.Next = []ui.Action{{Label: words.T(ctx, "listening.yours"), URL: a.bare(""), Main: true}}
	case found.Yours.Listens == 0 || found.Theirs.Listens == 0:
		v.Empty, v.Next = words.T(ctx, "common.nothing_then"), []ui.Action{whole}
	case found.Yours.Shared == 0 && bounded:
		v.Empty, v.Next = words.T(ctx, "common.none_then"), []ui.Action{whole}
	case found.Yours.Shared == 0:
		v.Empty = words.T(ctx, "common.none", "Person", a.owner.Name)
		v.Next = []ui.Action{{Label: v.Back.Text, URL: v.Back.URL, Main: true}}
	default:
		v.Shares = a.shares(ctx, found)
	}
	return v
}

// shares shows which parts of the listens of both are of what both heard.
func (a *asked) shares(ctx context.Context, found listening.Common) []figure {
	return []figure{share(ctx, found.Yours, words.T(ctx, "common.yours", "Person", a.owner.Name)),
		share(ctx, found.Theirs, words.T(ctx, "common.theirs", "Person", a.owner.Name))}
}

// share shows which part of somebody's listens is of what both heard.
func share(ctx context.Context, o listening.Overlap, label string) figure {
	return figure{N: words.T(ctx, "common.percent", "Percent", o.Percent()), Label: label,
		Note: words.T(ctx, "common.of", "Part", o.Shared, "Count", o.Listens)}
}

// commonSpans returns the spans that the page offers.
func (a *asked) commonSpans(ctx context.Context) (all []ui.Chip) {
	year, err := listening.NewSpan(listening.Year, a.Now)
	if err != nil {
		return nil
	}
	for _, one := range []struct {
		label string
		span  listening.Span
	}{
		{words.T(ctx, "listening.span.all"), listening.Span{Name: listening.All}},
		{words.T(ctx, "common.this_year"), year},
		{words.T(ctx, "profile.span.year"), listening.Recent(a.Now, 1, 0)},
		{words.T(ctx, "profile.span.month"), listening.Recent(a.Now, 0, 30)},
	} {
		all = append(all, ui.Chip{Label: one.label, URL: a.common(one.span), Current: a.Span.Name == one.span.Name &&
			a.Span.From.Equal(one.span.From) && a.Span.To.Equal(one.span.To)})
	}
	return all
}

// common returns the address of the page for another span, which is in or up to the present.
func (a *asked) common(s listening.Span) string {
	other := *a
	other.Span, other.at = s, a.Now
	return commonPath + "?" + other.parameters("", "")
}

// pairs returns rows of what both heard. They lead to the reader's own pages, who has heard all of it.
func (h *Handler) pairs(ctx context.Context, a *asked, all []listening.Pair, names map[uint32]library.Entity) (
	[]ui.Item, error) {
	rows := core.ViewAll(all, func(p listening.Pair) listening.Row {
		return listening.Row{ID: p.ID, Listens: p.Both()}
	})
	items, err := h.items(ctx, a, rows, names, nil)
	if err != nil {
		return nil, err
	}
	l := words.From(ctx)
	for i, p := range all {
		items[i].Title.URL = pageOf(names[p.ID].Kind, p.ID)
		items[i].Aside = both(pair{l.Number(p.Yours), l.Number(p.Theirs),
			words.T(ctx, "common.counts", "Yours", p.Yours, "Theirs", p.Theirs, "Person", a.owner.Name),
			p.Both() * 100 / all[0].Both()})
	}
	return items, nil
}

// pair is two numbers side by side, in a sentence too, with the smaller one in percent of the highest.
type pair struct {
	Yours, Theirs, Said string
	Part                int
}

type commonQuestion struct {
	core.SpanQuery
	Person string `query:"person" required:"true" doc:"The name of somebody else who lets everybody with an account see their numbers. Anybody else is answered 404."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"The length of each list."`
}

type commonAnswer struct {
	Span    TimeSpan   `json:"span"`
	Yours   Overlap    `json:"yours"`
	Theirs  Overlap    `json:"theirs"`
	Artists []Both     `json:"artists" doc:"That both heard, by the smaller of the two numbers of listens; so are albums and tracks."`
	Albums  []Both     `json:"albums"`
	Tracks  []Both     `json:"tracks"`
	Found   []BothOnce `json:"found" doc:"Artists that both heard for the first time in the same month, the latest first; the first month of either is left out."`
	Unheard []Both     `json:"unheard" doc:"Artists that the other person heard often, and you never did."`
}

// Overlap is how much of a person's listens is of artists that the other one heard.
type Overlap struct {
	Listens int `json:"listens"`
	Shared  int `json:"shared" doc:"Those of artists that the other person heard in the span, too."`
	Percent int `json:"percent" minimum:"0" maximum:"100"`
}

func viewOverlap(o listening.Overlap) Overlap { return Overlap{o.Listens, o.Shared, o.Percent()} }

// Both is an artist, an album or a track with the listens of two people.
type Both struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Artist string `json:"artist"`
	Yours  int    `json:"yours"`
	Theirs int    `json:"theirs"`
}

// BothOnce is an artist that two people found in the same month.
type BothOnce struct {
	Both
	Month string `json:"month" pattern:"^[0-9]{4}-[0-9]{2}$"`
}

// commonAPI answers what the one who asks and somebody else have in common.
func (h *Handler) commonAPI(c echo.Context, in *commonQuestion) (out commonAnswer, _ error) {
	a, found, err := h.compared(c, listening.Month, in.Limit)
	if err != nil {
		return out, err
	}
	names, err := h.commonNames(c.Request().Context(), found)
	if err != nil {
		return out, err
	}
	view := viewBoth(names)
	return commonAnswer{Span: viewSpan(a.Span), Yours: viewOverlap(found.Yours), Theirs: viewOverlap(found.Theirs),
		Artists: core.ViewAll(found.Artists, view), Albums: core.ViewAll(found.Albums, view),
		Tracks: core.ViewAll(found.Tracks, view),
		Found:  viewFound(found, view),
		Unheard: core.ViewAll(found.Unheard, func(r listening.Row) Both {
			return view(listening.Pair{ID: r.ID, Theirs: r.Listens})
		})}, nil
}

// viewBoth returns a function that returns a pair as the API has it.
func viewBoth(names map[uint32]library.Entity) func(listening.Pair) Both {
	return func(p listening.Pair) Both {
		e := names[p.ID]
		return Both{strconv.FormatUint(uint64(p.ID), 10), title(e), e.Artist, p.Yours, p.Theirs}
	}
}

func viewFound(found listening.Common, view func(listening.Pair) Both) []BothOnce {
	return core.ViewAll(found.Found, func(f listening.Found) BothOnce {
		return BothOnce{view(f.Pair), f.Month.Format("2006-01")}
	})
}
