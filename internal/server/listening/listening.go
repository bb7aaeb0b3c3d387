// Package listening shows what a person has heard: how much, of whom, when, and what was new. Everything on the page is
// a filter, and the address holds all of them.
package listening

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/comparing"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Columns(ctx context.Context, user int64) ([]*listening.Columns, error)
	// SentColumns leaves out what rules keep from being sent anywhere.
	SentColumns(ctx context.Context, user int64, from, to time.Time) ([]*listening.Columns, error)
	Meanings(context.Context) (*listening.Music, error)
	Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error)
	TagsOf(ctx context.Context, ids []uint32) (map[uint32][]string, error)
	Digests(ctx context.Context, user int64) ([]digest.Digest, error)
	Tagged(ctx context.Context, tag string) (map[uint32]bool, error)
	Joined(ctx context.Context, id uint32) (uint32, error)
	HasHeard(ctx context.Context, user int64, id uint32) (bool, error)
	Sharers(context.Context) ([]accounts.User, error)
	Sharer(ctx context.Context, name string) (accounts.User, error)
	UsersPart(context.Context, accounts.Part) (part []accounts.User, total int, err error)
	UserByID(ctx context.Context, id int64) (accounts.User, error)
	core.ShareStore
	Shares(ctx context.Context, user int64, kind string) ([]library.Share, error)
	UsedShare(ctx context.Context, hash string, at time.Time) error
	Comparisons(ctx context.Context, user int64) ([]library.Comparison, error)
	Comparison(ctx context.Context, user, id int64) (library.Comparison, error)
	AddComparison(context.Context, library.Comparison) (library.Comparison, error)
	ChangeComparison(context.Context, library.Comparison) error
	DeleteComparison(ctx context.Context, user, id int64) error
}

// Handler answers for statistics.
type Handler struct {
	core      *core.Core
	store     Store
	rows      *music.Rows
	comparing *comparing.Client // of the links that people paste
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows, client *comparing.Client) *Handler {
	return &Handler{k, store, rows, client}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listening", h.page)
	g.GET(commonPath, h.commonPage)
	g.POST(commonPath+"/links", h.linkForm)
	g.GET(commonPath+"/links/:id", h.linkPage)
	g.POST(commonPath+"/links/:id/delete", h.linkDeleteForm)
	g.POST(commonPath+"/apart", h.apartForm)
	g.GET(commonPath+"/apart/:id", h.apartPage)
	g.POST(commonPath+"/apart/:id/again", h.apartAgainForm)
	g.POST(commonPath+"/apart/:id/delete", h.apartDeleteForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/stats/summary", h.summaryAPI, core.Call{
		ID:       "statsSummary",
		Summary:  "How much the signed-in user heard in a span, compared with the span before",
		Answer:   "The numbers.",
		Refusals: map[int]string{http.StatusNotFound: ""},
	})
	core.Get(a, "/stats/top/{kind}", h.topAPI, core.Call{
		ID:      "statsTop",
		Summary: "What the signed-in user heard most in a span",
		Answer:  "The list.",
	})
	core.Get(a, "/stats/days", h.daysAPI, core.Call{
		ID:       "statsDays",
		Summary:  "Listens of each day in a span",
		Answer:   "The days with listens, earliest first.",
		Refusals: map[int]string{http.StatusNotFound: ""},
	})
	core.Get(a, "/stats/hours", h.hoursAPI, core.Call{
		ID:       "statsHours",
		Summary:  "Listens of each hour of the week in a span",
		Answer:   "The hours with listens.",
		Refusals: map[int]string{http.StatusNotFound: ""},
	})
	core.Get(a, "/stats/people", h.peopleAPI, core.Call{
		ID:      "statsPeople",
		Summary: "The people who let everybody with an account see their numbers, without yourself",
		Answer:  "The people, by name; `person` takes the name in the calls for statistics.",
	})
	core.Get(a, "/stats/common", h.commonAPI, core.Call{
		ID:      "statsCommon",
		Summary: "What you and somebody else who shares their listening have in common in a span",
		Description: "Days and months are those in your time zone. Listens of the other person that their rules keep " +
			"from being sent anywhere are left out.",
		Answer: "What both heard.",
	})
	h.comparisonAPIs(a)
	core.Get(a, "/export/stats/{file}", h.tableAPI, core.Call{
		ID:          "exportStats",
		Summary:     "A list or a chart of statistics as a table for spreadsheets, whole",
		Description: "The columns are named in the first line. Cells are escaped as in `/export/listens.csv`.",
		Answer:      "The table.",
		Types:       []string{"text/csv"},
	})
}

