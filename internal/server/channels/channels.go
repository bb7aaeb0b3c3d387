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
func (h *Handler) API(g *echo.Group) {
	g.GET("/channels", h.list)
	g.POST("/channels", h.addAPI)
	g.PATCH("/channels/:id", h.changeAPI)
	g.DELETE("/channels/:id", h.removeAPI)
	g.POST("/channels/:id/test", h.testAPI)
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
	if err := in.wishes(&ch); err != nil {
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
	if err := in.wishes(&ch); err != nil {
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

func (h *Handler) list(c echo.Context) error {
	all, err := h.courier.All(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"channels": core.ViewAll(all, func(ch notify.Channel) channelView {
		return viewChannel(c.Request().Context(), ch)
	})})
}

func (h *Handler) addAPI(c echo.Context) error {
	in, err := core.Body[channelInput](c)
	if err != nil {
		return err
	}
	ch, err := h.add(c.Request().Context(), core.UserOf(c).ID, in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, viewChannel(c.Request().Context(), ch))
}

func (h *Handler) changeAPI(c echo.Context) error {
	in, err := core.Body[channelInput](c)
	if err != nil {
		return err
	}
	if _, err = h.change(c, in); err != nil {
		return err
	}
	ch, err := h.one(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, viewChannel(c.Request().Context(), ch))
}

func (h *Handler) removeAPI(c echo.Context) error {
	if _, err := h.remove(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
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

func (h *Handler) testAPI(c echo.Context) error {
	said, err := h.test(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"message": said.T(c.Request().Context())})
}
