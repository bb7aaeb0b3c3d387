// Package players answers for programs that send what they play: where they come in, and how people set them up.
package players

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/players/listenbrainz"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store keeps players.
type Store interface {
	players.Store
	listenbrainz.Store // what players may read of their person, and delete
	Players(ctx context.Context, user int64) ([]players.Player, error)
	Player(ctx context.Context, user int64, id library.ConnectionID) (players.Player, error)
	AddPlayer(ctx context.Context, p players.Player, secret string, most int) (players.Player, error)
	ChangePlayer(ctx context.Context, p players.Player) error
	RenewSecret(ctx context.Context, p players.Player, secret string) (players.Player, error)
	DeletePlayer(ctx context.Context, user int64, id library.ConnectionID, data bool) error
	PlayedSince(ctx context.Context, user int64, id library.ConnectionID, from time.Time) (int, error)
	GrantPlayer(ctx context.Context, p players.Player, token string, until time.Time) error
	HabitOf(ctx context.Context, user int64, id library.ConnectionID, from time.Time) (players.Habit, error)
	Refusals(ctx context.Context, id library.ConnectionID) ([]players.Refusal, error)
}

// Handler answers for programs that send what they play.
type Handler struct {
	core  *core.Core
	store Store
	bus   *events.Bus
	told  players.Notifier
	desk  *players.Desk
}

// New returns a Handler.
func New(k *core.Core, store Store, bus *events.Bus, told players.Notifier, desk *players.Desk) *Handler {
	return &Handler{core: k, store: store, bus: bus, told: told, desk: desk}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(listPath, h.page)
	g.POST(listPath, h.addForm)
	g.GET(listPath+"/add", h.choosePage)
	g.GET(allowPath, h.allowPage)
	g.POST(allowPath, h.allowForm)
	g.GET(listPath+"/:id", h.onePage)
	g.GET(listPath+"/:id/setup", h.setupPage)
	g.POST(listPath+"/:id", h.changeForm)
	g.POST(listPath+"/:id/pause", h.pauseForm)
	g.POST(listPath+"/:id/resume", h.pauseForm)
	g.GET(listPath+"/:id/secret", h.secretPage)
	g.POST(listPath+"/:id/secret", h.secretForm)
	g.GET(listPath+"/:id/remove", h.removePage)
	g.POST(listPath+"/:id/remove", h.removeForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/players", h.list, core.Call{
		ID:      "listPlayers",
		Summary: "The programs that send what they play, by name",
		Answer:  "Without their secrets, which Reprise doesn't keep.",
	})
	core.Post(a, "/players", h.addAPI, core.Call{
		ID:      "addPlayer",
		Summary: "Add a program that sends what it plays (with a session only)",
		Description: "It sends to `address` with `secret` as its token, or without any header to `own_address`, " +
			"whose path has the secret. A play is acknowledged once it is stored; the same play again is stored " +
			"once; what can't be stored at the moment is answered with 503, never with 429.",
		Answer:   "The new player; only this answer has its `secret` and `own_address`.",
		Status:   http.StatusCreated,
		Refusals: map[int]string{http.StatusConflict: "There is already one of that name."},
		Scope:    core.BySession,
	})
	core.Get(a, "/players/{id}", h.oneAPI, core.Call{
		ID:      "getPlayer",
		Summary: "One program that sends what it plays, with what was refused of it",
		Answer:  "The player.",
	})
	core.Patch(a, "/players/{id}", h.changeAPI, core.Call{
		ID:       "changePlayer",
		Summary:  "Rename, pause or resume a player, or say which connection it sends from",
		Answer:   "The player as it is now.",
		Refusals: map[int]string{http.StatusConflict: "There is already one of that name."},
	})
	core.Delete(a, "/players/{id}", h.removeAPI, core.Call{
		ID:      "removePlayer",
		Summary: "Remove a player; its secret opens nothing from then on",
		Answer:  "It is gone.",
	})
	core.Post(a, "/players/{id}/secret", h.secretAPI, core.Call{
		ID:      "renewPlayerSecret",
		Summary: "Give a player another secret; the old one opens nothing from then on (with a session only)",
		Answer:  "The player with its new `secret`.",
		Scope:   core.BySession,
	})
	core.Get(a, "/now-playing", h.nowAPI, core.Call{
		ID:        "getNowPlaying",
		Summary:   "What is playing now, as players and services say, the latest first",
		Answer:    "Empty if nothing is.",
		ByAddress: true,
	})
}

