package listening

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/comparing"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// How old a comparison becomes before the other server is asked again, and how long it is left alone after it failed.
const (
	freshFor   = time.Hour
	spareAfter = 10 * time.Minute
)

// longestLink is the maximum length of a link, in characters.
const longestLink = 500

func apartPath(id int64) string { return commonPath + "/apart/" + strconv.FormatInt(id, 10) }

// apartView is what the page of a comparison says about the other server.
type apartView struct {
	Notices []ui.Notice
	About   string // when and where it was read
	Again   string // where a form asks the other server now; empty where a notice has it
	Delete  string
}

// problemOf returns why a comparison can't be read now; empty if it can.
func problemOf(v library.Comparison, now time.Time) comparing.Problem {
	switch {
	case v.Link == "":
		return comparing.Lost
	case !v.ExpiresAt.IsZero() && !v.ExpiresAt.After(now):
		return comparing.Expired
	}
	if p := comparing.Problem(v.Problem); p != comparing.Expired {
		return p
	}
	return comparing.Gone // only the signed document tells when it expires
}

// documentOf returns what the other server last answered; false if it may not be shown, or is nothing.
func documentOf(v library.Comparison, now time.Time) (d comparing.Document, ok bool) {
	if problemOf(v, now).Ended() || json.Unmarshal(v.Document, &d) != nil {
		return d, false
	}
	return d, true
}

// readApart asks the other server of a comparison, and stores what it answers. It returns why it failed, if it did.
func (h *Handler) readApart(ctx context.Context, v library.Comparison) (library.Comparison, error) {
	link, err := comparing.ParseLink(v.Link)
	if err != nil {
		return v, err
	}
	d, err := h.comparing.Read(ctx, v.User, link)
	problem, failed := errors.AsType[comparing.Problem](err)
	if err != nil && !failed {
		return v, err
	}
	v.TriedAt, v.Problem = time.Now(), string(problem)
	if err == nil { // what it refuses isn't signed: what was read is hidden, and stays
		v.ReadAt, v.Name, v.ExpiresAt = v.TriedAt, d.Name, d.ExpiresAt
		if v.Document, err = json.Marshal(d); err != nil {
			return v, err
		}
	}
	if v.ID != 0 {
		if e := h.store.ChangeComparison(ctx, v); e != nil {
			return v, e
		}
	}
	return v, err
}

// addApart begins to compare with the one who made a link.
func (h *Handler) addApart(c echo.Context, text string) (v library.Comparison, err error) {
	ctx, me := c.Request().Context(), core.UserOf(c).ID
	link, err := comparing.ParseLink(text)
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return v, refuse(words.Of(e.Problem))
	}
	if err != nil || len(text) > longestLink {
		return v, refuse(words.New("problem.compare.link"))
	}
	own, err := h.store.ShareByHash(ctx, library.ShareCompare, accounts.HashToken(link.Code))
	switch {
	case err == nil && own.User == me:
		return v, refuse(words.New("problem.compare.own"))
	case err == nil:
		return v, refuse(words.New("problem.compare.here"))
	case !errors.Is(err, library.ErrNotFound):
		return v, err
	}
	all, err := h.store.Comparisons(ctx, me)
	if err != nil {
		return v, err
	}
	if len(all) >= library.MostComparisons {
		return v, tooMany()
	}
	v, err = h.readApart(ctx, library.Comparison{User: me, Link: link.String(), Host: link.Base.Host})
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return v, refuse(words.Of(e.Problem))
	}
	if p, ok := errors.AsType[comparing.Problem](err); ok {
		return v, refuse(p.Text(v.Host))
	}
	if err != nil {
		return v, err
	}
	return h.store.AddComparison(ctx, v)
}

// apart returns the comparison that a request's path names, read again if it is old.
func (h *Handler) apart(c echo.Context, again bool) (v library.Comparison, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return v, err
	}
	ctx, now := c.Request().Context(), time.Now()
	if v, err = h.store.Comparison(ctx, core.UserOf(c).ID, id); err != nil {
		return v, err
	}
	ended := v.Link == "" || problemOf(v, now) == comparing.Expired
	due := now.Sub(v.ReadAt) > freshFor && now.Sub(v.TriedAt) > spareAfter
	if !ended && (again || due) {
		v, err = h.readApart(ctx, v)
		if _, ok := errors.AsType[comparing.Problem](err); ok { // the page says so
			err = nil
		}
	}
	return v, err
}