// comparisonAPIs adds the calls about comparisons between two servers.
func (h *Handler) comparisonAPIs(a *core.API) {
	core.Get(a, "/comparison-links", h.linksAPI, core.Call{
		ID:      "listComparisonLinks",
		Summary: "Your links for people with a Reprise of their own, in the order in which you made them",
		Answer:  "The links.",
	})
	core.Post(a, "/comparison-links", h.makeLinkAPI, core.Call{
		ID:      "makeComparisonLink",
		Summary: "Make a link with which somebody with a Reprise of their own can compare",
		Description: "It shows their server your name, how often you heard each artist, and the month of the first " +
			"time. Listens that your rules keep from being sent anywhere are left out.",
		Answer:   "The link.",
		Status:   http.StatusCreated,
		Refusals: map[int]string{http.StatusConflict: "There is one for somebody of that name, or too many."},
	})
	core.Delete(a, "/comparison-links/{id}", h.deleteLinkAPI, core.Call{
		ID:      "deleteComparisonLink",
		Summary: "Take a link back",
		Answer:  "It no longer works.",
	})
	core.Get(a, "/comparisons", h.comparisonsAPI, core.Call{
		ID:      "listComparisons",
		Summary: "The people with a Reprise of their own that you compare with",
		Answer:  "The comparisons.",
	})
	core.Post(a, "/comparisons", h.addComparisonAPI, core.Call{
		ID:          "addComparison",
		Summary:     "Compare with the one who made a link",
		Description: "Their server is asked at once. The same link again leads to the same comparison.",
		Answer:      "The comparison.",
		Status:      http.StatusCreated,
		Refusals: map[int]string{http.StatusConflict: "There are too many.",
			http.StatusUnprocessableEntity: "The link can't be used; `detail` says why."},
	})
	core.Get(a, "/comparisons/{id}", h.comparisonAPI, core.Call{
		ID:      "getComparison",
		Summary: "What you and somebody with a Reprise of their own have in common, in all time",
		Answer:  "What both heard; nothing, if their server never answered or they took the link back.",
	})
	core.Delete(a, "/comparisons/{id}", h.deleteComparisonAPI, core.Call{
		ID:      "deleteComparison",
		Summary: "Stop comparing, and delete what was read",
		Answer:  "It is deleted.",
	})
}

// asked is what a request asks for.
type asked struct {
	listening.Question
	owner accounts.User // whose listening it is
	other bool          // that is somebody else than who asks
	at    time.Time     // the day that the address names, at its beginning
	tag   string
	hour  int // -1 for all
	day   int // of the week, from Monday; -1 for all
}

// ask reads a request.
func (h *Handler) ask(c echo.Context) (a asked, err error) {
	a = asked{hour: -1, day: -1, tag: c.QueryParam("tag")}
	if a.owner, a.other, err = h.owner(c); err != nil {
		return a, err
	}
	if err := a.span(c, zone(c, a.owner), listening.Month); err != nil {
		return a, err
	}
	for name, id := range map[string]*uint32{"artist": &a.Filter.Artist, "album": &a.Filter.Album,
		"track": &a.Filter.Track, "highlight": &a.Highlight} {
		if text := c.QueryParam(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return a, music.Refuse(words.New("problem.stats.number"))
			}
			if *id, err = h.store.Joined(c.Request().Context(), uint32(n)); err != nil {
				return a, err
			}
		}
	}
	if text := c.QueryParam("hour"); text != "" {
		if a.hour, err = strconv.Atoi(text); err != nil || a.hour < 0 || a.hour > 23 {
			return a, music.Refuse(words.New("problem.stats.hour"))
		}
		a.Filter.Hours = 1 << a.hour
	}
	if text := c.QueryParam("weekday"); text != "" {
		if a.day, err = strconv.Atoi(text); err != nil || a.day < 1 || a.day > 7 {
			return a, music.Refuse(words.New("problem.stats.weekday"))
		}
		a.day--
		a.Filter.Weekdays = 1 << a.day
	}
	a.Filter.Source = library.ConnectionID(c.QueryParam("source"))
	a.Filter.Player = library.Player(c.QueryParam("player"))
	if a.other && a.Filter.Player != "" { // what somebody calls their devices is theirs
		return a, core.HTTPProblem(http.StatusNotFound)
	}
	if a.tag != "" {
		a.Filter.Tagged, err = h.store.Tagged(c.Request().Context(), a.tag)
	}
	return a, err
}

// outside reports whether a date is none that anybody can have heard something on; others only cost time.
func outside(at time.Time) bool { return at.Year() < 1900 || at.Year() > 2200 }

