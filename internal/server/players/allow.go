package players

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// allowPath is the page where a person lets a program in that knows no secret, as Last.fm's API has them do.
const allowPath = listPath + "/allow"

// allowedFor is how long a token may fetch the session key; Last.fm's live for an hour, too.
const allowedFor = time.Hour

// asked is what a program asks for: https://www.last.fm/api/webauth
type asked struct {
	Key    string `form:"api_key"`
	Token  string `form:"token"` // empty for a program that learns it at its Return
	Return string `form:"cb"`    // where the person goes on; empty for nowhere
	Player string `form:"player"`
	Name   string `form:"name"`
}

// back returns the address where a person goes on, with the token; nil for none.
func (a asked) back() *url.URL {
	u, err := url.Parse(a.Return)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	q := u.Query()
	q.Set("token", a.Token)
	u.RawQuery = q.Encode()
	return u
}

// possible returns an error for what no program asks for.
func (a asked) possible() error {
	if a.Token == "" && a.back() == nil || len(a.Token) > maxToken {
		return core.NotFound(words.New("players.allow.unasked"))
	}
	return nil
}

// maxToken is how long a token may be: ours have 42 letters and digits.
const maxToken = 100

func (h *Handler) allowPage(c echo.Context) error {
	return h.askToAllow(c, http.StatusOK, asked{Key: c.QueryParam("api_key"), Token: c.QueryParam("token"),
		Return: c.QueryParam("cb")}, "")
}

func (h *Handler) askToAllow(c echo.Context, status int, a asked, problem string) error {
	if err := a.possible(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	all, err := h.all(c)
	if err != nil {
		return err
	}
	if a.Name == "" {
		a.Name = nameFor("Last.fm", all)
	}
	f := ui.Form{ID: "allow-player", Post: allowPath, Main: true, Submit: words.T(ctx, "players.allow.button"),
		Cancel: listPath, Hidden: []ui.Hidden{{Name: "api_key", Value: a.Key}, {Name: "token", Value: a.Token},
			{Name: "cb", Value: a.Return}}}
	known := ui.Field{Name: "player", ID: "allow-as", Label: words.T(ctx, "players.allow.as"), Value: a.Player,
		Options: []ui.Option{{Label: words.T(ctx, "players.allow.new")}}}
	owner, err := h.store.PlayerByKey(ctx, a.Key)
	for _, p := range all {
		if players.Kind(p.Kind).Proves() {
			known.Options = append(known.Options, ui.Option{Value: p.ID, Label: p.Name})
		}
		if err == nil && p.ID == string(owner.ID) && a.Player == "" {
			known.Value = p.ID
		}
	}
	if len(known.Options) > 1 {
		f.Fields = append(f.Fields, known)
	}
	f.Fields = append(f.Fields, ui.Field{Name: "name", ID: "allow-name", Label: words.T(ctx, "players.allow.name"),
		Value: a.Name, MaxLength: "64", Autocomplete: "off", Problem: problem, Autofocus: problem != ""})
	host := ""
	if u := a.back(); u != nil {
		host = u.Host
	}
	return h.core.Show(c, status, words.T(ctx, "players.allow.title"), allowPage(host, f))
}

func (h *Handler) allowForm(c echo.Context) error {
	a, err := core.Filled[asked](c)
	if err != nil {
		return err
	}
	if err := a.possible(); err != nil {
		return err
	}
	id := library.ConnectionID(a.Player)
	if id == "" {
		made, err := h.add(c, players.Player{Name: a.Name, Kind: players.LastFM})
		if err != nil {
			p := h.core.Problem(c, err)
			return h.askToAllow(c, p.Status, a, p.Detail)
		}
		id = library.ConnectionID(made.ID)
	}
	p, err := h.named(c, string(id))
	if err != nil {
		return err
	}
	if a.Token == "" {
		a.Token = players.NewSecret()
	}
	ctx := c.Request().Context()
	if err := h.store.GrantPlayer(ctx, p, a.Token, time.Now().Add(allowedFor)); err != nil {
		return err
	}
	onwards := ui.Action{Label: words.T(ctx, "players.allow.done"), URL: pathOf(string(p.ID)), Main: true}
	if u := a.back(); u != nil {
		onwards = ui.Action{Label: words.T(ctx, "players.allow.back", "Host", u.Host), URL: u.String(), Main: true}
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "players.allow.allowed", "Name", p.Name),
		allowedPage(p.Name, onwards))
}
