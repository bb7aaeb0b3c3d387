// Package digests answers for the weekly digests.
package digests

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Digests(ctx context.Context, user int64) ([]digest.Digest, error)
	Digest(ctx context.Context, user, id int64) (digest.Digest, error)
	DigestsWanted(ctx context.Context, user int64) (bool, error)
	DigestsSpent(ctx context.Context, user int64, since time.Time) ([]digest.Spent, error)
}

// Handler answers for the weekly digests.
type Handler struct {
	core    *core.Core
	store   Store
	digests *digest.Runner
	guard   *syncer.Guard
}

// New returns a Handler.
func New(k *core.Core, store Store, digests *digest.Runner, guard *syncer.Guard) *Handler {
	return &Handler{core: k, store: store, digests: digests, guard: guard}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/digest", h.page)
	g.POST("/digest", h.askForm)
	g.POST("/digest/switch", h.switchForm)
	g.POST("/digest/retry", h.retryForm, core.MustBeAdmin)
	g.GET("/digest/:id/delete", h.deletePage)
	g.POST("/digest/:id/delete", h.deleteForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/digests", h.list, core.Call{
		ID:      "listDigests",
		Summary: "What a language model wrote about the signed-in user's weeks, newest week first",
		Answer:  "All that were not deleted, and one that is yet to be written.",
	})
	core.Delete(a, "/digests/{id}", h.deleteAPI, core.Call{
		ID:      "deleteDigest",
		Summary: "Delete a digest's text; Reprise writes about that week again only on request",
		Answer:  "Deleted.",
	})
	core.Put(a, "/digest", h.switchAPI, core.Call{
		ID:       "switchDigest",
		Summary:  "Switch the weekly digest on or off",
		Answer:   "Done. When you switch it on, Reprise also writes about the last full week.",
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Post(a, "/digest", h.askAPI, core.Call{
		ID:       "writeDigest",
		Summary:  "Write the last full week's digest now",
		Answer:   "Reprise writes it as soon as it can call the model.",
		Status:   http.StatusAccepted,
		Refusals: map[int]string{http.StatusConflict: ""},
	})
}

// spendingMonths is the number of months of spending on the page.
const spendingMonths = 12

// obstacle says whether the model can be called now, in words for an administrator or a member.
func (h *Handler) obstacle(ctx context.Context, admin bool) ModelState {
	p := h.digests.Provider()
	if p == nil {
		return ModelState{State: "ready"}
	}
	state, w := h.guard.StateForAll(p)
	v := ModelState{State: "waiting", Category: core.Text(state.Category.String()), Message: w.Message.T(ctx),
		NextAttemptAt: core.Moment(state.Until)}
	switch state.Kind {
	case backoff.Ready:
		return ModelState{State: "ready"}
	case backoff.Held:
		v.State = "held"
	case backoff.Stopped:
		v.State = "needs_admin"
	}
	switch {
	case admin:
	case state.Kind == backoff.Stopped:
		v.Message = words.T(ctx, "digest.stopped")
	case state.Category == resilience.Quota:
		v.Message = words.T(ctx, "digest.spent_for_now")
	}
	return v
}

// pageView is the page of digests.
type pageView struct {
	Configured bool
	Host       string // where prompts are sent
	Enabled    bool
	Digests    []Digest
	Obstacle   ModelState
	Busy       bool // one is to be written
	Admin      bool
	Week       string
	Monday     string // its date, as the form sends it
	Plays      int
	Preview    *Prompt // of the last week; nil when there is a digest of it, or nothing was heard
	Mine       []spendingView
	Everybody  []spendingView // for administrators
}

func (h *Handler) page(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.store.Digests(ctx, user.ID)
	if err != nil {
		return err
	}
	week, admin := h.digests.Week().Name(), user.Role == accounts.Admin
	v := pageView{Obstacle: h.obstacle(ctx, admin), Admin: admin, Week: WeekName(words.From(ctx), week),
		Monday: week}
	for _, d := range all {
		v.Digests = append(v.Digests, viewDigest(ctx, d))
	}
	if p := h.digests.Provider(); p != nil {
		v.Configured, v.Host = true, p.APIHost(p.Settings)
	}
	if v.Enabled, err = h.store.DigestsWanted(ctx, user.ID); err != nil {
		return err
	}
	there := false
	for _, d := range all {
		v.Busy = v.Busy || d.State == digest.Waiting
		there = there || d.Week == week && d.State != digest.Failed
	}
	if v.Configured && !there {
		prompt, plays, err := h.digests.Preview(ctx, user.ID)
		if err != nil {
			return err
		}
		if v.Plays = plays; plays > 0 {
			v.Preview = viewPrompt(prompt)
		}
	}
	if v.Mine, v.Everybody, err = h.months(ctx, user.ID, admin); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "digest.title"), digestPage(v))
}