// Player is a program that sends what it plays.
type Player struct {
	ID          string         `json:"id" doc:"As in the sources of its listens."`
	Name        string         `json:"name"`
	Kind        string         `json:"kind" enum:"PlayerKind"`
	State       string         `json:"state" enum:"waiting,active,paused" doc:"'waiting' until the first play, and after a new secret until it is used."`
	Address     string         `json:"address" doc:"Where it sends to, with its secret as a token."`
	LastFour    string         `json:"last_four" doc:"Of its secret."`
	Mirrors     *string        `json:"mirrors" doc:"The connection to the account that it sends from: its plays are not forwarded there."`
	CreatedAt   core.Time      `json:"created_at"`
	LastHeardAt core.MaybeTime `json:"last_heard_at" doc:"When it called last, to the minute."`
	LastPlayAt  core.MaybeTime `json:"last_play_at" doc:"When its latest play was stored."`
	PlaysToday  int            `json:"plays_today" minimum:"0" doc:"In the time zone of its person."`
	Silent      bool           `json:"silent" doc:"Nothing has come for longer than usual."`
	Refused     []Refused      `json:"refused" doc:"The latest requests that were refused, the newest first. Of one that waits for its first play, also those of the last 15 minutes with a token that no player has."`
	Secret      string         `json:"secret,omitempty" doc:"Only in the answer that made it."`
	APIKey      string         `json:"api_key,omitempty" doc:"For clients of Last.fm's API that ask for one. Only in the answer that made the secret."`
	plays       string         // now
	since       []Refused      // what was refused since the last play
	before      []Refused      // and what was refused before
	APISecret   string         `json:"api_secret,omitempty" doc:"What calls with that key are signed with. Only in the answer that made it."`
	OwnAddress  string         `json:"own_address,omitempty" doc:"An address with the secret in its path. Only in the answer that made it."`
}

// Refused is a request that was refused.
type Refused struct {
	At      core.Time `json:"at"`
	Request string    `json:"request" doc:"Method and path, without the secret."`
	Reason  string    `json:"reason"`
}

// view returns a player as it is shown.
func (h *Handler) view(c echo.Context, p players.Player) (v Player, err error) {
	ctx := c.Request().Context()
	v = Player{ID: string(p.ID), Name: p.Name, Kind: string(p.Kind), State: "active", LastFour: p.LastFour,
		Mirrors: core.Text(string(p.Mirrors)), CreatedAt: core.Stamp(p.CreatedAt), LastHeardAt: core.Moment(p.HeardAt),
		LastPlayAt: core.Moment(p.LastPlayAt), Refused: []Refused{}, Address: h.address("") + "/"}
	if !p.HeardAt.IsZero() && p.LastPlayAt.After(p.HeardAt) { // which is noted to the minute
		v.LastHeardAt = v.LastPlayAt
	}
	switch {
	case p.Paused:
		v.State = "paused"
	case p.LastPlayAt.IsZero() || p.HeardAt.IsZero(): // perhaps not since it has another secret
		v.State = "waiting"
	}
	now := time.Now().In(core.Zone(c))
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	if v.PlaysToday, err = h.store.PlayedSince(ctx, p.User, p.ID, today); err != nil {
		return v, err
	}
	habit, err := h.store.HabitOf(ctx, p.User, p.ID, players.HabitFrom(now))
	if err != nil {
		return v, err
	}
	v.Silent = !p.Paused && habit.Silent(now)
	refused, err := h.store.Refusals(ctx, p.ID)
	if v.State == "waiting" {
		strays := slices.DeleteFunc(h.desk.Strays(), func(r players.Refusal) bool { return r.At.Before(p.CreatedAt) })
		refused = append(refused, strays...)
	}
	for _, now := range h.desk.Now().Of(p.User) {
		if now.From == p.ID {
			v.plays = now.Track.Title + " – " + now.Track.Artist
		}
	}
	for _, r := range refused {
		one := Refused{core.Stamp(r.At), r.Request, reason(r).T(ctx)}
		if v.Refused = append(v.Refused, one); r.At.Before(p.LastPlayAt) {
			v.before = append(v.before, one)
		} else {
			v.since = append(v.since, one)
		}
	}
	return v, err
}

