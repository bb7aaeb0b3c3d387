package corrections

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// SuspectStore is what this package reads and changes of listens that can hardly be what happened.
type SuspectStore interface {
	Suspicious(ctx context.Context, user int64, before string, limit int) (page []library.Suspicion, next string,
		err error)
	KeepSuspicious(ctx context.Context, user int64, id string) (library.Correction, error)
	// Invented returns the listens that were never played, the earliest first.
	Invented(ctx context.Context, user int64) (ids []int64, err error)
}

const suspiciousPath = "/corrections/suspicious"

// Suspicion are suspicious listens in the API.
type Suspicion struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind" enum:"pair,stretch"` // pair or stretch
	Count   int            `json:"count" minimum:"2" doc:"How many listens they are."`
	From    core.Time      `json:"from" doc:"The second of the first listen."`
	To      core.Time      `json:"to" doc:"The end of the second of the last listen."`
	Length  *int64         `json:"duration_ms" doc:"How long the track of a pair is; null for unknown."`
	Reason  string         `json:"reason" doc:"Why they are suspicious."`
	Listens []music.Listen `json:"listens" maxItems:"5" doc:"The first ones, earliest first; both of a pair."`
}

func suspicionOf(ctx context.Context, v library.Suspicion, listens []music.Listen) Suspicion {
	one := Suspicion{ID: v.ID, Kind: "stretch", Count: v.Count, From: core.Stamp(v.From), To: core.Stamp(v.To),
		Reason: whySuspicious(ctx, v), Listens: listens}
	if v.Pair() {
		one.Kind = "pair"
	}
	if ms := v.Length.Milliseconds(); ms > 0 {
		one.Length = &ms
	}
	return one
}

// mostCounted is how many suspicious pairs and stretches the page of corrections counts.
const mostCounted = 50

// suspiciousLink returns what leads to n suspicious pairs and stretches, or more.
func suspiciousLink(ctx context.Context, n int, more bool) ui.Action {
	label := words.T(ctx, "suspicious.title")
	switch {
	case more:
		label = words.T(ctx, "suspicious.more", "Most", n)
	case n > 0:
		label = words.T(ctx, "suspicious.found", "Found", n)
	}
	return ui.Action{Label: label, URL: suspiciousPath}
}

type listSuspiciousListensAnswer struct {
	Next       *string     `json:"next" doc:"Cursor of the next page; null at the end."`
	Suspicious []Suspicion `json:"suspicious"`
}

func (h *Handler) suspiciousAPI(c echo.Context, _ *core.Paged) (
	out listSuspiciousListensAnswer, _ error,
) {
	page, next, err := h.suspicious(c)
	if err != nil {
		return out, err
	}
	ctx := c.Request().Context()
	out = listSuspiciousListensAnswer{Next: core.Text(next), Suspicious: []Suspicion{}}
	for _, v := range page {
		listens, err := h.rows.Listens(ctx, core.UserOf(c).ID, v.Listens...)
		if err != nil {
			return out, err
		}
		out.Suspicious = append(out.Suspicious, suspicionOf(ctx, v, listens))
	}
	return out, nil
}

// suspicious returns the page of suspicious listens that a request asks for.
func (h *Handler) suspicious(c echo.Context) (page []library.Suspicion, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	return h.store.Suspicious(c.Request().Context(), core.UserOf(c).ID, c.QueryParam("before"), n)
}

func (h *Handler) keep(c echo.Context) (library.Correction, error) {
	return h.store.KeepSuspicious(c.Request().Context(), core.UserOf(c).ID, c.Param("id"))
}

func (h *Handler) keepAPI(c echo.Context, _ *core.ByID) (out Correction, _ error) {
	made, err := h.keep(c)
	if err != nil {
		return out, err
	}
	return View(made), nil
}

func (h *Handler) keepForm(c echo.Context) error {
	made, err := h.keep(c)
	if err != nil {
		return err
	}
	return h.done(c, suspiciousPath, words.New("suspicious.kept", "Count", made.Listens), made)
}

