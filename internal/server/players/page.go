package players

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listPath is the page of all players.
const listPath = "/players"

func pathOf(id string) string { return listPath + "/" + url.PathEscape(id) }

func (h *Handler) page(c echo.Context) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	now, err := h.playing(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	return h.core.Show(c, http.StatusOK, words.T(ctx, "players.title"), listPage(all, now))
}

func (h *Handler) choosePage(c echo.Context) error {
	ctx := c.Request().Context()
	if c.QueryParam("for") == "" {
		return h.core.Show(c, http.StatusOK, words.T(ctx, "players.add"), choosePage())
	}
	return h.showForm(c, http.StatusOK, wayOf(c.QueryParam("for")), "", "")
}

// showForm shows the form that adds a player.
func (h *Handler) showForm(c echo.Context, status int, w way, name, problem string) error {
	ctx := c.Request().Context()
	all, err := h.all(c)
	if err != nil {
		return err
	}
	title := w.title(ctx)
	f := ui.Form{ID: "add-player", Post: listPath, Main: true, Submit: words.T(ctx, "players.add_button"),
		Hidden: []ui.Hidden{{Name: "for", Value: w.Name}}, Cancel: listPath + "/add"}
	if name == "" {
		name = nameFor(w.first(ctx), all)
	}
	f.Fields = append(f.Fields, ui.Field{Name: "name", ID: "player-name", Label: words.T(ctx, "players.name"),
		Value: name, MaxLength: "64", Autocomplete: "off", Required: true, Help: words.T(ctx, "players.name_help"),
		Problem: problem, Autofocus: problem != ""})
	mirrors, err := h.mirrors(c, w.At)
	if err != nil {
		return err
	}
	if len(mirrors.Options) > 2 {
		f.Fields = append(f.Fields, mirrors)
	}
	return h.core.Show(c, status, title, addPage(title, f))
}

// mirrors returns the field that says which connection a player sends from. at is the provider of the likely one.
func (h *Handler) mirrors(c echo.Context, at string) (f ui.Field, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	f = ui.Field{Name: "mirrors", ID: "player-mirrors", Label: words.T(ctx, "players.mirrors"),
		Help: words.T(ctx, "players.mirrors_help"), Options: []ui.Option{
			{Label: words.T(ctx, "players.mirrors_unknown")},
			{Value: string(players.MirrorsNone), Label: words.T(ctx, "players.mirrors_none")}}}
	all, err := h.store.UserConnections(ctx, user)
	if err != nil {
		return f, err
	}
	label, err := h.core.Labels(ctx, user)
	for _, conn := range all {
		f.Options = append(f.Options, ui.Option{Value: string(conn.ID), Label: label(conn.ID)})
		if at != "" && conn.Provider() == at && f.Value == "" {
			f.Value = string(conn.ID)
		}
	}
	return f, err
}

type playerForm struct {
	Name    string `form:"name"`
	Mirrors string `form:"mirrors"`
	For     string `form:"for"`
}

func (h *Handler) addForm(c echo.Context) error {
	in, err := core.Filled[playerForm](c)
	if err != nil {
		return err
	}
	w := wayOf(in.For)
	v, err := h.add(c, players.Player{Name: in.Name, Kind: w.Kind, Mirrors: library.ConnectionID(in.Mirrors)})
	if err != nil {
		p := h.core.Problem(c, err)
		return h.showForm(c, p.Status, w, in.Name, p.Detail)
	}
	return h.showSecret(c, w, v)
}

// shownOnce is what nothing but the page after the form of a player shows of it.
type shownOnce struct{ Way, Secret, APIKey, APISecret, OwnAddress string }

// showSecret leads to the page with what to enter in a program, this once.
func (h *Handler) showSecret(c echo.Context, w way, v Player) error {
	return h.core.GoAndShow(c, pathOf(v.ID)+"/setup", shownOnce{w.Name, v.Secret, v.APIKey, v.APISecret, v.OwnAddress})
}

