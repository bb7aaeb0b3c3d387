package channels

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// pages are the pages of channels.
type pages struct {
	*Handler
	pushKey string
}

// channelsView is the page of channels.
type channelsView struct {
	Channels []channelView
	Kinds    []channels.Kind
	Open     string // the kind whose form is open
	Problem  string
	Values   map[string]string // what was typed, without secrets
	Form     wishesView
	Push     string // the public key of this installation for push services
}

// wishesView holds the values of a channel's form.
type wishesView struct {
	ID, Name, Severity, QuietFrom, QuietTo, Zone string
	ErrorsAtNight                                bool
	Severities                                   []core.Option
}

var severityWords = []core.Option{{Value: "error", Label: "Only what needs somebody"},
	{Value: "warning", Label: "Warnings too"}, {Value: "success", Label: "Good news too"}, {Value: "info",
		Label: "Everything"}}

func (h *pages) list(c echo.Context) error {
	return h.show(c, http.StatusOK, channelsView{Form: wishesView{Severity: string(notify.Warning)}})
}

func (h *pages) show(c echo.Context, status int, v channelsView) error {
	all, err := h.courier.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	v.Channels, v.Kinds, v.Push, v.Form.Severities = core.ViewAll(all, viewChannel), channels.Kinds(),
		h.pushKey, severityWords
	if v.Values == nil {
		v.Values = map[string]string{}
	}
	return h.core.RenderSettings(c, status, "channels", "Where you are told", v)
}

// channelForm reads a channel's form.
func channelForm(c echo.Context) channelInput {
	value := func(name string) *string { v := c.FormValue(name); return &v }
	night := c.FormValue("errors_at_night") != ""
	in := channelInput{Kind: c.FormValue("kind"), Name: value("name"), URL: c.FormValue("address"),
		Severity: value("severity"), QuietFrom: value("quiet_from"), QuietTo: value("quiet_to"),
		Zone: value("zone"), ErrorsAtNight: &night}
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
		v := channelsView{Open: cmp.Or(in.Kind, "url"), Problem: p.Detail, Values: map[string]string{},
			Form: wishesView{Name: *in.Name, Severity: *in.Severity, QuietFrom: *in.QuietFrom, QuietTo: *in.QuietTo,
				Zone: *in.Zone, ErrorsAtNight: *in.ErrorsAtNight}}
		if k, ok := channels.KindOf(in.Kind); ok {
			for _, f := range k.Fields {
				if f.Kind != "password" {
					v.Values[f.Name] = in.Fields[f.Name]
				}
			}
		}
		return h.show(c, p.Status, v)
	}
	return h.back(c, ch.Name+" was added. "+sentTo(ch.Kind))
}

// back ends a form: it redirects to the page of channels, which shows the sentence.
func (h *pages) back(c echo.Context, sentence string) error {
	return h.core.Done(c, "/settings/notifications", words.Plain(sentence))
}

type channelEdit struct {
	Channel channelView
	Problem string
	Form    wishesView
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
	v := viewChannel(ch)
	return h.showOne(c, http.StatusOK,
		channelEdit{Channel: v, Form: wishesView{Name: v.Name, Severity: v.Severity, QuietFrom: text(v.QuietFrom),
			QuietTo: text(v.QuietTo), Zone: v.Zone, ErrorsAtNight: v.ErrorsAtNight}})
}

func (h *pages) showOne(c echo.Context, status int, v channelEdit) error {
	if v.Channel.FromSettings {
		return notify.ErrNotYours
	}
	v.Form.ID, v.Form.Severities = v.Channel.ID, severityWords
	return h.core.RenderSettings(c, status, "channel", "Change "+v.Channel.Name, v)
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
		return h.showOne(c, p.Status, channelEdit{Channel: viewChannel(old), Problem: p.Detail,
			Form: wishesView{Name: *in.Name, Severity: *in.Severity, QuietFrom: *in.QuietFrom, QuietTo: *in.QuietTo,
				Zone: *in.Zone, ErrorsAtNight: *in.ErrorsAtNight}})
	}
	return h.back(c, ch.Name+" was changed.")
}

func (h *pages) testForm(c echo.Context) error {
	said, err := h.test(c)
	if p, ok := errors.AsType[*core.Problem](err); ok {
		said, err = p.Detail, nil
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
	v := viewChannel(ch)
	return h.core.Confirm(c, core.Confirmation{Title: "Remove " + v.Name + "?",
		Facts:  []string{v.Label + ", " + v.Address},
		Action: "/settings/notifications/" + v.ID + "/remove", Button: "Remove",
		Warn: true, Back: "/settings/notifications",
		Lead: "You are not told there any more, and what waits for it is not sent. In the browser you are " +
			"told as before."})
}

func (h *pages) removeForm(c echo.Context) error {
	ch, err := h.remove(c)
	if err != nil {
		return err
	}
	return h.back(c, ch.Name+" was removed.")
}
