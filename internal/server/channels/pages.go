package channels

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pages are the pages of channels.
type pages struct {
	*Handler
	pushKey string
}

// wishesView holds the values of a channel's form.
type wishesView struct {
	Name, Severity, QuietFrom, QuietTo, Zone string
	ErrorsAtNight                            bool
}

func (in Wishes) view() wishesView {
	return wishesView{Name: *in.Name, Severity: *in.Severity, QuietFrom: *in.QuietFrom, QuietTo: *in.QuietTo,
		Zone: *in.Zone, ErrorsAtNight: *in.ErrorsAtNight}
}

// list shows the channels, and the form of the kind that the address names.
func (h *pages) list(c echo.Context) error {
	kind := c.QueryParam("add")
	if k, ok := channels.KindOf(kind); kind != "" && kind != "url" && (!ok || len(k.Fields) == 0) {
		return core.HTTPProblem(http.StatusNotFound)
	}
	return h.show(c, http.StatusOK, typed{Kind: kind})
}

func (h *pages) show(c echo.Context, status int, in typed) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.courier.All(ctx, user)
	if err != nil {
		return err
	}
	dead, err := h.store.DeadLetters(ctx, delivery.Filter{User: user, Kind: delivery.Notify})
	if err != nil {
		return err
	}
	failed := map[library.ConnectionID][]delivery.Group{}
	for _, g := range dead {
		failed[g.Connection] = append(failed[g.Connection], g)
	}
	v := listView{Lead: words.T(ctx, "channels.lead"), Push: h.pushKey, Forms: formsOf(ctx, in)}
	for _, ch := range all {
		v.Cards = append(v.Cards, cardOf(ctx, ch, failed[delivery.ChannelName(ch.ID)]))
	}
	if len(all) == 0 {
		v.Lead = words.T(ctx, "channels.none")
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "channels.title"), list(v))
}

// channelForm reads a channel's form.
func channelForm(c echo.Context) channelInput {
	value := func(name string) *string { v := c.FormValue(name); return &v }
	night := c.FormValue("errors_at_night") != ""
	in := channelInput{Kind: c.FormValue("kind"), URL: c.FormValue("address"), Wishes: Wishes{Name: value("name"),
		Severity: value("severity"), QuietFrom: value("quiet_from"), QuietTo: value("quiet_to"),
		Zone: value("zone"), ErrorsAtNight: &night}}
	if k, ok := channels.KindOf(in.Kind); ok {
		in.Fields = map[string]string{}
		for _, f := range k.Fields {
			in.Fields[f.Name] = c.FormValue("field_" + f.Name)
		}
	}
	return in
}

func (h *pages) addForm(c echo.Context) error {
	in := channelForm(c)
	ch, err := h.add(c.Request().Context(), core.UserOf(c).ID, in)
	if err != nil {
		p := h.core.Problem(c, err)
		v := typed{Kind: cmp.Or(in.Kind, "url"), Problem: p.Detail, Values: map[string]string{}, Wishes: in.view()}
		if k, ok := channels.KindOf(in.Kind); ok {
			for _, f := range k.Fields {
				if f.Kind != "password" {
					v.Values[f.Name] = in.Fields[f.Name]
				}
			}
		}
		return h.show(c, p.Status, v)
	}
	return h.back(c, words.Join(words.New("channels.done.added", "Name", ch.Name), sentTo(ch.Kind)))
}

// back ends a form: it redirects to the page of channels, which shows the sentence.
func (h *pages) back(c echo.Context, sentence words.Text) error {
	return h.core.Done(c, address, sentence)
}

// editView is the page that changes a channel.
type editView struct {
	ID, Name, Problem string
	Wishes            wishes
	Address           *ui.Field // nil for a browser, which has no other one
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (h *pages) editPage(c echo.Context) error {
	ch, err := h.one(c)
	if err != nil {
		return err
	}
	v := viewChannel(c.Request().Context(), ch)
	return h.edit(c, ch, nil, wishesView{Name: v.Name, Severity: v.Severity, QuietFrom: text(v.QuietFrom),
		QuietTo: text(v.QuietTo), Zone: v.Zone, ErrorsAtNight: v.ErrorsAtNight})
}

// edit shows the form of a channel, with the problem of what was entered, if there is one.
func (h *pages) edit(c echo.Context, ch notify.Channel, p *core.Problem, form wishesView) error {
	if ch.FromSettings {
		return notify.ErrNotYours
	}
	ctx, v := c.Request().Context(), viewChannel(c.Request().Context(), ch)
	e, status := editView{ID: v.ID, Name: v.Name, Wishes: wishesOf(ctx, "change", form)}, http.StatusOK
	if p != nil {
		e.Problem, status = p.Detail, p.Status
	}
	if ch.Kind != channels.WebPush {
		e.Address = &ui.Field{Name: "address", ID: "change-address", Type: "password", Optional: true, Exact: true,
			Autocomplete: "off", Label: words.T(ctx, "channels.edit.address"),
			Help: words.T(ctx, "channels.edit.address_help", "Address", v.Address)}
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "channels.edit.title", "Name", v.Name), edit(e))
}

func (h *pages) editForm(c echo.Context) error {
	in := channelForm(c)
	in.Fields = nil
	ch, err := h.change(c, in)
	if err != nil {
		p := h.core.Problem(c, err)
		old, e := h.one(c)
		if e != nil {
			return e
		}
		return h.edit(c, old, p, in.view())
	}
	return h.back(c, words.New("channels.done.changed", "Name", ch.Name))
}

func (h *pages) testForm(c echo.Context) error {
	said, err := h.test(c)
	if r, ok := errors.AsType[*core.Refusal](err); ok && r.Status == http.StatusUnprocessableEntity {
		said, err = r.Detail, nil
	}
	if err != nil {
		return err
	}
	return h.back(c, said)
}

func (h *pages) removePage(c echo.Context) error {
	ch, err := h.one(c)
	switch {
	case err != nil:
		return err
	case ch.FromSettings:
		return notify.ErrNotYours
	}
	ctx, v := c.Request().Context(), viewChannel(c.Request().Context(), ch)
	d := ui.Dialog{Title: words.T(ctx, "channels.ask.remove", "Name", v.Name),
		Facts: []string{labelOf(ctx, v.Kind) + ", " + v.Address}, Lead: words.T(ctx, "channels.ask.remove_lead"),
		Back: address, Do: ui.Action{Label: words.T(ctx, "channels.remove"), Post: address + "/" + v.ID + "/remove",
			Warn: true}}
	return h.core.ShowSettings(c, http.StatusOK, d.Title, ui.Ask(d))
}

func (h *pages) removeForm(c echo.Context) error {
	ch, err := h.remove(c)
	if err != nil {
		return err
	}
	return h.back(c, words.New("channels.done.removed", "Name", ch.Name))
}