// reason says why a request was refused.
func reason(r players.Refusal) words.Text {
	why := words.Each("players.refused.", string(r.Why))
	if r.Detail != "" {
		return words.Join(why, words.Plain(r.Detail))
	}
	return why
}

// address returns where players send to; with a secret, the address of one of them.
func (h *Handler) address(secret string) string {
	base := strings.TrimSuffix(h.core.URL().String(), "/")
	if secret == "" {
		return base
	}
	return base + ownPath + secret
}

func (h *Handler) named(c echo.Context, id string) (players.Player, error) {
	return h.store.Player(c.Request().Context(), core.UserOf(c).ID, library.ConnectionID(id))
}

type listPlayersAnswer struct {
	Players []Player `json:"players"`
}

func (h *Handler) all(c echo.Context) (views []Player, _ error) {
	all, err := h.store.Players(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return nil, err
	}
	views = []Player{}
	for _, p := range all {
		v, err := h.view(c, p)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listPlayersAnswer, err error) {
	out.Players, err = h.all(c)
	return out, err
}

func (h *Handler) oneAPI(c echo.Context, in *core.ByID) (out Player, _ error) {
	p, err := h.named(c, in.ID)
	if err != nil {
		return out, err
	}
	return h.view(c, p)
}

type addPlayerRequest struct {
	core.IdempotencyKey
	Body struct {
		Name    string `json:"name" minLength:"1" maxLength:"64"`
		Kind    string `json:"kind" enum:"PlayerKind"`
		Mirrors string `json:"mirrors" required:"false" doc:"The connection to the account that it sends from; none for no one. Left out, it is recognised where the program says what it is."`
	}
}

func (h *Handler) addAPI(c echo.Context, in *addPlayerRequest) (out Player, _ error) {
	return h.add(c, players.Player{Name: in.Body.Name, Kind: players.Kind(in.Body.Kind),
		Mirrors: library.ConnectionID(in.Body.Mirrors)})
}

// add adds a player of the user of a request, and returns it with its secret.
func (h *Handler) add(c echo.Context, p players.Player) (v Player, err error) {
	p.User, p.CreatedAt = core.UserOf(c).ID, time.Now()
	if p.Name, err = h.checked(c, p); err != nil {
		return v, err
	}
	secret := players.NewSecret()
	p, err = h.store.AddPlayer(c.Request().Context(), p, secret, players.Most)
	if err != nil {
		return v, wrongName(err)
	}
	h.core.NoteAccess(c, "player added", activity.Entry{User: p.User, Action: activity.PlayerAdded, Subject: p.Name})
	return h.withSecret(c, p, secret)
}

func (h *Handler) withSecret(c echo.Context, p players.Player, secret string) (v Player, err error) {
	h.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	v, err = h.view(c, p)
	v.Secret, v.OwnAddress = secret, h.address(secret)
	if p.Proof != "" {
		v.APIKey, v.APISecret = players.APIKey(p.Proof), players.APISecret(p.Proof)
	}
	return v, err
}

// checked checks what a person chose for a player, and returns its name as it is kept.
func (h *Handler) checked(c echo.Context, p players.Player) (name string, err error) {
	if name, err = accounts.CheckLabel(p.Name); err != nil || p.Mirrors == "" || p.Mirrors == players.MirrorsNone {
		return name, err
	}
	all, err := h.store.UserConnections(c.Request().Context(), core.UserOf(c).ID)
	if err == nil && !slices.ContainsFunc(all, func(conn library.Connection) bool { return conn.ID == p.Mirrors }) {
		err = core.NotFound(words.New("problem.not_found.service"))
	}
	return name, err
}

// wrongName returns what the person can do about an error of the store.
func wrongName(err error) error {
	switch {
	case errors.Is(err, players.ErrName):
		return &core.Refusal{Status: http.StatusConflict, Title: words.New("players.problem.name"),
			Detail: words.New("players.problem.name_text")}
	case errors.Is(err, players.ErrMany):
		return &core.Refusal{Status: http.StatusConflict, Title: words.New("players.problem.too_many"),
			Detail: words.New("players.problem.too_many_text", "Number", players.Most)}
	}
	return err
}

type changePlayerRequest struct {
	core.ByID
	Body struct {
		Name    *string `json:"name" required:"false" minLength:"1" maxLength:"64"`
		Paused  *bool   `json:"paused" required:"false" doc:"While it is, each request is answered with 503."`
		Mirrors *string `json:"mirrors" required:"false" doc:"The connection to the account that it sends from; none for no one."`
	}
}

func (h *Handler) changeAPI(c echo.Context, in *changePlayerRequest) (out Player, _ error) {
	p, err := h.named(c, in.ID)
	if err != nil {
		return out, err
	}
	if in.Body.Name != nil {
		p.Name = *in.Body.Name
	}
	if in.Body.Paused != nil {
		p.Paused = *in.Body.Paused
	}
	if in.Body.Mirrors != nil {
		p.Mirrors = library.ConnectionID(*in.Body.Mirrors)
	}
	if p, err = h.change(c, p); err != nil {
		return out, err
	}
	return h.view(c, p)
}

func (h *Handler) change(c echo.Context, p players.Player) (_ players.Player, err error) {
	if p.Name, err = h.checked(c, p); err != nil {
		return p, err
	}
	if err := h.store.ChangePlayer(c.Request().Context(), p); err != nil {
		return p, wrongName(err)
	}
	h.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	return p, nil
}

type removePlayerRequest struct {
	core.ByID
	Data bool `query:"data" doc:"Delete the listens, too, that only this player has sent."`
}

func (h *Handler) removeAPI(c echo.Context, in *removePlayerRequest) (out core.None, _ error) {
	_, err := h.remove(c, in.ID, in.Data)
	return out, err
}

func (h *Handler) remove(c echo.Context, id string, data bool) (p players.Player, err error) {
	if p, err = h.named(c, id); err != nil {
		return p, err
	}
	if err := h.told.Resolve(c.Request().Context(), p.User, p.ID, players.SilentCause); err != nil {
		return p, err
	}
	if err := h.store.DeletePlayer(c.Request().Context(), p.User, p.ID, data); err != nil {
		return p, err
	}
	h.core.NoteAccess(c, "player removed",
		activity.Entry{User: p.User, Action: activity.PlayerRemoved, Subject: p.Name})
	h.bus.Publish(p.User, events.Event{Type: events.Players, Connection: p.ID})
	return p, nil
}

func (h *Handler) secretAPI(c echo.Context, in *core.ByID) (out Player, _ error) {
	return h.renew(c, in.ID)
}

func (h *Handler) renew(c echo.Context, id string) (v Player, err error) {
	p, err := h.named(c, id)
	if err != nil {
		return v, err
	}
	secret := players.NewSecret()
	if p, err = h.store.RenewSecret(c.Request().Context(), p, secret); err != nil {
		return v, err
	}
	h.core.NoteAccess(c, "player's secret renewed",
		activity.Entry{User: p.User, Action: activity.PlayerRenewed, Subject: p.Name})
	return h.withSecret(c, p, secret)
}