// whySuspicious says in a sentence why listens can hardly be what happened.
func whySuspicious(ctx context.Context, v library.Suspicion) string {
	gap := v.To.Sub(v.From) - time.Second // from the first to the last
	apart := ui.Length(gap)
	if gap < time.Minute {
		apart = words.T(ctx, "suspicious.seconds", "Number", int(gap/time.Second))
	}
	length := ui.Length(v.Length)
	switch {
	case !v.Pair() && gap == 0:
		return words.T(ctx, "suspicious.many_at_once", "Count", v.Count)
	case !v.Pair():
		return words.T(ctx, "suspicious.many", "Count", v.Count, "Time", apart)
	case gap == 0:
		return words.T(ctx, "suspicious.at_once")
	case length == "":
		return words.T(ctx, "suspicious.pair", "Time", apart)
	}
	return words.T(ctx, "suspicious.pair_lasting", "Time", apart, "Length", length)
}

// suspiciousView is the page of suspicious listens.
type suspiciousView struct {
	Title, Lead string
	Items       []ui.Item
	Next        []ui.Action // without any
	Pages       ui.Pages
}

func (h *Handler) suspiciousPage(c echo.Context) error {
	page, next, err := h.suspicious(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	rows := make([][]music.Row, len(page))
	for i, v := range page {
		if rows[i], err = h.rows.Of(ctx, core.UserOf(c).ID, v.Listens); err != nil {
			return err
		}
	}
	invented, err := h.store.Invented(ctx, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	v := suspiciousViewOf(ctx, page, rows, len(invented))
	if c.QueryParam("before") != "" {
		v.Pages.Newest = suspiciousPath
	}
	if next != "" {
		v.Pages.Earlier = suspiciousPath + "?before=" + url.QueryEscape(next)
	}
	return h.core.Show(c, http.StatusOK, v.Title, suspiciousPage(v))
}

// suspiciousViewOf puts suspicious listens into words. rows are the listens of each, and invented is how many listens
// were never played.
func suspiciousViewOf(ctx context.Context, page []library.Suspicion, rows [][]music.Row, invented int) suspiciousView {
	v := suspiciousView{Title: words.T(ctx, "suspicious.title"), Lead: words.T(ctx, "suspicious.lead")}
	if invented > 0 {
		v.Items = append(v.Items, inventedItem(ctx, invented))
	}
	if len(page)+invented == 0 {
		v.Lead = words.T(ctx, "suspicious.none")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.title"), URL: "/listens"}}
	}
	for i, one := range page {
		v.Items = append(v.Items, suspectItem(ctx, one, rows[i]))
	}
	return v
}

// suspectItem returns the row of suspicious listens, with the two ways to decide.
func suspectItem(ctx context.Context, v library.Suspicion, rows []music.Row) ui.Item {
	i := music.Items(ctx, rows[:1])[0]
	i.ID, i.By = "suspicious-"+v.ID, nil
	i.Note = whySuspicious(ctx, v) + " " + words.T(ctx, "suspicious.heard", "At", v.From)
	span := url.Values{"from": {v.From.Format(time.RFC3339)}, "to": {v.To.Format(time.RFC3339)}}
	remove := url.Values{"then": {"suspicious"}}
	label := words.T(ctx, "suspicious.delete_these")
	if v.Pair() {
		label = words.T(ctx, "suspicious.delete_second")
		remove.Set("listen", strconv.FormatInt(v.Listens[1].ID, 10))
	} else {
		remove["from"], remove["to"] = span["from"], span["to"]
		i.Title = ui.Named{Text: titlesOf(rows, v.Count), URL: "/listens?" + span.Encode()}
		i.Credits, i.Picture = nil, &ui.Picture{}
	}
	i.Aside = ui.Actions([]ui.Action{
		{ID: "delete-" + v.ID, Label: label, URL: "/listens/delete?" + remove.Encode(), DescribedBy: i.ID},
		{ID: "keep-" + v.ID, Label: words.T(ctx, "suspicious.keep"), Post: suspiciousPath + "/" + v.ID + "/keep",
			DescribedBy: i.ID}})
	return i
}

// mostTitles is how many titles stand for a stretch.
const mostTitles = 3

// titlesOf names the first of many listens, each title once.
func titlesOf(rows []music.Row, many int) string {
	var all []string
	for _, r := range rows {
		if title := cmp.Or(r.Links.TrackName, r.Title); !slices.Contains(all, title) && len(all) < mostTitles {
			all = append(all, title)
		}
	}
	if many > len(all) {
		return strings.Join(all, ", ") + "\u00a0…"
	}
	return strings.Join(all, ", ")
}
