package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// channelView is a channel in the API and on its page. What is secret in its address is never shown again.
type channelView struct {
	ID            string  `json:"id"`
	Kind          string  `json:"kind"`
	Name          string  `json:"name"`
	Address       string  `json:"address"`
	FromSettings  bool    `json:"from_settings"`
	Severity      string  `json:"severity"`
	QuietFrom     *string `json:"quiet_from"`
	QuietTo       *string `json:"quiet_to"`
	Zone          string  `json:"zone"`
	ErrorsAtNight bool    `json:"errors_at_night"`
	State         string  `json:"state"` // working, failing or stopped
	Category      *string `json:"category"`
	Message       string  `json:"message"`
	Since         *string `json:"since"`
	Waiting       int     `json:"waiting"`
	LastSentAt    *string `json:"last_sent_at"`
	CreatedAt     string  `json:"created_at"`
	Label         string  `json:"-"` // of its kind
	Push          string  `json:"-"` // the browser's own address of it
}

func viewChannel(c notify.Channel) channelView {
	kind, _ := channels.KindOf(c.Kind)
	v := channelView{ID: strconv.FormatInt(c.ID, 10), Kind: c.Kind, Name: c.Name, Address: channels.Shown(c.Kind, string(c.URL)), FromSettings: c.FromSettings, Severity: string(c.Least),
		QuietFrom: clockTime(c.QuietFrom), QuietTo: clockTime(c.QuietTo), Zone: c.Zone, ErrorsAtNight: c.ErrorsAtNight, State: "working", Category: knownText(c.Category),
		Message: c.Reason, Since: moment(c.FailingSince), Waiting: c.Waiting, LastSentAt: moment(c.LastSentAt), CreatedAt: library.Stamp(c.CreatedAt),
		Label: kind.Label, Push: channels.PushAddress(c.Kind, string(c.URL))}
	switch {
	case !c.StoppedAt.IsZero():
		v.State = "stopped"
	case c.Failures > 0:
		v.State = "failing"
	}
	return v
}

// clockTime writes minutes of the day as 22:30.
func clockTime(minutes int) *string {
	if minutes < 0 {
		return nil
	}
	text := fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
	return &text
}

// channelInput is what is sent to add or change a channel. Of a change, what is missing stays.
type channelInput struct {
	Kind          string                 `json:"kind"`
	Name          *string                `json:"name"`
	URL           string                 `json:"url"`
	Fields        map[string]string      `json:"fields"`
	Subscription  *channels.Subscription `json:"subscription"`
	Replaces      string                 `json:"replaces"` // the address by which this browser was known before
	Severity      *string                `json:"severity"`
	QuietFrom     *string                `json:"quiet_from"`
	QuietTo       *string                `json:"quiet_to"`
	Zone          *string                `json:"zone"`
	ErrorsAtNight *bool                  `json:"errors_at_night"`
}

func unfit(detail string) error {
	return &problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you entered", Detail: detail}
}

// address reads where the channel is.
func (in channelInput) address() (kind, url string, err error) {
	switch {
	case in.Subscription != nil:
		kind = channels.WebPush
		url, err = in.Subscription.URL()
	case strings.TrimSpace(in.URL) != "":
		kind, url, err = channels.Parse(in.URL, in.Kind)
	default:
		kind, url, err = channels.Build(in.Kind, in.Fields)
	}
	if err != nil {
		return "", "", unfit(channels.Problem(err))
	}
	return kind, url, nil
}

const (
	longestName = 60 // of a channel, in characters
	mostOwn     = 20 // channels of one person
)

// wishes fills in what was sent about the name and the wishes.
func (in channelInput) wishes(ch *notify.Channel) error {
	if in.Name != nil {
		if ch.Name = strings.TrimSpace(*in.Name); utf8.RuneCountInString(ch.Name) > longestName {
			return unfit("The name is too long; it may have 60 characters.")
		}
	}
	if in.Severity != nil {
		ch.Least = notify.Severity(*in.Severity)
	}
	if !ch.Least.AtLeast(notify.Info) {
		return unfit("Choose from what on you want to be told: info, success, warning or error.")
	}
	var err error
	if in.QuietFrom != nil {
		ch.QuietFrom, err = minutesOf(*in.QuietFrom)
	}
	if in.QuietTo != nil && err == nil {
		ch.QuietTo, err = minutesOf(*in.QuietTo)
	}
	if err != nil {
		return err
	}
	if (ch.QuietFrom < 0) != (ch.QuietTo < 0) {
		return unfit("Quiet hours have a beginning and an end: fill in both, or none.")
	}
	if ch.QuietFrom >= 0 && ch.QuietFrom == ch.QuietTo {
		return unfit("Quiet hours cannot end when they begin. Choose two times, or none.")
	}
	if in.Zone != nil {
		ch.Zone = *in.Zone
		if _, err := time.LoadLocation(ch.Zone); err != nil || ch.Zone == "Local" {
			return unfit("There is no such time zone. Write it like Europe/Vienna.")
		}
	}
	if in.ErrorsAtNight != nil {
		ch.ErrorsAtNight = *in.ErrorsAtNight
	}
	return nil
}