// months returns the spending on the digests of a user by month; for an administrator also that of everybody, if
// others
// have any.
func (h *Handler) months(ctx context.Context, user int64, admin bool) (mine, everybody []spendingView, err error) {
	zone, l := h.digests.Options().Zone, words.From(ctx)
	since := time.Now().In(zone).AddDate(0, -spendingMonths, 0)
	spent, err := h.store.DigestsSpent(ctx, user, since)
	if err != nil {
		return nil, nil, err
	}
	mine = byMonth(l, spent, zone)
	if !admin {
		return mine, nil, nil
	}
	total, err := h.store.DigestsSpent(ctx, 0, since)
	if len(total) > len(spent) { // else they are the same
		everybody = byMonth(l, total, zone)
	}
	return mine, everybody, err
}

type listDigestsAnswer struct {
	Configured bool       `json:"configured" doc:"Whether a model is set up."`
	Enabled    bool       `json:"enabled" doc:"Whether this user wants one every week."`
	Model      ModelState `json:"model" doc:"Whether Reprise can call the model now."`
	Digests    []Digest   `json:"digests"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listDigestsAnswer, _ error) {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.store.Digests(ctx, user.ID)
	if err != nil {
		return out, err
	}
	wanted, err := h.store.DigestsWanted(ctx, user.ID)
	if err != nil {
		return out, err
	}
	return listDigestsAnswer{Configured: h.digests.Provider() != nil, Enabled: wanted,
		Model: h.obstacle(ctx, user.Role == accounts.Admin), Digests: core.ViewsFor(ctx, all, viewDigest)}, nil
}

// turn switches the weekly digest on or off. It cannot be switched on without a model.
func (h *Handler) turn(c echo.Context, on bool) error {
	if on && h.digests.Provider() == nil {
		return digest.ErrOff
	}
	return h.digests.Switch(c.Request().Context(), core.UserOf(c).ID, on)
}

type switchDigestRequest struct {
	Body struct {
		Enabled *bool `json:"enabled" nullable:"false"`
	}
}

type switchDigestAnswer struct {
	Enabled bool `json:"enabled"`
}

func (h *Handler) switchAPI(c echo.Context, in *switchDigestRequest) (out switchDigestAnswer, _ error) {
	v := in.Body
	if v.Enabled == nil {
		return out, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.input.sent"),
			Detail: words.New("problem.input.enabled")}
	}
	if err := h.turn(c, *v.Enabled); err != nil {
		return out, err
	}
	return switchDigestAnswer{Enabled: *v.Enabled}, nil
}

func (h *Handler) switchForm(c echo.Context) error {
	if err := h.turn(c, c.FormValue("enabled") == "yes"); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

type writeDigestAnswer struct {
	Week  string       `json:"week" format:"date"`
	State digest.State `json:"state" enum:"waiting"`
}

func (h *Handler) askAPI(c echo.Context, _ *core.IdempotencyKey) (out writeDigestAnswer, _ error) {
	if err := h.digests.Ask(c.Request().Context(), core.UserOf(c).ID); err != nil {
		return out, err
	}
	return writeDigestAnswer{Week: h.digests.Week().Name(), State: digest.Waiting}, nil
}

func (h *Handler) askForm(c echo.Context) error {
	// the form showed another prompt
	if week := c.FormValue("week"); week != "" && week != h.digests.Week().Name() {
		return digest.ErrAnother
	}
	err := h.digests.Ask(c.Request().Context(), core.UserOf(c).ID)
	if err != nil && !errors.Is(err, digest.ErrThere) { // the button was pressed in another tab
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

// retryForm answers the administrator's button "Try again".
func (h *Handler) retryForm(c echo.Context) error {
	if p := h.digests.Provider(); p != nil {
		if state, held := h.guard.RetryForAll(c.Request().Context(), p); held {
			return core.NotBefore(p.Label(library.Connection{}), state)
		}
		h.digests.Look()
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

func (h *Handler) delete(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	return h.digests.Delete(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *Handler) deleteAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.delete(c)
}

func (h *Handler) deletePage(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	d, err := h.store.Digest(ctx, core.UserOf(c).ID, id)
	if err != nil {
		return err
	}
	v := core.Confirmation{Title: words.T(ctx, "digest.delete.title"),
		Facts:  []string{WeekName(words.From(ctx), d.Week)},
		Action: "/digest/" + c.Param("id") + "/delete", Button: words.T(ctx, "digest.delete.do"), Warn: true,
		Back: "/digest", Lead: words.T(ctx, "digest.delete.lead")}
	if d.State == digest.Waiting {
		v.Title, v.Button = words.T(ctx, "digest.skip.title"), words.T(ctx, "digest.skip.do")
		v.Lead = words.T(ctx, "digest.skip.lead")
	}
	return h.core.Confirm(c, v)
}

func (h *Handler) deleteForm(c echo.Context) error {
	// it may have been deleted in another tab
	if err := h.delete(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}