// comparedApart compares what the reader heard with a document.
func (h *Handler) comparedApart(c echo.Context, d comparing.Document, most int) (found listening.Common,
	names map[uint32]library.Entity, err error) {
	mine, names, err := h.summary(c, core.UserOf(c), false)
	if err != nil {
		return found, nil, err
	}
	theirs := d.Summary(mine, names)
	return listening.CompareSummaries(mine, theirs, most), names, nil
}

// apartPage shows what the reader and somebody with a Reprise of their own have in common.
func (h *Handler) apartPage(c echo.Context) error {
	v, err := h.apart(c, false)
	if err != nil {
		return err
	}
	ctx, now := c.Request().Context(), time.Now()
	a := asked{hour: -1, day: -1, owner: accounts.User{Name: v.Name}, other: true,
		Question: listening.Question{Now: now, Span: listening.Span{Name: listening.All}}}
	page := commonView{Title: words.T(ctx, "common.title", "Person", v.Name), Person: v.Name,
		Back: ui.Named{Text: words.T(ctx, "common.heading"), URL: commonPath}, Apart: apartOf(ctx, v, now)}
	if d, ok := documentOf(v, now); ok {
		found, names, err := h.comparedApart(c, d, 10)
		if err != nil {
			return err
		}
		if err := h.fillApart(ctx, &a, &page, found, names); err != nil {
			return err
		}
	}
	return h.core.Show(c, http.StatusOK, page.Title, common(page))
}

// apartOf says what there is to say about the other server.
func apartOf(ctx context.Context, v library.Comparison, now time.Time) *apartView {
	p := &apartView{Again: apartPath(v.ID) + "/again", Delete: apartPath(v.ID) + "/delete"}
	problem := problemOf(v, now)
	if problem != "" {
		next := ui.Action{ID: "again", Label: words.T(ctx, "common.again"), Post: p.Again}
		if problem.Ended() || problem == comparing.Lost {
			next = ui.Action{Label: words.T(ctx, "common.paste"), URL: commonPath + "#paste"}
		}
		p.Again = ""
		p.Notices = []ui.Notice{{ID: "apart", Text: problem.Text(v.Host).T(ctx), Actions: []ui.Action{next}}}
	}
	if _, ok := documentOf(v, now); ok {
		about := []words.Text{words.New("common.as_of", "Host", v.Host, "At", v.ReadAt)}
		if !v.ExpiresAt.IsZero() {
			about = append(about, words.New("common.link.until", "Day", words.Day(v.ExpiresAt)))
		}
		p.About = words.Join(about...).T(ctx)
	}
	return p
}

// fillApart adds what two people have in common, or why that is nothing.
func (h *Handler) fillApart(ctx context.Context, a *asked, v *commonView, found listening.Common,
	names map[uint32]library.Entity) error {
	switch {
	case found.Yours.Listens == 0:
		v.Empty = words.T(ctx, "common.nothing")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
			{Label: words.T(ctx, "listens.import"), URL: "/imports"}}
		return nil
	case found.Theirs.Listens == 0:
		v.Empty = words.T(ctx, "listening.nothing_of", "Person", a.owner.Name)
	case found.Yours.Shared == 0:
		v.Empty = words.T(ctx, "common.none", "Person", a.owner.Name)
	default:
		v.Shares = a.shares(ctx, found)
	}
	if v.Empty != "" {
		v.Next = []ui.Action{{Label: words.T(ctx, "listening.yours"), URL: "/listening", Main: true}}
	}
	if err := h.fillCommon(ctx, a, v, found, names); err != nil {
		return err
	}
	for i := range v.Unheard { // nothing here is about them
		v.Unheard[i].Title.URL = ""
	}
	return nil
}

func (h *Handler) apartForm(c echo.Context) error {
	text := strings.TrimSpace(c.FormValue("link"))
	v, err := h.addApart(c, text)
	if r, ok := errors.AsType[*core.Refusal](err); ok {
		return h.showSharers(c, r.Status, sharersView{Link: text, LinkProblem: r.Detail.T(c.Request().Context())})
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, apartPath(v.ID), words.New("common.added", "Person", v.Name))
}

func (h *Handler) apartAgainForm(c echo.Context) error {
	v, err := h.apart(c, true)
	if err != nil {
		return err
	}
	if v.Problem != "" { // the page says so
		return c.Redirect(http.StatusSeeOther, apartPath(v.ID))
	}
	return h.core.Done(c, apartPath(v.ID), words.New("common.read"))
}