// span reads the span that a request asks for, whose days are those of a zone. It is the usual one unless the request
// names another.
func (a *asked) span(c echo.Context, zone *time.Location, usual string) (err error) {
	a.Now = time.Now().In(zone)
	a.at = a.Now
	if text := c.QueryParam("at"); text != "" {
		if a.at, err = time.ParseInLocation(time.DateOnly, text, zone); err != nil || outside(a.at) {
			return music.Refuse(words.New("problem.stats.at"))
		}
	}
	from, to := c.QueryParam("from"), c.QueryParam("to")
	if from == "" && to == "" {
		if a.Span, err = listening.NewSpan(cmp.Or(c.QueryParam("span"), usual), a.at); err != nil {
			return music.Refuse(words.New("problem.stats.span"))
		}
		return nil
	}
	first, err := time.ParseInLocation(time.DateOnly, from, zone)
	if err != nil {
		return music.Refuse(words.New("problem.stats.from"))
	}
	last, err := time.ParseInLocation(time.DateOnly, to, zone)
	if err != nil || last.Before(first) || outside(first) || outside(last) {
		return music.Refuse(words.New("problem.stats.to"))
	}
	a.Span = listening.Span{From: first, To: last.AddDate(0, 0, 1)}
	return nil
}

// columns returns everything that a user heard; to others, without what rules keep from being sent anywhere.
func (h *Handler) columns(ctx context.Context, user int64, other bool) ([]*listening.Columns, error) {
	if !other {
		return h.store.Columns(ctx, user)
	}
	return h.store.SentColumns(ctx, user, time.Time{}, time.Now().AddDate(1, 0, 0))
}

// count answers a question about the listens of a user that others ask or not.
func (h *Handler) count(ctx context.Context, user int64, other bool, q listening.Question) (listening.Answer, error) {
	columns, err := h.columns(ctx, user, other)
	if err != nil {
		return listening.Answer{}, err
	}
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return listening.Answer{}, err
	}
	return listening.Count(columns, meanings, q), nil
}

// query returns the address of the page with one parameter changed; empty removes it. What is about the span goes with
// it.
func (a *asked) query(name, value string) string { return "/listening?" + a.parameters(name, value) }

// parameters returns the query of an address with one parameter changed.
func (a *asked) parameters(name, value string) string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	if a.other {
		set("person", a.owner.Name)
	}
	if a.Span.Name == listening.Any {
		set("from", a.Span.From.Format(time.DateOnly))
		set("to", a.Span.To.AddDate(0, 0, -1).Format(time.DateOnly))
	} else {
		set("span", a.Span.Name)
		set("at", a.at.Format(time.DateOnly))
	}
	for name, id := range map[string]uint32{"artist": a.Filter.Artist, "album": a.Filter.Album,
		"track": a.Filter.Track, "highlight": a.Highlight} {
		if id != 0 {
			set(name, strconv.FormatUint(uint64(id), 10))
		}
	}
	set("tag", a.tag)
	set("source", string(a.Filter.Source))
	set("player", a.Filter.Player)
	if a.hour >= 0 {
		set("hour", strconv.Itoa(a.hour))
	}
	if a.day >= 0 {
		set("weekday", strconv.Itoa(a.day+1))
	}
	q.Del(name)
	set(name, value)
	return q.Encode()
}

// spanned returns the address of the page for another span.
func (a *asked) spanned(s listening.Span, at time.Time) string {
	other := *a
	other.Span, other.at = s, at
	return other.query("", "")
}

// day returns the address of the page for one day.
func (a *asked) onDay(day int64) string {
	at := listening.Date(day)
	return a.spanned(listening.Span{Name: listening.Day}, at)
}

// namesOf returns the artists, albums and tracks of rows.
func (h *Handler) namesOf(ctx context.Context, more []uint32, lists ...[]listening.Row) (
	map[uint32]library.Entity, error) {
	ids := slices.DeleteFunc(slices.Clone(more), func(id uint32) bool { return id == 0 })
	for _, rows := range lists {
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
	}
	slices.Sort(ids)
	return h.store.Entities(ctx, slices.Compact(ids))
}

// title returns the name of an artist, an album or a track.
func title(e library.Entity) string {
	if e.Kind == library.KindArtist {
		return e.Artist
	}
	return e.Title
}

// page returns the address of the page of an artist, an album or a track; others have none for it.
func (a *asked) page(kind string, id uint32) string {
	if a.other {
		return ""
	}
	return pageOf(kind, id)
}

// pageOf returns the address of the page of an artist, an album or a track.
func pageOf(kind string, id uint32) string {
	return "/music/" + kind + "/" + strings.TrimSpace(strconv.FormatUint(uint64(id), 10))
}
