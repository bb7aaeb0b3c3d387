package corrections

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// localTime is how a browser writes a time in a field.
const localTime = "2006-01-02T15:04"

// listenView is the page of a listen.
type listenView struct {
	Name, Artist string
	Facts        []ui.Fact
	Players      []ui.Sentence
	Stand        string // for which connection it stands in; empty for none
	Why          []string
	Ruled        []ruledBy  // what the person's rules have done
	Split        *ui.Action // nil with one source
	Delete       ui.Action
	Form         ui.Form
}

func (h *Handler) listenPage(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	l, told, err := h.store.OneListen(ctx, user, id)
	if err != nil {
		return err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	v := listenViewOf(ctx, l, told, label, core.Zone(c))
	if v.Stand, err = h.rows.StandsIn(ctx, user, l, label); err != nil {
		return err
	}
	if v.Ruled, err = h.ruled(ctx, user, id); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Name, listenPage(v))
}

// ruledBy is a sentence that says what a rule has done with a listen, and the address of that rule.
type ruledBy struct {
	Says string
	Rule ui.Named
}

func ruleLink(ctx context.Context, r playrules.Rule) ui.Named {
	return ui.Named{Text: words.T(ctx, "playrules.open_rule", "Rule", r.Name),
		URL: "/rules/" + strconv.FormatInt(r.ID, 10)}
}

// ruled says what a person's rules have done with a listen.
func (h *Handler) ruled(ctx context.Context, user, id int64) (said []ruledBy, err error) {
	was, renamed, withheld, err := h.store.RuledBy(ctx, user, id)
	for _, r := range renamed {
		if r.ID == playrules.Gone {
			said = append(said, ruledBy{words.T(ctx, "playrules.named_by_gone", "Was", was.Artist+" – "+was.Title),
				ui.Named{Text: words.T(ctx, "playrules.title"), URL: "/rules"}})
			continue
		}
		said = append(said, ruledBy{words.T(ctx, "playrules.named_by", "Was", was.Artist+" – "+was.Title, "Rule",
			r.Name), ruleLink(ctx, r)})
	}
	for _, r := range withheld {
		if r.ID == playrules.Gone {
			said = append(said, ruledBy{words.T(ctx, "playrules.kept_by_gone"),
				ui.Named{Text: words.T(ctx, "playrules.title"), URL: "/rules"}})
			continue
		}
		said = append(said, ruledBy{words.T(ctx, "playrules.kept_by", "Rule", r.Name), ruleLink(ctx, r)})
	}
	return said, err
}

// listenViewOf puts a listen and what its sources told into words.
func listenViewOf(ctx context.Context, l library.StoredListen, told []library.Told,
	label func(library.ConnectionID) string, zone *time.Location) listenView {
	page := addressOf(l.ID)
	v := listenView{Name: l.Title, Artist: l.Artist, Why: why(ctx, told, label),
		Delete: ui.Action{Label: words.T(ctx, "corrections.delete_this"),
			URL: "/listens/delete?listen=" + page[len("/listens/"):]},
		Form: ui.Form{ID: "edit", Post: page, Submit: words.T(ctx, "corrections.save"), Main: true, Cancel: "/listens",
			Fields: fieldsOf(ctx, l.Listen, zone), Hidden: []ui.Hidden{{Name: "was",
				Value: l.PlayedAt.In(zone).Format(localTime)}}}}
	for _, t := range told {
		v.Facts = append(v.Facts, ui.Fact{Label: label(t.Connection), Value: ui.Time(t.At, ui.At)})
	}
	v.Players = playersOf(ctx, told)
	if len(told) > 1 {
		v.Split = &ui.Action{Label: words.T(ctx, "corrections.keep", "Count", len(told)), Post: page + "/split"}
	}
	return v
}

// playersOf says with which players the sources say a listen was played; each leads to the listens played with it.
func playersOf(ctx context.Context, told []library.Told) (all []ui.Sentence) {
	said := map[string]bool{"": true}
	for _, t := range told {
		if said[t.Player] {
			continue
		}
		said[t.Player] = true
		all = append(all, ui.Sentence{Text: words.T(ctx, "listening.played_with", "Player", "{player}"),
			Slots: map[string]ui.Named{"{player}": {Text: t.Player,
				URL: "/listens?" + url.Values{"player": {t.Player}}.Encode()}}})
	}
	return all
}

// fieldsOf returns the fields of a form for a listen.
func fieldsOf(ctx context.Context, l library.Listen, zone *time.Location) []ui.Field {
	at := ""
	if !l.PlayedAt.IsZero() {
		at = l.PlayedAt.In(zone).Format(localTime)
	}
	return []ui.Field{
		{Name: "track", Label: words.T(ctx, "corrections.track"), Value: l.Title, Required: true},
		{Name: "artist", Label: words.T(ctx, "listens.artist"), Value: l.Artist, Required: true},
		{Name: "album", Label: words.T(ctx, "corrections.album"), Value: l.Album, Optional: true},
		{Name: "at", Type: "datetime-local", Label: words.T(ctx, "corrections.at"), Value: at, Required: true},
	}
}

// typed returns what a form changes of a listen, or adds. A time that is as it was stays, to the second.
func typed(c echo.Context) (change, error) {
	text := func(name string) *string {
		v := c.FormValue(name)
		return &v
	}
	in := change{Track: text("track"), Artist: text("artist"), Album: text("album")}
	if at := c.FormValue("at"); at == "" || at != c.FormValue("was") {
		parsed, err := time.ParseInLocation(localTime, at, core.Zone(c))
		if err != nil {
			return in, core.Check(words.New("corrections.problem.time"))
		}
		stamp := parsed.UTC().Format(time.RFC3339)
		in.PlayedAt = &stamp
	}
	return in, nil
}

func (h *Handler) editForm(c echo.Context) error {
	in, err := typed(c)
	if err != nil {
		return err
	}
	made, err := h.edit(c, in)
	if err != nil {
		return err
	}
	return h.done(c, "/listens/"+c.Param("id"), words.New("corrections.edited"), made)
}

func (h *Handler) splitForm(c echo.Context) error {
	made, err := h.split(c)
	if err != nil {
		return err
	}
	return h.done(c, h.core.CameFrom(c), words.New("corrections.split", "Count", made.Listens), made)
}

func (h *Handler) newPage(c echo.Context) error {
	ctx := c.Request().Context()
	title := words.T(ctx, "corrections.new")
	named := library.Track{Title: c.QueryParam("track"), Artist: c.QueryParam("artist"), Album: c.QueryParam("album")}
	named.Clean()
	l := library.Listen{Track: named, PlayedAt: time.Now()}
	return h.core.Show(c, http.StatusOK, title, newPage(title, newForm(ctx, l, core.Zone(c))))
}

// newForm returns the form for a listen that is added.
func newForm(ctx context.Context, l library.Listen, zone *time.Location) ui.Form {
	return ui.Form{ID: "new", Post: "/listens/new", Submit: words.T(ctx, "corrections.add"), Main: true,
		Cancel: "/listens", Fields: fieldsOf(ctx, l, zone)}
}

func (h *Handler) newForm(c echo.Context) error {
	in, err := typed(c)
	if err != nil {
		return err
	}
	made, id, err := h.add(c, in)
	if errors.Is(err, library.ErrUnchanged) {
		return h.core.Done(c, addressOf(id), words.New("corrections.problem.there"))
	}
	if err != nil {
		return err
	}
	return h.core.DoneUndoably(c, addressOf(id), words.New("corrections.added"), undoing(made), "/listens")
}