func (h *Handler) apartDeleteForm(c echo.Context) error {
	// It may have been deleted in another tab.
	if err := h.deleteApart(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.Done(c, commonPath, words.New("common.removed"))
}

func (h *Handler) deleteApart(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	return h.store.DeleteComparison(c.Request().Context(), core.UserOf(c).ID, id)
}

// Comparison is what somebody with a Reprise of their own shows the signed-in user.
type Comparison struct {
	ID        string         `json:"id"`
	Person    string         `json:"person" doc:"The name of the other person, as their server says."`
	Host      string         `json:"host" doc:"Of their server."`
	ReadAt    core.MaybeTime `json:"read_at" doc:"When their server last answered."`
	TriedAt   core.MaybeTime `json:"tried_at" doc:"When it was last asked."`
	ExpiresAt core.MaybeTime `json:"expires_at"`
	Problem   string         `json:"problem" doc:"Why it can't be read now: gone, expired, away, old, newer, forged, refused, moved or lost; empty if it can."`
	Message   string         `json:"message" doc:"The same in words; empty if it can."`
}

func viewComparison(ctx context.Context, v library.Comparison) Comparison {
	p := problemOf(v, time.Now())
	out := Comparison{ID: strconv.FormatInt(v.ID, 10), Person: v.Name, Host: v.Host, ReadAt: core.Moment(v.ReadAt),
		TriedAt: core.Moment(v.TriedAt), ExpiresAt: core.Moment(v.ExpiresAt), Problem: string(p)}
	if p != "" {
		out.Message = p.Text(v.Host).T(ctx)
	}
	return out
}

type listComparisonsAnswer struct {
	Comparisons []Comparison `json:"comparisons"`
}

func (h *Handler) comparisonsAPI(c echo.Context, _ *core.None) (out listComparisonsAnswer, _ error) {
	ctx := c.Request().Context()
	all, err := h.store.Comparisons(ctx, core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return listComparisonsAnswer{core.ViewAll(all, func(v library.Comparison) Comparison {
		return viewComparison(ctx, v)
	})}, nil
}

type addComparisonRequest struct {
	core.IdempotencyKey
	Body struct {
		Link string `json:"link" minLength:"1" maxLength:"500" doc:"The whole link, as its owner sees it."`
	}
}

func (h *Handler) addComparisonAPI(c echo.Context, in *addComparisonRequest) (out Comparison, _ error) {
	v, err := h.addApart(c, in.Body.Link)
	if err != nil {
		return out, err
	}
	return viewComparison(c.Request().Context(), v), nil
}

type comparisonQuestion struct {
	core.ByID
	Limit int  `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"The length of each list."`
	Again bool `query:"again" doc:"Whether to ask the other server now. It is asked anyway if it wasn't for an hour."`
}

type comparisonAnswer struct {
	Comparison Comparison `json:"comparison"`
	Yours      Overlap    `json:"yours" doc:"A listen of two artists counts for each."`
	Theirs     Overlap    `json:"theirs"`
	Artists    []Both     `json:"artists" doc:"That both heard, by the smaller of the two numbers of listens."`
	Found      []BothOnce `json:"found" doc:"Artists that both heard for the first time in the same month, the latest first; the first month of either is left out."`
	Unheard    []Both     `json:"unheard" doc:"Artists that the other person heard often, and you never did; their ids are empty."`
}

func (h *Handler) comparisonAPI(c echo.Context, in *comparisonQuestion) (out comparisonAnswer, _ error) {
	v, err := h.apart(c, in.Again)
	if err != nil {
		return out, err
	}
	var found listening.Common
	var names map[uint32]library.Entity
	if d, ok := documentOf(v, time.Now()); ok {
		if found, names, err = h.comparedApart(c, d, in.Limit); err != nil {
			return out, err
		}
	}
	view := viewBoth(names)
	return comparisonAnswer{Comparison: viewComparison(c.Request().Context(), v), Yours: viewOverlap(found.Yours),
		Theirs: viewOverlap(found.Theirs), Artists: core.ViewAll(found.Artists, view), Found: viewFound(found, view),
		Unheard: core.ViewAll(found.Unheard, func(r listening.Row) Both {
			b := view(listening.Pair{ID: r.ID, Theirs: r.Listens})
			b.ID = ""
			return b
		})}, nil
}

func (h *Handler) deleteComparisonAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.deleteApart(c)
}
