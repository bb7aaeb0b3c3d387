// Package channels answers for the channels on which users are notified outside the browser.
package channels

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/delivery"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Store reads what could not be sent to channels.
type Store interface {
	DeadLetters(context.Context, delivery.Filter) ([]delivery.Group, error)
}

// Handler answers for the channels on which a user is notified outside the browser.
type Handler struct {
	core    *core.Core
	store   Store
	courier *notify.Courier
	pushKey string
}

// New returns a Handler. pushKey is the public key by which push services know this installation.
func New(k *core.Core, store Store, courier *notify.Courier, pushKey string) *Handler {
	return &Handler{core: k, store: store, courier: courier, pushKey: pushKey}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	p := &pages{Handler: h, pushKey: h.pushKey}
	g.GET("/settings/notifications", p.list)
	g.POST("/settings/notifications", p.addForm)
	g.GET("/settings/notifications/:id", p.editPage)
	g.POST("/settings/notifications/:id", p.editForm)
	g.POST("/settings/notifications/:id/test", p.testForm)
	g.GET("/settings/notifications/:id/remove", p.removePage)
	g.POST("/settings/notifications/:id/remove", p.removeForm)
	core.Moved(g, "/channels", "/settings/notifications")
	core.Moved(g, "/channels/:id", "/settings/notifications/:id")
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/channels", h.list, core.Call{
		ID:      "listChannels",
		Summary: "Where you get notifications outside the browser",
		Answer:  "The oldest first.",
	})
	core.Post(a, "/channels", h.addAPI, core.Call{
		ID:          "addChannel",
		Summary:     "Add a channel",
		Description: "Reprise sends a first message at once, and stores nothing if that fails.",
		Answer:      "The first message arrived, and the channel is stored.",
		Status:      http.StatusCreated,
		Refusals:    map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Patch(a, "/channels/{id}", h.changeAPI, core.Call{
		ID:      "changeChannel",
		Summary: "Change a channel",
		Description: "Anything you leave out stays as it is. Another address gets a first message, and is not " +
			"stored if that fails. Reprise forgets earlier failures of the channel, and sends what is waiting.",
		Answer:   "As it is now.",
		Refusals: map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/channels/{id}", h.removeAPI, core.Call{
		ID:       "removeChannel",
		Summary:  "Remove a channel",
		Answer:   "Removed; Reprise no longer sends what was waiting for it.",
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Post(a, "/channels/{id}/test", h.testAPI, core.Call{
		ID:       "testChannel",
		Summary:  "Send a test now",
		Answer:   "Sent; the message says where to look for it.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
}

func minutesOf(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0, core.Check(words.New("channels.problem.time"))
	}
	return at.Hour()*60 + at.Minute(), nil
}

// failed returns the problem of a message that did not arrive.
func failed(why words.Text) *core.Refusal {
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("channels.problem.failed"),
		Detail: why}
}

// channelProblem returns the problem for a channel whose test message failed.
func channelProblem(err error) error {
	if e, ok := errors.AsType[*notify.RefusedError](err); ok {
		return failed(words.Join(e.Reason, words.New("refused.nothing")))
	}
	return err
}

func (h *Handler) add(ctx context.Context, user int64, in channelInput) (notify.Channel, error) {
	ch := notify.Channel{User: user, Wishes: notify.DefaultWishes()}
	have, err := h.courier.All(ctx, user)
	if err != nil {
		return ch, err
	}
	kind, url, err := in.address()
	if err != nil {
		return ch, err
	}
	ch.Kind, ch.URL = kind, resilience.Secret(url)
	if err := in.copyTo(&ch); err != nil {
		return ch, err
	}
	if ch.Name == "" {
		label, _ := channels.KindOf(kind)
		ch.Name = label.Label
	}
	for _, other := range have {
		endpoint := channels.PushAddress(other.Kind, string(other.URL))
		switch {
		case other.URL == ch.URL:
			return other, &core.Refusal{Status: http.StatusConflict, Title: words.New("channels.problem.there"),
				Detail: words.New("channels.problem.there_text", "Name", other.Name)}
		// the same browser, with another key or address
		case endpoint != "" && (endpoint == in.Replaces || endpoint == channels.PushAddress(ch.Kind, url)):
			other.URL = ch.URL
			ch, err := h.courier.Change(ctx, other)
			return h.done(ctx, activity.ChannelChanged, ch, err)
		}
	}
	if len(have) >= notify.MostChannels { // no message is sent to one that will be refused
		return ch, notify.ErrCrowded
	}
	ch, err = h.courier.Add(ctx, ch)
	return h.done(ctx, activity.ChannelAdded, ch, err)
}

// done notes a change of a channel in the activity log, or returns the problem with it.
func (h *Handler) done(ctx context.Context, what activity.Action, ch notify.Channel,
	err error) (notify.Channel, error) {
	if err == nil {
		h.core.Note(ctx, activity.Entry{User: ch.User, Action: what, Subject: ch.Name})
	}
	return ch, channelProblem(err)
}

// one returns the channel that a request's path names.
func (h *Handler) one(c echo.Context) (notify.Channel, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return notify.Channel{}, err
	}
	return h.courier.One(c.Request().Context(), core.UserOf(c).ID, id)
}

func (h *Handler) change(c echo.Context, in channelInput) (notify.Channel, error) {
	ch, err := h.one(c)
	if err != nil {
		return ch, err
	}
	if in.URL != "" || len(in.Fields) > 0 {
		if in.Kind == "" {
			in.Kind = ch.Kind
		}
		kind, url, err := in.address()
		switch {
		case err != nil:
			return ch, err
		case kind != ch.Kind:
			return ch, core.Check(words.New("channels.problem.kind"))
		}
		ch.URL = resilience.Secret(url)
	}
	if err := in.copyTo(&ch); err != nil {
		return ch, err
	}
	if ch.Name == "" {
		return ch, core.Check(words.New("channels.problem.name"))
	}
	ctx := c.Request().Context()
	ch, err = h.courier.Change(ctx, ch)
	return h.done(ctx, activity.ChannelChanged, ch, err)
}

func (h *Handler) remove(c echo.Context) (notify.Channel, error) {
	ch, err := h.one(c)
	if err != nil {
		return ch, err
	}
	ctx := c.Request().Context()
	return h.done(ctx, activity.ChannelRemoved, ch, h.courier.Remove(ctx, ch.User, ch.ID))
}

type listChannelsAnswer struct {
	Channels []Channel `json:"channels"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listChannelsAnswer, _ error) {
	all, err := h.courier.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	return listChannelsAnswer{Channels: core.ViewAll(all, func(ch notify.Channel) Channel {
		return viewChannel(c.Request().Context(), ch)
	})}, nil
}

type addChannelRequest struct {
	core.IdempotencyKey
	Body channelInput
}

func (h *Handler) addAPI(c echo.Context, in *addChannelRequest) (out Channel, _ error) {
	ch, err := h.add(c.Request().Context(), core.UserOf(c).ID, in.Body)
	if err != nil {
		return out, err
	}
	return viewChannel(c.Request().Context(), ch), nil
}

type changeChannelRequest struct {
	core.ByID
	Body struct {
		URL    string            `json:"url" required:"false"`
		Fields map[string]string `json:"fields" required:"false"`
		Wishes
	}
}

func (h *Handler) changeAPI(c echo.Context, in *changeChannelRequest) (out Channel, _ error) {
	given := channelInput{URL: in.Body.URL, Fields: in.Body.Fields, Wishes: in.Body.Wishes}
	if _, err := h.change(c, given); err != nil {
		return out, err
	}
	ch, err := h.one(c)
	if err != nil {
		return out, err
	}
	return viewChannel(c.Request().Context(), ch), nil
}

func (h *Handler) removeAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	_, err := h.remove(c)
	return out, err
}

// test sends a message at once, and returns where to look for it.
func (h *Handler) test(c echo.Context) (words.Text, error) {
	ch, err := h.one(c)
	if err != nil {
		return words.Text{}, err
	}
	err = h.courier.SendTest(c.Request().Context(), ch.User, ch.ID)
	if errors.Is(err, notify.ErrUnsubscribed) {
		return words.Text{}, failed(words.New("channels.problem.unsubscribed"))
	}
	if e, ok := errors.AsType[*notify.RefusedError](err); ok {
		return words.Text{}, failed(words.New("channels.problem.of", "Name", ch.Name, "Why", e.Reason))
	}
	return sentTo(ch.Kind), err
}

// sentTo returns the sentence that says where to look for a message.
func sentTo(kind string) words.Text {
	k, _ := channels.KindOf(kind) // a channel has a kind that there is
	return k.Sent
}

type testChannelAnswer struct {
	Message string `json:"message"`
}

func (h *Handler) testAPI(c echo.Context, _ *core.ByID) (out testChannelAnswer, _ error) {
	said, err := h.test(c)
	if err != nil {
		return out, err
	}
	return testChannelAnswer{Message: said.T(c.Request().Context())}, nil
}
