package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// ActivityStore keeps the log of what people and the server did.
type ActivityStore interface {
	Note(context.Context, activity.Entry) error
	Activity(ctx context.Context, user int64, installation bool, provider, before string, limit int) (page []activity.Entry, next string, err error)
}

// note writes an entry of the log. That it cannot be written stops nothing.
func (s *Server) note(ctx context.Context, e activity.Entry) {
	if err := s.Store.Note(ctx, e); err != nil {
		s.Log.Error("activity cannot be noted", "err", err)
	}
}

// activityView is an entry of the log.
type activityView struct {
	ID       string  `json:"id"`
	At       string  `json:"at"`
	Actor    *string `json:"actor"` // null: the server itself
	Action   string  `json:"action"`
	Provider *string `json:"provider"`
	Subject  string  `json:"subject,omitempty"`
	Message  string  `json:"message"`
	Trouble  bool    `json:"-"` // something began that a person would ask about
	End      bool    `json:"-"` // it has ended
}

var (
	troubles = []activity.Action{activity.Stopped, activity.Held, activity.StillFailing, activity.BreakerOpened, activity.UplinkLost, activity.KeyRefused}
	ends     = []activity.Action{activity.Recovered, activity.BreakerClosed, activity.UplinkBack}
)

func (s *Server) viewActivity(e activity.Entry) activityView {
	return activityView{ID: strconv.FormatInt(e.ID, 10), At: library.Stamp(e.At), Actor: knownText(e.Actor), Action: string(e.Action), Provider: knownText(e.Provider),
		Subject: e.Subject, Message: e.Sentence(s.nameOf(e.Provider)), Trouble: slices.Contains(troubles, e.Action), End: slices.Contains(ends, e.Action)}
}

// services are all that something here is about: those that people connect, and those that only the installation calls.
func (s *Server) services() []*providers.Provider {
	return slices.Concat(s.Registry.All(), s.Unconnected())
}

// nameOf is the name of a provider, or of a kind of channel, as people write it.
func (s *Server) nameOf(provider string) string {
	for _, p := range s.services() {
		if p.Name == provider {
			return p.DisplayName
		}
	}
	if kind, ok := channels.KindOf(provider); ok { // channels are asked like services
		return kind.Label
	}
	return provider
}

// activity returns a page of what is about the user, and for administrators about the installation.
func (s *Server) activity(c echo.Context, provider, before string, limit int) ([]activityView, string, error) {
	u := userOf(c)
	page, next, err := s.Store.Activity(c.Request().Context(), u.ID, u.Role == accounts.Admin, provider, before, limit)
	return viewAll(page, s.viewActivity), next, err
}

// askedActivity returns what a request's address asks for.
func (s *Server) askedActivity(c echo.Context) (page []activityView, next string, err error) {
	n, err := limit(c)
	if err != nil {
		return nil, "", err
	}
	provider := c.QueryParam("provider")
	var names []string
	for _, p := range s.services() {
		names = append(names, p.Name)
	}
	if provider != "" && !slices.Contains(names, provider) {
		return nil, "", &problem{Status: http.StatusBadRequest, Title: "Not a provider",
			Detail: fmt.Sprintf("There is no provider %q here. What there is: %s.", provider, strings.Join(names, ", "))}
	}
	return s.activity(c, provider, c.QueryParam("before"), n)
}

func (s *Server) activityAPI(c echo.Context) error {
	page, next, err := s.askedActivity(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"activity": page, "next": knownText(next)})
}

type activityPageView struct {
	Entries  []activityView
	Services []optionView
	Provider string // the one that is asked for; empty for all
	First    bool
	Newest   string // addresses
	Earlier  string
}

func (s *Server) activityPage(c echo.Context) error {
	page, next, err := s.askedActivity(c)
	if err != nil {
		return err
	}
	v := activityPageView{Entries: page, Provider: c.QueryParam("provider"), First: c.QueryParam("before") == ""}
	for _, p := range s.services() {
		v.Services = append(v.Services, optionView{p.Name, p.DisplayName})
	}
	with := url.Values{}
	if v.Provider != "" {
		with.Set("provider", v.Provider)
	}
	v.Newest = "/activity?" + with.Encode()
	if next != "" {
		with.Set("before", next)
		v.Earlier = "/activity?" + with.Encode()
	}
	return s.render(c, http.StatusOK, "activity", "What happened", v)
}

// latestActivity is how many entries a connection's page shows.
const latestActivity = 10
