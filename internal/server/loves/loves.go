// Package loves answers for what a person loves, and for what their services have of that.
package loves

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store keeps which tracks people love, and what their services have of that.
type Store interface {
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int, err error)
	LovedAt(ctx context.Context, user int64) ([]library.LovedAt, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	CountLovesToSend(ctx context.Context, user int64, conn library.ConnectionID, hates bool) (int, error)
	GoneLoves(ctx context.Context, user int64, conn library.ConnectionID) ([]library.LoveThere, error)
	LovesRefused(ctx context.Context, user int64, conn library.ConnectionID) ([]library.LoveThere, error)
	DecideLoves(ctx context.Context, user int64, conn library.ConnectionID, follow bool) (int, error)
	SaveLove(ctx context.Context, user int64, v library.Love) error
}

// Keeper keeps services the same; see delivery.Deliveries.
type Keeper interface {
	KeepLoves(ctx context.Context, user int64, conn library.ConnectionID) error
	LeaveLoves(ctx context.Context, user int64, conn library.ConnectionID) error
}

// Teller closes the notification about what a service doesn't list any more; see sync.Connections.
type Teller interface {
	DecidedLoves(ctx context.Context, user int64, conn library.ConnectionID) error
}

// Handler answers for what people love.
type Handler struct {
	core   *core.Core
	store  Store
	keeper Keeper
	teller Teller
	rows   *music.Rows
}

// New returns a Handler.
func New(k *core.Core, store Store, keeper Keeper, teller Teller, rows *music.Rows) *Handler {
	return &Handler{core: k, store: store, keeper: keeper, teller: teller, rows: rows}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(path, h.page)
	g.POST(path, h.namedForm)
	g.GET(path+"/at/:id", h.servicePage)
	g.POST(path+"/at/:id/keep", h.keepForm)
	g.POST(path+"/at/:id/leave", h.leaveForm)
	g.POST(path+"/at/:id/decide", h.decideForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/loves", h.all, core.Call{
		ID:      "listLoves",
		Summary: "Tracks that the signed-in user loves, the latest first",
		Answer:  "A page of tracks.",
	})
	core.Get(a, "/loves/services", h.services, core.Call{
		ID:      "listLoveServices",
		Summary: "What your services have of what you love",
		Answer:  "The services whose loved tracks are read, or that can get yours.",
	})
	core.Get(a, "/connections/{id}/loves", h.one, core.Call{
		ID:      "getLovesOfConnection",
		Summary: "What a service has of what you love, what it doesn't take, and what it doesn't list any more",
		Answer:  "The service.",
	})
	core.Put(a, "/connections/{id}/loves", h.keepAPI, core.Call{
		ID:      "keepLoves",
		Summary: "Send a service what you love, from now on",
		Description: "Everything that you love is loved there as well, and what you take back is taken back there. A " +
			"webhook gets only what is new. Repeating the call sends again what the service has refused.",
		Answer: "Begun.",
	})
	core.Delete(a, "/connections/{id}/loves", h.leaveAPI, core.Call{
		ID:      "leaveLoves",
		Summary: "Send a service no more what you love",
		Answer:  "Done. What it has stays there.",
	})
	core.Post(a, "/connections/{id}/loves/decide", h.decideAPI, core.Call{
		ID:      "decideAboutLoves",
		Summary: "Decide about tracks that a service doesn't list as loved any more",
		Answer:  "Done.",
	})
}

// Love is a track that a person loves, or hates.
type Love struct {
	Track         string    `json:"track"`
	Artist        string    `json:"artist"`
	RecordingMBID *string   `json:"recording_mbid"`
	Score         int       `json:"score" enum:"1,-1" doc:"1 for a loved track, -1 for a hated one."`
	LovedAt       core.Time `json:"loved_at" doc:"When you said so."`
}

// View returns what programs read.
func View(v library.Love) Love {
	one := Love{Track: v.Title, Artist: v.Artist, Score: v.Score, LovedAt: core.Stamp(v.At)}
	if v.RecordingMBID != "" {
		one.RecordingMBID = &v.RecordingMBID
	}
	return one
}

