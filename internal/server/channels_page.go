package server

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/notify"
)

// channelsView is the page of channels.
type channelsView struct {
	Channels []channelView
	Kinds    []channels.Kind
	Open     string // the kind whose form is open
	Problem  string
	Values   map[string]string // what was typed and may be shown again
	Form     wishesView
	Push     string // the key by which push services know this installation
}

// wishesView is what a form about a channel is filled with.
type wishesView struct {
	ID, Name, Severity, QuietFrom, QuietTo, Zone string
	ErrorsAtNight                                bool
	Severities                                   []optionView
}

var severityWords = []optionView{{"error", "Only what needs somebody"}, {"warning", "Warnings too"}, {"success", "Good news too"}, {"info", "Everything"}}

func (s *Server) channelsPage(c echo.Context) error {
	return s.showChannels(c, http.StatusOK, channelsView{Form: wishesView{Severity: string(notify.Warning)}})
}

func (s *Server) showChannels(c echo.Context, status int, v channelsView) error {
	all, err := s.Courier.All(c.Request().Context(), userOf(c).ID)
	if err != nil {
		return err
	}
	v.Channels, v.Kinds, v.Push, v.Form.Severities = viewAll(all, viewChannel), channels.Kinds(), s.PushKey, severityWords
	if v.Values == nil {
		v.Values = map[string]string{}
	}
	return s.render(c, status, "channels", "Where you are told", v)
}

// channelForm reads a form about a channel.
func channelForm(c echo.Context) channelInput {
	value := func(name string) *string { v := c.FormValue(name); return &v }
	night := c.FormValue("errors_at_night") != ""
	in := channelInput{Kind: c.FormValue("kind"), Name: value("name"), URL: c.FormValue("address"), Severity: value("severity"), QuietFrom: value("quiet_from"), QuietTo: value("quiet_to"),
		Zone: value("zone"), ErrorsAtNight: &night}
	if k, ok := channels.KindOf(in.Kind); ok {
		in.Fields = map[string]string{}
		for _, f := range k.Fields {
			in.Fields[f.Name] = c.FormValue("field_" + f.Name)
		}
	}
	return in
}

func (s *Server) addChannelForm(c echo.Context) error {
	in := channelForm(c)
	ch, err := s.addChannel(c.Request().Context(), userOf(c).ID, in)
	if err != nil {
		p := s.problemOf(c, err)
		v := channelsView{Open: cmp.Or(in.Kind, "url"), Problem: p.Detail, Values: map[string]string{},
			Form: wishesView{Name: *in.Name, Severity: *in.Severity, QuietFrom: *in.QuietFrom, QuietTo: *in.QuietTo, Zone: *in.Zone, ErrorsAtNight: *in.ErrorsAtNight}}
		if k, ok := channels.KindOf(in.Kind); ok {
			for _, f := range k.Fields {
				if f.Kind != "password" {
					v.Values[f.Name] = in.Fields[f.Name]
				}
			}
		}
		return s.showChannels(c, p.Status, v)
	}
	return s.toChannels(c, ch.Name+" was added. "+sentTo(ch.Kind))
}

// toChannels ends a form with a sentence on the page of channels.
func (s *Server) toChannels(c echo.Context, sentence string) error {
	s.sessions.Put(c.Request().Context(), flashKey, sentence)
	return c.Redirect(http.StatusSeeOther, "/channels")
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

func (s *Server) editChannelPage(c echo.Context) error {
	ch, err := s.channelOf(c)
	if err != nil {
		return err
	}
	v := viewChannel(ch)
	return s.showChannel(c, http.StatusOK, channelEdit{Channel: v, Form: wishesView{Name: v.Name, Severity: v.Severity, QuietFrom: text(v.QuietFrom), QuietTo: text(v.QuietTo), Zone: v.Zone, ErrorsAtNight: v.ErrorsAtNight}})
}

func (s *Server) showChannel(c echo.Context, status int, v channelEdit) error {
	if v.Channel.FromSettings {
		return notify.ErrNotYours
	}
	v.Form.ID, v.Form.Severities = v.Channel.ID, severityWords
	return s.render(c, status, "channel", "Change "+v.Channel.Name, v)
}

func (s *Server) editChannelForm(c echo.Context) error {
	in := channelForm(c)
	in.Fields = nil
	ch, err := s.changeChannel(c, in)
	if err != nil {
		p := s.problemOf(c, err)
		old, e := s.channelOf(c)
		if e != nil {
			return e
		}
		return s.showChannel(c, p.Status, channelEdit{Channel: viewChannel(old), Problem: p.Detail,
			Form: wishesView{Name: *in.Name, Severity: *in.Severity, QuietFrom: *in.QuietFrom, QuietTo: *in.QuietTo, Zone: *in.Zone, ErrorsAtNight: *in.ErrorsAtNight}})
	}
	return s.toChannels(c, ch.Name+" was changed.")
}

func (s *Server) testChannelForm(c echo.Context) error {
	said, err := s.testChannel(c)
	if p, ok := errors.AsType[*problem](err); ok {
		said, err = p.Detail, nil
	}
	if err != nil {
		return err
	}
	return s.toChannels(c, said)
}

func (s *Server) removeChannelPage(c echo.Context) error {
	ch, err := s.channelOf(c)
	switch {
	case err != nil:
		return err
	case ch.FromSettings:
		return notify.ErrNotYours
	}
	v := viewChannel(ch)
	return s.confirm(c, confirmView{Title: "Remove " + v.Name + "?", Facts: []string{v.Label + ", " + v.Address}, Action: "/channels/" + v.ID + "/remove", Button: "Remove", Warn: true, Back: "/channels",
		Lead: "You are not told there any more, and what waits for it is not sent. In the browser you are told as before."})
}

func (s *Server) removeChannelForm(c echo.Context) error {
	ch, err := s.removeChannel(c)
	if err != nil {
		return err
	}
	return s.toChannels(c, ch.Name+" was removed.")
}