// setupPage shows what to enter in a program, and waits for its first play.
func (h *Handler) setupPage(c echo.Context) error {
	var t shownOnce
	there, err := h.core.Shown(c, &t)
	if err != nil {
		return err
	}
	if !there {
		return c.Redirect(http.StatusSeeOther, pathOf(c.Param("id")))
	}
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	v, err := h.view(c, p)
	if err != nil {
		return err
	}
	w := wayOf(t.Way)
	v.Secret, v.APIKey, v.APISecret, v.OwnAddress = t.Secret, t.APIKey, t.APISecret, t.OwnAddress
	return h.core.Show(c, http.StatusOK, words.T(c.Request().Context(), "players.setup", "Name", v.Name),
		setupPage(setup{way: w, Player: v, Root: h.address(""), User: core.UserOf(c).Name,
			OnlyHere: core.Loopback(h.core.URL().Host)}))
}

// setup is what somebody enters in a program.
type setup struct {
	way
	Player
	Root     string // where players come in, without a slash at its end
	User     string // the name of the person
	OnlyHere bool   // only programs on this machine reach it
}

// Target returns the address for the program's own field.
func (s setup) Target() string {
	if s.Own {
		return s.OwnAddress + s.way.Address
	}
	return s.Root + s.way.Address
}

// Section returns what goes into the program's file of settings.
func (s setup) Section() string {
	return strings.NewReplacer("{address}", s.Target(), "{user}", s.User, "{token}", s.Secret).Replace(s.Config)
}

func (h *Handler) onePage(c echo.Context) error {
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	v, err := h.view(c, p)
	if err != nil {
		return err
	}
	return h.showOne(c, http.StatusOK, v, "")
}

func (h *Handler) showOne(c echo.Context, status int, v Player, problem string) error {
	ctx := c.Request().Context()
	mirrors, err := h.mirrors(c, "")
	if err != nil {
		return err
	}
	mirrors.Help = words.T(ctx, "players.mirrors_short")
	if v.Mirrors != nil {
		mirrors.Value = *v.Mirrors
	}
	name := ui.Field{Name: "name", ID: "player-name", Label: words.T(ctx, "players.name"), Value: v.Name,
		MaxLength: "64", Autocomplete: "off", Required: true, Problem: problem, Autofocus: problem != ""}
	f := ui.Form{ID: "change-player", Post: pathOf(v.ID), Submit: words.T(ctx, "players.save"),
		Fields: []ui.Field{name, mirrors}}
	return h.core.Show(c, status, v.Name, onePage(v, f))
}

func (h *Handler) changeForm(c echo.Context) error {
	in, err := core.Filled[playerForm](c)
	if err != nil {
		return err
	}
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	before, err := h.view(c, p)
	if err != nil {
		return err
	}
	p.Name, p.Mirrors = in.Name, library.ConnectionID(in.Mirrors)
	if p, err = h.change(c, p); err != nil {
		problem := h.core.Problem(c, err)
		return h.showOne(c, problem.Status, before, problem.Detail)
	}
	return h.core.Done(c, pathOf(string(p.ID)), words.New("players.saved", "Name", p.Name))
}

// pauseForm pauses a player, or resumes it, as the path says.
func (h *Handler) pauseForm(c echo.Context) error {
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	p.Paused = c.Path() == listPath+"/:id/pause"
	if p, err = h.change(c, p); err != nil {
		return err
	}
	said := words.New("players.resumed", "Name", p.Name)
	if p.Paused {
		said = words.New("players.paused", "Name", p.Name)
	}
	return h.core.Done(c, pathOf(string(p.ID)), said)
}

func (h *Handler) secretPage(c echo.Context) error {
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	ctx, at := c.Request().Context(), pathOf(string(p.ID))
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "players.renew_title", "Name", p.Name),
		Lead: words.T(ctx, "players.renew_lead"), Action: at + "/secret", Button: words.T(ctx, "players.renew_button"),
		Warn: true, Back: at})
}

