// Package activity answers for the log of what people and the server did.
package activity

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Store reads the activity log.
type Store interface {
	Activity(ctx context.Context, f activity.Filter, before string,
		limit int) (page []activity.Entry, next string, err error)
}

// Handler answers for the log of what people and the server did.
type Handler struct {
	core    *core.Core
	store   Store
	setting func(ctx context.Context, path string) string
}

// New returns a Handler. setting returns what people call a setting, by its path.
func New(k *core.Core, store Store, setting func(ctx context.Context, path string) string) *Handler {
	return &Handler{core: k, store: store, setting: setting}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.GET("/activity", h.page) }

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/activity", h.list, core.Call{
		ID:      "listActivity",
		Summary: "What people and the server did, newest first",
		Description: "Entries about the signed-in user, and for administrators also about the whole server. Kept " +
			"for 90 days.",
		Answer: "A page of the log.",
	})
}

// Latest returns the newest entries about a connection.
func (h *Handler) Latest(c echo.Context, id library.ConnectionID) ([]Activity, error) {
	all, _, err := h.entries(c, activity.Filter{Connection: id}, "", latest)
	return all, err
}

// latest is how many entries the page of a connection shows.
const latest = 10

// Activity is an entry of the log.
type Activity struct {
	ID         string    `json:"id"`
	At         core.Time `json:"at"`
	Actor      *string   `json:"actor" doc:"Who did it; null for the server itself."`
	Action     string    `json:"action" doc:"Such as paused, stopped or key_reset."`
	Provider   *string   `json:"provider"`
	Connection *string   `json:"connection" doc:"Its id; the provider if it is about all of them."`
	Subject    string    `json:"subject,omitempty" doc:"What else it is about, such as an endpoint or a name."`
	Times      int       `json:"times,omitempty" doc:"How often it happened in an hour or a day; absent for once."`
	Message    string    `json:"message" doc:"The same in words."`
	Request    string    `json:"-"` // what failed, for those who look into it
	Trouble    bool      `json:"-"` // a problem began
	End        bool      `json:"-"` // a problem ended
}

var (
	troubles = []activity.Action{activity.Stopped, activity.Held, activity.StillFailing, activity.BreakerOpened,
		activity.UplinkLost, activity.KeyRefused, activity.SignInFailed, activity.ConfirmFailed}
	ends = []activity.Action{activity.Recovered, activity.BreakerClosed, activity.UplinkBack}
)

func (h *Handler) viewOf(ctx context.Context, e activity.Entry, label func(library.ConnectionID) string) Activity {
	said := e
	if e.Action == activity.SettingChanged || e.Action == activity.SettingReset {
		said.Subject = h.setting(ctx, e.Subject)
	}
	v := Activity{ID: strconv.FormatInt(e.ID, 10), At: core.Stamp(e.At), Actor: core.Text(e.Actor),
		Action: string(e.Action), Provider: core.Text(e.Connection.Provider()),
		Connection: core.Text(string(e.Connection)),
		Subject:    e.Subject, Request: e.Request(), Message: said.Sentence(words.Plain(label(e.Connection))).T(ctx),
		Trouble: slices.Contains(troubles, e.Action), End: slices.Contains(ends, e.Action)}
	if e.Times > 1 {
		v.Times = e.Times
	}
	return v
}

// entries returns a page of the entries about the user of a request, and for administrators also about the
// installation.
func (h *Handler) entries(c echo.Context, f activity.Filter, before string, limit int) ([]Activity, string, error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	f.User, f.Installation = u.ID, u.Role == accounts.Admin
	label, err := h.core.Labels(ctx, u.ID)
	if err != nil {
		return nil, "", err
	}
	page, next, err := h.store.Activity(ctx, f, before, limit)
	return core.ViewAll(page, func(e activity.Entry) Activity { return h.viewOf(ctx, e, label) }), next, err
}

// asked returns the page of entries that the query of a request selects.
func (h *Handler) asked(c echo.Context) (page []Activity, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	provider := c.QueryParam("provider")
	var names []string
	for _, p := range h.core.Services() {
		names = append(names, p.Name)
	}
	if provider != "" && !slices.Contains(names, provider) {
		return nil, "", core.NotAChoice("provider", provider, names...)
	}
	about := activity.Filter{Provider: provider, Connection: library.ConnectionID(c.QueryParam("connection"))}
	return h.entries(c, about, c.QueryParam("before"), n)
}

type listActivityRequest struct {
	core.Paged
	Provider   string `query:"provider" doc:"One service only."`
	Connection string `query:"connection" doc:"One connection only, by its id."`
}

type listActivityAnswer struct {
	Activity []Activity `json:"activity"`
	Next     *string    `json:"next"`
}

func (h *Handler) list(c echo.Context, _ *listActivityRequest) (out listActivityAnswer, _ error) {
	page, next, err := h.asked(c)
	if err != nil {
		return out, err
	}
	return listActivityAnswer{Activity: page, Next: core.Text(next)}, nil
}

// pageView is the page of the log.
type pageView struct {
	Head     ui.Heading
	Entries  []Activity
	Services []ui.Option
	Provider string // empty for all
	None     string // why there are no entries
	Next     []ui.Action
	Pages    ui.Pages
}

func (h *Handler) page(c echo.Context) error {
	ctx := c.Request().Context()
	page, next, err := h.asked(c)
	if err != nil {
		return err
	}
	v := pageView{Entries: page, Provider: c.QueryParam("provider"), None: words.T(ctx, "activity.none"),
		Head: ui.Heading{Title: words.T(ctx, "activity.title"), Lead: words.T(ctx, "activity.lead"), Back: "/",
			BackTo: words.T(ctx, "status.title")},
		Services: []ui.Option{{Label: words.T(ctx, "activity.all")}}}
	for _, p := range h.core.Services() {
		v.Services = append(v.Services, ui.Option{Value: p.Name, Label: p.Called().T(ctx)})
	}
	with := url.Values{}
	if id := c.QueryParam("connection"); id != "" {
		label, err := h.core.Labels(ctx, core.UserOf(c).ID)
		if err != nil {
			return err
		}
		v.Head.Back, v.Head.BackTo = "/connections/"+url.PathEscape(id), label(library.ConnectionID(id))
		with.Set("connection", id)
	}
	if v.Provider != "" {
		with.Set("provider", v.Provider)
	}
	if len(with) > 0 {
		v.None = words.T(ctx, "activity.none_about")
		v.Next = []ui.Action{{Label: words.T(ctx, "activity.all_entries"), URL: "/activity"}}
	}
	if c.QueryParam("before") != "" {
		v.Pages.Newest = "/activity?" + with.Encode()
	}
	if next != "" {
		with.Set("before", next)
		v.Pages.Earlier = "/activity?" + with.Encode()
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, logPage(v))
}
