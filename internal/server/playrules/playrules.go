// Package playrules answers for people's rules for what they play.
package playrules

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store keeps rules.
type Store interface {
	PlayRules(ctx context.Context, user int64) ([]playrules.Rule, error)
	PlayRule(ctx context.Context, user, id int64) (playrules.Rule, error)
	SavePlayRule(context.Context, playrules.Rule) (playrules.Rule, error)
	DeletePlayRule(ctx context.Context, user, id int64) error
	ApplyPlayRule(context.Context, playrules.Rule) (int, error)
	CountPlayRule(context.Context, playrules.Rule) (int, error)
	UndoPlayRule(ctx context.Context, user, id int64) (int, error)
	DoneBy(ctx context.Context, user int64) (map[int64]playrules.Done, error)
	FindListens(ctx context.Context, f library.ListenFilter, before string, limit int) (page []library.StoredListen,
		next string, err error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	Players(ctx context.Context, user int64) ([]players.Player, error)
}

// Handler answers for rules.
type Handler struct {
	core  *core.Core
	store Store
}

// New returns a Handler.
func New(k *core.Core, store Store) *Handler { return &Handler{k, store} }

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(path, h.listPage)
	g.GET(path+"/new", h.newPage)
	g.GET(path+"/download", h.download)
	g.POST(path, h.saveForm)
	g.POST(path+"/upload", h.uploadForm)
	g.GET(gonePath, h.undoGonePage)
	g.POST(gonePath, h.undoGoneForm)
	g.GET(path+"/:id", h.onePage)
	g.POST(path+"/:id", h.saveForm)
	g.POST(path+"/:id/switch", h.switchForm)
	g.GET(path+"/:id/apply", h.applyPage)
	g.POST(path+"/:id/apply", h.applyForm)
	g.GET(path+"/:id/delete", h.deletePage)
	g.POST(path+"/:id/delete", h.deleteForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	many := map[int]string{http.StatusConflict: ""}
	core.Get(a, "/rules", h.list, core.Call{
		ID:      "listPlayRules",
		Summary: "Your rules for what you play, in the order in which they are applied",
		Answer:  "The rules.",
	})
	core.Post(a, "/rules", h.addAPI, core.Call{
		ID:       "addPlayRule",
		Summary:  "Add a rule for what you play",
		Answer:   "The rule. It holds for what comes in from now on.",
		Status:   http.StatusCreated,
		Refusals: many,
	})
	core.Post(a, "/rules/preview", h.previewAPI, core.Call{
		ID:      "previewPlayRule",
		Summary: "What a rule would have done to what you heard in the last month",
		Answer:  "How many listens it is about, and some of them. Nothing is stored.",
	})
	core.Get(a, "/rules/{id}", h.oneAPI, core.Call{
		ID:      "getPlayRule",
		Summary: "A rule, with what it has done",
		Answer:  "The rule.",
	})
	core.Put(a, "/rules/{id}", h.changeAPI, core.Call{
		ID:      "changePlayRule",
		Summary: "Change a rule",
		Answer:  "The rule. What it has done before stays.",
	})
	core.Delete(a, "/rules/{id}", h.deleteAPI, core.Call{
		ID:      "deletePlayRule",
		Summary: "Delete a rule, and with 'undo' all that it has done",
		Answer:  "Deleted.",
	})
	core.Post(a, "/rules/{id}/apply", h.applyAPI, core.Call{
		ID:      "applyPlayRule",
		Summary: "Apply a rule to what you heard before",
		Description: "That works for rules of the kinds 'rewrite' and 'ignore' that ask for names and lengths only; " +
			"others change nothing. Deleting the rule with 'undo' undoes it.",
		Answer: "To how many listens.",
	})
}

// PlayRuleBody is a rule as it is stored.
type PlayRuleBody struct {
	playrules.Record
	To []string `json:"to" required:"false" maxItems:"100" doc:"Of 'withhold': the ids of the connections to which it isn't sent; empty for all."`
}

// PlayRuleView is a rule with what it has done.
type PlayRuleView struct {
	ID string `json:"id"`
	playrules.Record
	To       []string `json:"to" doc:"Of 'withhold': the ids of the connections to which it isn't sent; empty for all."`
	Renamed  int      `json:"renamed" minimum:"0" doc:"Listens to which it has given another name."`
	Ignored  int      `json:"ignored" minimum:"0" doc:"Plays that it has ignored."`
	Withheld int      `json:"withheld" minimum:"0" doc:"Listens that it has kept from being sent."`
}

// PlayRuleExample is a listen that a rule is about.
type PlayRuleExample struct {
	Track    string    `json:"track"`
	Artist   string    `json:"artist"`
	Album    string    `json:"album"`
	PlayedAt core.Time `json:"played_at"`
	Becomes  *string   `json:"becomes" doc:"Of 'rewrite': what the field becomes."`
}

// ruleOf returns the rule that a request has, whose times of day are those of its reader.
func (h *Handler) ruleOf(c echo.Context, f PlayRuleBody, id int64) playrules.Rule {
	r := f.Rule(f.To)
	r.ID, r.User, r.Zone = id, core.UserOf(c).ID, core.ZoneName(c)
	return r
}

func viewOf(r playrules.Rule, done playrules.Done) PlayRuleView {
	to := core.ViewAll(r.To, func(id library.ConnectionID) string { return string(id) })
	return PlayRuleView{strconv.FormatInt(r.ID, 10), playrules.RecordOf(r), to, done.Renamed, done.Ignored,
		done.Withheld}
}

type listAnswer struct {
	Rules []PlayRuleView `json:"rules"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listAnswer, _ error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, done, err := h.done(ctx, user)
	out.Rules = core.ViewAll(all, func(r playrules.Rule) PlayRuleView { return viewOf(r, done[r.ID]) })
	return out, err
}

type ruleRequest struct {
	core.IdempotencyKey
	Body PlayRuleBody
}

type changeRequest struct {
	core.ByID
	Body PlayRuleBody
}

func (h *Handler) addAPI(c echo.Context, in *ruleRequest) (out PlayRuleView, _ error) {
	return h.saveAPI(c, h.ruleOf(c, in.Body, 0))
}

func (h *Handler) changeAPI(c echo.Context, in *changeRequest) (out PlayRuleView, _ error) {
	id, err := core.Number(in.ID)
	if err != nil {
		return out, err
	}
	return h.saveAPI(c, h.ruleOf(c, in.Body, id))
}

func (h *Handler) saveAPI(c echo.Context, r playrules.Rule) (out PlayRuleView, err error) {
	if r, err = h.save(c.Request().Context(), r); err != nil {
		return out, err
	}
	done, err := h.store.DoneBy(c.Request().Context(), r.User)
	return viewOf(r, done[r.ID]), err
}

func check(r playrules.Rule) error {
	if wrong := r.Check(); !wrong.IsZero() {
		return core.Check(wrong)
	}
	return nil
}

// save stores a rule, unless it is wrong.
func (h *Handler) save(ctx context.Context, r playrules.Rule) (playrules.Rule, error) {
	err := check(r)
	if err == nil {
		r, err = h.store.SavePlayRule(ctx, r)
	}
	if errors.Is(err, playrules.ErrTooMany) {
		err = &core.Refusal{Status: http.StatusConflict, Title: words.New("playrules.many.title"),
			Detail: words.New("playrules.many.text", "Most", playrules.Most)}
	}
	return r, err
}

// find returns the rule that a request names.
func (h *Handler) find(c echo.Context) (r playrules.Rule, err error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return r, err
	}
	return h.store.PlayRule(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *Handler) oneAPI(c echo.Context, _ *core.ByID) (out PlayRuleView, _ error) {
	r, err := h.find(c)
	if err != nil {
		return out, err
	}
	done, err := h.store.DoneBy(c.Request().Context(), r.User)
	return viewOf(r, done[r.ID]), err
}

type deleteRequest struct {
	core.ByID
	Undo bool `query:"undo"`
}

func (h *Handler) deleteAPI(c echo.Context, in *deleteRequest) (out core.None, _ error) {
	_, err := h.delete(c, in.Undo)
	return out, err
}

// delete deletes the rule that a request names, and undoes what it has done if that is asked for. It returns of how
// many listens.
func (h *Handler) delete(c echo.Context, undo bool) (n int, err error) {
	ctx := c.Request().Context()
	r, err := h.find(c)
	if err != nil {
		return 0, err
	}
	if undo { // first it holds no more
		r.Off = true
		if _, err = h.store.SavePlayRule(ctx, r); err == nil {
			n, err = h.store.UndoPlayRule(ctx, r.User, r.ID)
		}
	}
	if err == nil {
		err = h.store.DeletePlayRule(ctx, r.User, r.ID)
	}
	return n, err
}

type applyRequest struct {
	core.ByID
	core.IdempotencyKey
}

type applyAnswer struct {
	Changed int `json:"changed" minimum:"0"`
}

func (h *Handler) applyAPI(c echo.Context, _ *applyRequest) (out applyAnswer, err error) {
	r, err := h.find(c)
	if err == nil {
		out.Changed, err = h.store.ApplyPlayRule(c.Request().Context(), r)
	}
	return out, err
}

const (
	// lookBack is how far back a rule is tried.
	lookBack = 30 * 24 * time.Hour
	// mostTried is how many listens it is tried on at most, and mostShown how many of those it is about are shown.
	mostTried = 20_000
	mostShown = 50
)

type previewAnswer struct {
	Count    int               `json:"count" minimum:"0" doc:"How many of the last month's listens it is about."`
	Examples []PlayRuleExample `json:"examples" doc:"The latest of them."`
}

func (h *Handler) previewAPI(c echo.Context, in *ruleRequest) (out previewAnswer, err error) {
	r := h.ruleOf(c, in.Body, 0)
	if err = check(r); err != nil {
		return out, err
	}
	return h.preview(c, r)
}

// preview returns what a rule would have done to the listens of the last month.
func (h *Handler) preview(c echo.Context, r playrules.Rule) (out previewAnswer, err error) {
	ctx, now := c.Request().Context(), time.Now().UTC().Truncate(time.Minute) // as a cursor holds it
	r.Off, r.ID = false, max(r.ID, 1)
	set := playrules.New([]playrules.Rule{r}, words.Zone(ctx))
	f := library.ListenFilter{User: r.User, From: now.Add(-lookBack), To: now.Add(time.Minute)}
	out.Examples = []PlayRuleExample{}
	for tried, next := 0, ""; tried < mostTried; {
		page, more, err := h.store.FindListens(ctx, f, next, 500)
		if err != nil {
			return out, err
		}
		for _, l := range page {
			out.add(set, r, l)
		}
		if tried, next = tried+len(page), more; next == "" {
			break
		}
	}
	return out, nil
}

// add counts a listen if a rule matches it as reported by any of its sources.
func (out *previewAnswer) add(set *playrules.Set, r playrules.Rule, l library.StoredListen) {
	for _, s := range l.Sources {
		if s.Connection == library.ByHand {
			continue
		}
		o := set.Apply(playrules.Play{Track: l.Track, At: l.PlayedAt, Player: s.Player, Source: s.Connection})
		if len(o.Rewrote) == 0 && o.Ignored == 0 && len(o.Withheld) == 0 {
			continue
		}
		out.Count++
		if len(out.Examples) < mostShown {
			one := PlayRuleExample{Track: l.Title, Artist: l.Artist, Album: l.Album, PlayedAt: core.Stamp(l.PlayedAt)}
			if len(o.Rewrote) > 0 {
				names := map[string]string{"title": o.Track.Title, "artist": o.Track.Artist, "album": o.Track.Album}
				now := names[r.Field]
				one.Becomes = &now
			}
			out.Examples = append(out.Examples, one)
		}
		return
	}
}
