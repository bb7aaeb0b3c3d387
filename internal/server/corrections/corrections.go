// Package corrections answers for what people correct in their listens: what they delete, change and take back.
package corrections

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/art"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store is what this package reads and changes.
type Store interface {
	// RuledBy returns which of a person's rules have given a listen another name, with what it was called, and which
	// have it not sent somewhere.
	RuledBy(ctx context.Context, user, listen int64) (was library.Track, renamed, withheld []playrules.Rule, err error)
	CountSelected(ctx context.Context, v library.Selection) (n int, newest int64, err error)
	DeleteListens(ctx context.Context, v library.Selection) (library.Correction, error)
	Corrections(ctx context.Context, user int64, before string, limit int) (page []library.Correction, next string,
		err error)
	OneListen(ctx context.Context, user, id int64) (library.StoredListen, []library.Told, error)
	EditListen(ctx context.Context, user, id int64, v library.Change) (library.Correction, error)
	AddListen(ctx context.Context, user int64, l library.Listen) (c library.Correction, id int64, err error)
	SplitListen(ctx context.Context, user, id int64) (library.Correction, error)
	UndoCorrection(ctx context.Context, user, id int64) (library.Correction, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	CountSources(ctx context.Context, v library.Selection) (map[library.ConnectionID]int, error)
	SuspectStore
	RuleStore
	PictureStore
}

// Handler answers for corrections.
type Handler struct {
	core     *core.Core
	store    Store
	rows     *music.Rows
	pictures *art.Cache // may be nil
	sender   Sender
}

// New returns a Handler. pictures may be nil.
func New(k *core.Core, store Store, rows *music.Rows, pictures *art.Cache, sender Sender) *Handler {
	return &Handler{k, store, rows, pictures, sender}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listens/delete", h.deletePage)
	g.POST("/listens/delete", h.deleteForm)
	g.GET("/listens/new", h.newPage)
	g.POST("/listens/new", h.newForm)
	g.GET("/listens/:id", h.listenPage)
	g.POST("/listens/:id", h.editForm)
	g.POST("/listens/:id/split", h.splitForm)
	g.GET("/corrections", h.page)
	g.GET(suspiciousPath, h.suspiciousPage)
	g.POST(suspiciousPath+"/:id/keep", h.keepForm)
	g.POST(inventedPath, h.deleteInventedForm)
	g.POST("/corrections/:id/undo", h.undoForm)
	h.rulesPages(g)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Post(a, "/listens", h.addAPI, core.Call{
		ID:      "addListen",
		Summary: "Add a listen by hand; it is sent to the services that you forward to",
		Description: "A title and an artist in the same second are one listen, so a call may be repeated. What a " +
			"service has reported is there already, too.",
		Answer: "The listen that was there already.",
		Also: map[int]string{
			http.StatusCreated: "The new listen, and the correction, which can be undone.",
		},
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Patch(a, "/listens/{id}", h.editAPI, core.Call{
		ID:       "editListen",
		Summary:  "Change a listen; what services report of it later is still the same listen",
		Answer:   "The listen, and the correction, which can be undone.",
		Refusals: map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/listens/{id}", h.deleteOneAPI, core.Call{
		ID:      "deleteListen",
		Summary: "Delete a listen; it does not come back with a sync or an import",
		Answer:  "The correction, which can be undone.",
		Refusals: map[int]string{
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Post(a, "/listens/{id}/split", h.splitAPI, core.Call{
		ID:       "splitListen",
		Summary:  "Make a listen of each of its sources, and keep them apart from now on",
		Answer:   "The correction, which can be undone.",
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Post(a, "/listens/delete", h.deleteAPI, core.Call{
		ID:      "deleteListens",
		Summary: "Delete listens by their ids or by a filter; they do not come back with a sync or an import",
		Answer:  "How many there are, and unless they were only counted, the correction, which can be undone.",
		Refusals: map[int]string{
			http.StatusNotFound:            "",
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Get(a, "/corrections", h.list, core.Call{
		ID:      "listCorrections",
		Summary: "What you have corrected, newest first",
		Answer:  "A page of corrections.",
	})
	core.Get(a, "/listens/suspicious", h.suspiciousAPI, core.Call{
		ID:      "listSuspiciousListens",
		Summary: "Listens that can hardly be what happened, latest first",
		Description: "A pair is one track twice before it can have ended, or within 30 seconds if its length is " +
			"unknown. A stretch is ten listens or more within a minute. Those that you kept are left out.",
		Answer: "A page of suspicious listens.",
	})
	core.Post(a, "/listens/suspicious/{id}/keep", h.keepAPI, core.Call{
		ID:      "keepSuspiciousListens",
		Summary: "Keep suspicious listens, which aren't listed as such again",
		Answer:  "The correction, which can be undone; the one before if they are kept already.",
	})
	core.Get(a, "/listens/invented", h.inventedAPI, core.Call{
		ID:      "countInventedListens",
		Summary: "How many of your listens were never played",
		Description: "Earlier versions took plays that they had sent to a music server, which only counts plays, " +
			"for plays that they had missed there, and stored listens with guessed times for them.",
		Answer: "Their number.",
	})
	core.Post(a, "/listens/invented/delete", h.deleteInventedAPI, core.Call{
		ID:       "deleteInventedListens",
		Summary:  "Delete your listens that were never played",
		Answer:   "The correction, which can be undone.",
		Refusals: map[int]string{http.StatusNotFound: ""},
	})
	core.Post(a, "/corrections/{id}/undo", h.undoAPI, core.Call{
		ID:      "undoCorrection",
		Summary: "Undo a correction; one that is undone stays so",
		Answer:  "The correction.",
	})
	h.rulesAPI(a)
}

// Correction is a correction in the API.
type Correction struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind" enum:"delete,edit,add,split,keep,merge,divide,rename,picture"`
	Listens  int            `json:"listens" minimum:"0" doc:"How many of its maker's listens have changed."`
	Track    *string        `json:"track" doc:"Of the only listen it is about."`
	Artist   *string        `json:"artist" doc:"Of that listen, or that all of its listens are by."`
	Becomes  *string        `json:"becomes" doc:"What it has made of the names."`
	MadeAt   core.Time      `json:"made_at"`
	UndoneAt core.MaybeTime `json:"undone_at" doc:"null while it holds."`
	There    []DeletedThere `json:"there" doc:"What services are asked to delete, too."`
	About    *string        `json:"about" doc:"\"artist\", \"album\" or \"track\" for 'merge', 'divide', 'rename' and 'picture', which hold for the whole household; null for corrections of listens."`
	Name     *string        `json:"name" doc:"What that was called then."`
	Rule     *string        `json:"rule" doc:"The name of your rule that ignored the listens; null for other corrections, or if the rule is gone."`
	MadeBy   *string        `json:"made_by" doc:"Who decided it; null for listens, or if they are gone."`
}

// View returns a correction as the API shows it.
func View(c library.Correction) Correction {
	v := Correction{ID: strconv.FormatInt(c.ID, 10), Kind: c.Kind, Listens: c.Listens, Track: core.Text(c.Title),
		Artist: core.Text(c.Artist), Becomes: core.Text(c.Becomes), MadeAt: core.Stamp(c.MadeAt),
		UndoneAt: core.Moment(c.UndoneAt), There: thereView(c.There), About: core.Text(c.About),
		MadeBy: core.Text(c.By), Rule: core.Text(c.PlayRule)}
	if c.About != "" {
		v.Name = core.Text(nameOf(c))
	}
	if c.About == library.KindAlbum {
		v.Track = nil
	}
	return v
}

// nameOf returns the name that the artist, the album or the track of a correction had at that time.
func nameOf(c library.Correction) string {
	if c.About == library.KindArtist {
		return c.Artist
	}
	return c.Title
}

type deleteListenRequest struct {
	core.ByID
	There []string `query:"there,explode" doc:"Ids of connections whose services delete it, too, as far as they reported it. A service may take up to an hour, and undoing does not bring back what it has deleted."`
}

func (h *Handler) deleteOneAPI(c echo.Context, in *deleteListenRequest) (out Correction, _ error) {
	id, err := core.Number(in.ID)
	if err != nil {
		return out, err
	}
	there, err := h.chosenThere(c, in.There)
	if err != nil {
		return out, err
	}
	made, err := h.store.DeleteListens(c.Request().Context(), library.Selection{
		ListenFilter: library.ListenFilter{User: core.UserOf(c).ID}, IDs: []int64{id}, There: there})
	if err != nil {
		return out, err
	}
	return View(made), nil
}

// mostIDs is how many listens a call or a page names one by one.
const mostIDs = 1000

// selected is which listens a call selects.
type selected struct {
	IDs    []string `json:"ids" required:"false" maxItems:"1000"`
	Artist string   `json:"artist" required:"false" doc:"The whole name of an artist, in upper or lower case."`
	From   string   `json:"from" required:"false" format:"date-time" doc:"Played at this time or later."`
	To     string   `json:"to" required:"false" format:"date-time" doc:"Played before this time."`
	There  []string `json:"there" required:"false" doc:"Ids of connections whose services delete them, too, as far as they reported them."`
	DryRun bool     `json:"dry_run" required:"false" doc:"Only count them."`
}

// selectionOf returns the listens that a call selects. One that selects none by a mistake would select all.
func selectionOf(c echo.Context, in selected) (v library.Selection, err error) {
	v.User = core.UserOf(c).ID
	if len(in.IDs) > mostIDs {
		return v, core.Check(words.New("corrections.problem.most", "Most", mostIDs))
	}
	for _, text := range in.IDs {
		id, err := core.Number(text)
		if err != nil {
			return v, err
		}
		v.IDs = append(v.IDs, id)
	}
	if v.ListenFilter, err = music.Bounded(v.User, in.Artist, in.From, in.To); err != nil {
		return v, err
	}
	one := len(v.IDs) > 0
	some := v.ListenFilter != library.ListenFilter{User: v.User}
	if one == some {
		return v, core.Check(words.New("corrections.problem.which"))
	}
	return v, nil
}

type deleteListensRequest struct {
	Body selected `doc:"Either ids or a filter."`
}

type deleteListensAnswer struct {
	Count      int            `json:"count" minimum:"0"`
	Correction *Correction    `json:"correction"`
	HeldBy     []ListenHolder `json:"held_by" doc:"Which of your connections reported them."`
}

func (h *Handler) deleteAPI(c echo.Context, in *deleteListensRequest) (out deleteListensAnswer, _ error) {
	body := in.Body
	v, err := selectionOf(c, body)
	if err != nil {
		return out, err
	}
	if v.There, err = h.chosenThere(c, body.There); err != nil {
		return out, err
	}
	ctx := c.Request().Context()
	held, err := h.holders(ctx, v)
	if err != nil {
		return out, err
	}
	heldBy := core.ViewAll(held, viewHolder)
	if body.DryRun {
		n, _, err := h.store.CountSelected(ctx, v)
		if err != nil {
			return out, err
		}
		return deleteListensAnswer{Count: n, HeldBy: heldBy}, nil
	}
	made, err := h.store.DeleteListens(ctx, v)
	if err != nil {
		return out, err
	}
	return deleteListensAnswer{Count: made.Listens, Correction: new(View(made)), HeldBy: heldBy}, nil
}

type listCorrectionsAnswer struct {
	Corrections []Correction `json:"corrections"`
	Next        *string      `json:"next" doc:"Cursor of the next page; null at the end."`
}

func (h *Handler) list(c echo.Context, _ *core.Paged) (out listCorrectionsAnswer, _ error) {
	page, next, err := h.all(c)
	if err != nil {
		return out, err
	}
	return listCorrectionsAnswer{Corrections: core.ViewAll(page, View), Next: core.Text(next)}, nil
}

// all returns the page of corrections that a request asks for.
func (h *Handler) all(c echo.Context) (page []library.Correction, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	return h.store.Corrections(c.Request().Context(), core.UserOf(c).ID, c.QueryParam("before"), n)
}

func (h *Handler) undo(c echo.Context) (library.Correction, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return library.Correction{}, err
	}
	v, err := h.store.UndoCorrection(c.Request().Context(), core.UserOf(c).ID, id)
	if errors.Is(err, library.ErrNotFound) {
		return h.undoRule(c, id)
	}
	return v, err
}

func (h *Handler) undoAPI(c echo.Context, _ *core.ByID) (out Correction, _ error) {
	v, err := h.undo(c)
	if err != nil {
		return out, err
	}
	return View(v), nil
}