type allRequest struct {
	Page  int    `query:"page" minimum:"1" default:"1"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Hated bool   `query:"hated" doc:"The tracks that you hate instead."`
	Text  string `query:"q" doc:"In the title or the artist."`
	At    string `query:"at" doc:"A connection that has them, too."`
	NotAt string `query:"not_at" doc:"A connection that lacks them."`
}

func (in *allRequest) filter(user int64) library.LoveFilter {
	f := library.LoveFilter{User: user, Score: library.Loved, Text: in.Text, At: library.ConnectionID(in.At),
		NotAt: library.ConnectionID(in.NotAt)}
	if in.Hated {
		f.Score = library.Hated
	}
	return f
}

type allAnswer struct {
	Loves []Love `json:"loves"`
	Total int    `json:"total" minimum:"0" doc:"How many there are on all pages."`
}

func (h *Handler) all(c echo.Context, in *allRequest) (out allAnswer, _ error) {
	all, total, err := h.store.Loves(c.Request().Context(), in.filter(core.UserOf(c).ID), (in.Page-1)*in.Limit,
		in.Limit)
	return allAnswer{core.ViewAll(all, View), total}, err
}

// LoveService is what a service has of what a person loves.
type LoveService struct {
	Connection string         `json:"connection"`
	Name       string         `json:"name"`
	Reads      bool           `json:"reads" doc:"What you love there is read, and counts here as well."`
	Takes      bool           `json:"takes" doc:"What you love can be sent there."`
	Kept       bool           `json:"kept" doc:"What you love is sent there."`
	Loved      int            `json:"loved" minimum:"0" doc:"How many of its tracks you love there, as far as is known."`
	Sending    int            `json:"sending" minimum:"0" doc:"How many tracks are still to be sent; if nothing is sent there, how many would be."`
	Refused    int            `json:"refused" minimum:"0" doc:"Tracks that it doesn't take."`
	Gone       int            `json:"gone" minimum:"0" doc:"Tracks that it doesn't list any more, so many that you are asked what that means."`
	ReadAt     core.MaybeTime `json:"read_at"`
	Note       string         `json:"note" doc:"Why it isn't read; empty if it is."`
	Consent    *string        `json:"consent" doc:"The page on which the person allows Reprise to change what they love there; null if that needs no permission of its own, or it was given."`
}

// serviceOf returns what a connection has of what its person loves; false if it has nothing to do with that.
func (h *Handler) serviceOf(c echo.Context, at library.LovedAt, label string) (v LoveService, ok bool, err error) {
	p := h.core.Registry.Get(at.Connection.Provider())
	if p == nil || !p.Pulls(library.Loves) && !p.Takes.Loves {
		return v, false, nil
	}
	v = LoveService{Connection: string(at.Connection), Name: label, Reads: p.Pulls(library.Loves),
		Takes: p.Takes.Loves, Kept: at.Kept, Loved: at.Loved, Refused: at.Refused, Gone: at.Gone,
		ReadAt: core.Moment(at.ReadAt), Note: at.Note.T(c.Request().Context())}
	if p.Takes.Loves {
		conn, err := h.store.Connection(c.Request().Context(), core.UserOf(c).ID, at.Connection)
		if err != nil {
			return v, false, err
		}
		if !p.May(providers.WriteLoves, conn.Credentials) {
			v.Consent = core.Text(connections.AllowPath(at.Connection, providers.WriteLoves, path+"/at/"+v.Connection))
		}
	}
	if p.Takes.Loves && (at.Kept || v.Reads) {
		v.Sending, err = h.store.CountLovesToSend(c.Request().Context(), core.UserOf(c).ID, at.Connection,
			p.Takes.Hates)
	}
	return v, true, err
}

// list returns all services that have to do with what a person loves.
func (h *Handler) list(c echo.Context) (found []LoveService, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.store.LovedAt(ctx, user)
	if err != nil {
		return nil, err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		v, ok, err := h.serviceOf(c, at, label(at.Connection))
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, v)
		}
	}
	return found, nil
}

type servicesRequest struct{}

type servicesAnswer struct {
	Services []LoveService `json:"services"`
}

func (h *Handler) services(c echo.Context, _ *servicesRequest) (out servicesAnswer, err error) {
	all, err := h.list(c)
	return servicesAnswer{append([]LoveService{}, all...)}, err
}

// LoveRefused is a track that a service doesn't take.
type LoveRefused struct {
	Track  string `json:"track"`
	Artist string `json:"artist"`
	Reason string `json:"reason"`
}

type oneAnswer struct {
	LoveService
	NotTaken []LoveRefused `json:"not_taken" doc:"What it doesn't take."`
	NotThere []Love        `json:"not_there" doc:"What it doesn't list any more."`
}

// find returns the service that a request names, or library.ErrNotFound.
func (h *Handler) find(c echo.Context) (v LoveService, err error) {
	all, err := h.list(c)
	for _, one := range all {
		if one.Connection == c.Param("id") {
			return one, nil
		}
	}
	return v, errors.Join(err, library.ErrNotFound)
}

func (h *Handler) one(c echo.Context, _ *core.ByID) (out oneAnswer, err error) {
	if out.LoveService, err = h.find(c); err != nil {
		return out, err
	}
	ctx, user, id := c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(out.Connection)
	refused, err := h.store.LovesRefused(ctx, user, id)
	gone, e := h.store.GoneLoves(ctx, user, id)
	out.NotTaken = core.ViewAll(refused, func(v library.LoveThere) LoveRefused {
		return LoveRefused{v.Title, v.Artist, v.Refused.T(ctx)}
	})
	out.NotThere = core.ViewAll(gone, func(v library.LoveThere) Love { return View(v.Love) })
	return out, errors.Join(err, e)
}

func (h *Handler) keepAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.keep(c)
}

func (h *Handler) keep(c echo.Context) error {
	err := h.keeper.KeepLoves(c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(c.Param("id")))
	if errors.Is(err, delivery.ErrNotTaken) {
		return core.BadRequest(words.New("loves.not_taken"), words.New("loves.not_taken_text"))
	}
	return err
}

func (h *Handler) leaveAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.leave(c)
}

func (h *Handler) leave(c echo.Context) error {
	if _, err := h.find(c); err != nil {
		return err
	}
	return h.keeper.LeaveLoves(c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(c.Param("id")))
}

// What a person decides about tracks that a service doesn't list any more.
const (
	follow = "follow"
	stay   = "keep"
)

type decideRequest struct {
	core.ByID
	core.IdempotencyKey
	Body struct {
		Decision string `json:"decision" enum:"follow,keep" doc:"follow: they aren't loved here either. keep: they stay, and are loved there again if the service is kept in sync."`
	}
}

func (h *Handler) decideAPI(c echo.Context, in *decideRequest) (out core.None, _ error) {
	_, err := h.decide(c, in.Body.Decision)
	return out, err
}

func (h *Handler) decide(c echo.Context, decision string) (n int, err error) {
	if decision != follow && decision != stay {
		return 0, core.NotAChoice("decision", decision, follow, stay)
	}
	ctx, user, id := c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(c.Param("id"))
	if n, err = h.store.DecideLoves(ctx, user, id, decision == follow); err != nil {
		return 0, err
	}
	return n, h.teller.DecidedLoves(ctx, user, id)
}