func minutesOf(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0, unfit("Write quiet hours like 22:30.")
	}
	return at.Hour()*60 + at.Minute(), nil
}

// channelProblem puts a channel that could not be told into words.
func channelProblem(err error) error {
	if e, ok := errors.AsType[*notify.RefusedError](err); ok {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "It did not work", Detail: e.Reason + " Nothing was stored."}
	}
	return err
}

func (s *Server) addChannel(ctx context.Context, user int64, in channelInput) (notify.Channel, error) {
	ch := notify.Channel{User: user, Wishes: notify.DefaultWishes()}
	have, err := s.Courier.All(ctx, user)
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
			return other, &problem{Status: http.StatusConflict, Title: "There already", Detail: "You are told there already, as " + other.Name + "."}
		case endpoint != "" && (endpoint == in.Replaces || endpoint == channels.PushAddress(ch.Kind, url)): // the browser has another key, or another address
			other.URL = ch.URL
			ch, err := s.Courier.Change(ctx, other)
			return s.channelDone(ctx, activity.ChannelChanged, ch, err)
		}
	}
	if len(have) >= mostOwn {
		return ch, &problem{Status: http.StatusConflict, Title: "Too many", Detail: "You have 20 channels already. Remove one first."}
	}
	ch, err = s.Courier.Add(ctx, ch)
	return s.channelDone(ctx, activity.ChannelAdded, ch, err)
}

// channelDone notes what a person did with a channel, or puts into words why it could not be done.
func (s *Server) channelDone(ctx context.Context, what activity.Action, ch notify.Channel, err error) (notify.Channel, error) {
	if err == nil {
		s.note(ctx, activity.Entry{User: ch.User, Action: what, Subject: ch.Name})
	}
	return ch, channelProblem(err)
}

// channelOf returns the channel that a request's address names.
func (s *Server) channelOf(c echo.Context) (notify.Channel, error) {
	id, err := number(c.Param("id"))
	if err != nil {
		return notify.Channel{}, err
	}
	return s.Courier.One(c.Request().Context(), userOf(c).ID, id)
}

func (s *Server) changeChannel(c echo.Context, in channelInput) (notify.Channel, error) {
	ch, err := s.channelOf(c)
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
			return ch, unfit("This is the address of another kind of channel. Add it as a new one.")
		}
		ch.URL = resilience.Secret(url)
	}
	if err := in.wishes(&ch); err != nil {
		return ch, err
	}
	if ch.Name == "" {
		return ch, unfit("Give it a name.")
	}
	ctx := c.Request().Context()
	ch, err = s.Courier.Change(ctx, ch)
	return s.channelDone(ctx, activity.ChannelChanged, ch, err)
}

func (s *Server) removeChannel(c echo.Context) (notify.Channel, error) {
	ch, err := s.channelOf(c)
	if err != nil {
		return ch, err
	}
	ctx := c.Request().Context()
	return s.channelDone(ctx, activity.ChannelRemoved, ch, s.Courier.Remove(ctx, ch.User, ch.ID))
}

func (s *Server) channelsAPI(c echo.Context) error {
	all, err := s.Courier.All(c.Request().Context(), userOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"channels": viewAll(all, viewChannel)})
}

func (s *Server) addChannelAPI(c echo.Context) error {
	in, err := body[channelInput](c)
	if err != nil {
		return err
	}
	ch, err := s.addChannel(c.Request().Context(), userOf(c).ID, in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, viewChannel(ch))
}

func (s *Server) changeChannelAPI(c echo.Context) error {
	in, err := body[channelInput](c)
	if err != nil {
		return err
	}
	if _, err = s.changeChannel(c, in); err != nil {
		return err
	}
	ch, err := s.channelOf(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, viewChannel(ch))
}

func (s *Server) removeChannelAPI(c echo.Context) error {
	if _, err := s.removeChannel(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// testChannel sends a message at once and says what came of it.
func (s *Server) testChannel(c echo.Context) (string, error) {
	ch, err := s.channelOf(c)
	if err != nil {
		return "", err
	}
	err = s.Courier.SendTest(c.Request().Context(), ch.User, ch.ID)
	if errors.Is(err, notify.ErrUnsubscribed) {
		return "", &problem{Status: http.StatusUnprocessableEntity, Title: "It did not work", Detail: "This browser has taken back that it may be told, so it was removed. Add it once more in that browser."}
	}
	if e, ok := errors.AsType[*notify.RefusedError](err); ok {
		return "", &problem{Status: http.StatusUnprocessableEntity, Title: "It did not work", Detail: ch.Name + ": " + e.Reason}
	}
	return sentTo(ch.Kind), err
}

// sentTo says where to look for a message that was sent.
func sentTo(kind string) string {
	k, _ := channels.KindOf(kind)
	return k.Sent
}

func (s *Server) testChannelAPI(c echo.Context) error {
	said, err := s.testChannel(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"message": said})
}