func (h *Handler) secretForm(c echo.Context) error {
	v, err := h.renew(c, c.Param("id"))
	if err != nil {
		return err
	}
	for _, of := range []func(way) bool{
		func(w way) bool { return w.Label != "" && strings.HasPrefix(v.Name, w.Label) }, // as it is called at first
		func(w way) bool { return w.Label == "" || w.Own },
	} {
		i := slices.IndexFunc(ways, func(w way) bool { return of(w) && w.Kind == players.Kind(v.Kind) })
		if i >= 0 {
			return h.showSecret(c, ways[i], v)
		}
	}
	return h.showSecret(c, wayOf("any"), v)
}

func (h *Handler) removePage(c echo.Context) error {
	p, err := h.named(c, c.Param("id"))
	if err != nil {
		return err
	}
	ctx, at := c.Request().Context(), pathOf(string(p.ID))
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "players.remove_title", "Name", p.Name),
		Lead: words.T(ctx, "players.remove_lead"), Action: at + "/remove",
		Button: words.T(ctx, "players.remove_button"), Warn: true, Back: at})
}

func (h *Handler) removeForm(c echo.Context) error {
	p, err := h.remove(c, c.Param("id"), false)
	if err != nil {
		return err
	}
	return h.core.Done(c, listPath, words.New("players.removed", "Name", p.Name))
}

// mark returns the state of a player.
func (p Player) mark(ctx context.Context) ui.Mark {
	shape := map[string]string{"waiting": "new", "active": "healthy", "paused": "paused"}[p.State]
	return ui.Mark{Shape: shape, Word: words.Each("players.state.", p.State).T(ctx)}
}

// facts are what is known of a player.
func (p Player) facts(ctx context.Context) []ui.Fact {
	never := words.T(ctx, "players.never")
	var all []ui.Fact
	if p.LastHeardAt.Sub(p.LastPlayAt.Time).Abs() >= time.Minute { // else both say the same
		all = []ui.Fact{{Label: words.T(ctx, "players.heard"), Value: ui.TimeOr(p.LastHeardAt.Time, ui.Ago, never)}}
	}
	return append(all, []ui.Fact{
		{Label: words.T(ctx, "players.played"), Value: ui.TimeOr(p.LastPlayAt.Time, ui.Ago, never)},
		{Label: words.T(ctx, "players.today"), Value: ui.Say(words.T(ctx, "players.plays", "Count", p.PlaysToday))},
	}...)
}

// actions are what a person can do with a player.
func (p Player) actions(ctx context.Context) []ui.Action {
	at := pathOf(p.ID)
	pause := ui.Action{Label: words.T(ctx, "players.pause"), Post: at + "/pause"}
	if p.State == "paused" {
		pause = ui.Action{Label: words.T(ctx, "players.resume"), Post: at + "/resume", Main: true}
	}
	return []ui.Action{pause, {Label: words.T(ctx, "players.renew"), URL: at + "/secret"},
		{Label: words.T(ctx, "players.remove"), URL: at + "/remove"}}
}

// adding is the way to another player.
func adding(ctx context.Context) []ui.Action {
	return []ui.Action{{Label: words.T(ctx, "players.add"), URL: listPath + "/add", Main: true}}
}

// listens is the address of the listens that a player has told of.
func (p Player) listens() string { return "/listens?" + url.Values{"source": {p.ID}}.Encode() }

// nameFor returns a name for a new player that no other one of the person has.
func nameFor(wanted string, all []Player) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(all, func(p Player) bool { return p.Name == name })
	}
	name := wanted
	for n := 2; taken(name) && n <= players.Most+1; n++ {
		name = wanted + " " + strconv.Itoa(n)
	}
	return name
}
