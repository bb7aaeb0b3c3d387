package listening

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/comparing"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// A person makes a link for each person with a Reprise of their own who may compare. What is at its address is for that
// person's server, and says how often who made it heard each artist.

// longestName is the maximum length of the name of for whom a link is, in characters.
const longestName = 64

func linkPath(id int64) string { return commonPath + "/links/" + strconv.FormatInt(id, 10) }

// Open adds the route for the servers of those who have a link. It ignores sessions.
func (h *Handler) Open(e *echo.Echo) {
	e.GET(comparing.Path+":code", h.document, core.Visitors(), core.Unreferred)
}

// document answers what a link shows. To a browser it says what a link is good for.
func (h *Handler) document(c echo.Context) error {
	ctx := c.Request().Context()
	if strings.Contains(c.Request().Header.Get("Accept"), "text/html") {
		return h.core.ShowOpen(c, words.T(ctx, "common.heading"), nil, openLink())
	}
	nonce := c.QueryParam("nonce")
	if len(nonce) > comparing.LongestNonce {
		return core.HTTPProblem(http.StatusBadRequest)
	}
	hash := accounts.HashToken(c.Param("code"))
	s, err := h.store.ShareByHash(ctx, library.ShareCompare, hash)
	_, key, ok := strings.Cut(s.Code, "#")
	c.Response().Header().Set("Cache-Control", "no-store")
	switch {
	case errors.Is(err, library.ErrNotFound) || err == nil && !ok:
		return c.JSON(http.StatusGone, comparing.Refusal{Problem: comparing.Gone})
	case err != nil:
		return err
	case s.Expired(time.Now()):
		return c.JSON(http.StatusGone, comparing.Refusal{Problem: comparing.Expired})
	}
	owner, err := h.store.UserByID(ctx, s.User)
	if err != nil {
		return err
	}
	sum, names, err := h.summary(c, owner, true)
	if err != nil {
		return err
	}
	body, err := json.Marshal(comparing.New(owner.Name, s.ExpiresAt, sum, names))
	if err != nil {
		return err
	}
	if err := h.store.UsedShare(ctx, hash, time.Now()); err != nil {
		return err
	}
	c.Response().Header().Set(comparing.Signature, comparing.Sign(key, nonce, body))
	return c.JSONBlob(http.StatusOK, body)
}

// summary returns what a person heard of each artist, with the artists; to others without what rules keep from being
// sent anywhere.
func (h *Handler) summary(c echo.Context, u accounts.User, other bool) (s listening.Summary,
	names map[uint32]library.Entity, err error) {
	ctx := c.Request().Context()
	columns, err := h.columns(ctx, u.ID, other)
	if err != nil {
		return s, nil, err
	}
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return s, nil, err
	}
	s = listening.Summarize(columns, meanings, zone(c, u))
	names, err = h.store.Entities(ctx, core.ViewAll(s.Artists, func(a listening.Heard) uint32 { return a.ID }))
	return s, names, err
}

// linkAddress returns a link as it is given to somebody; empty if the key that it was sealed with is lost.
func (h *Handler) linkAddress(s library.Share) string {
	if s.Code == "" {
		return ""
	}
	return h.core.BaseURL() + comparing.Path + s.Code
}

// makeLink makes a link for somebody.
func (h *Handler) makeLink(c echo.Context, name string, expires time.Time) (s library.Share, err error) {
	ctx, now := c.Request().Context(), time.Now()
	s = library.Share{User: core.UserOf(c).ID, Kind: library.ShareCompare, MadeAt: now, ExpiresAt: expires,
		Name: strings.TrimSpace(library.Name(name))}
	switch {
	case s.Name == "":
		return s, refuse(words.New("problem.compare.name"))
	case len([]rune(s.Name)) > longestName:
		return s, refuse(words.New("problem.compare.long"))
	case !expires.After(now) || expires.After(now.AddDate(1, 0, 1)):
		return s, refuse(words.New("problem.compare.expires"))
	}
	all, err := h.store.Shares(ctx, s.User, library.ShareCompare)
	if err != nil {
		return s, err
	}
	if slices.ContainsFunc(all, func(o library.Share) bool {
		return strings.EqualFold(o.Name, s.Name) && !o.Expired(now)
	}) {
		return s, &core.Refusal{Status: http.StatusConflict, Title: words.New("problem.compare.title"),
			Detail: words.New("problem.compare.taken", "Person", s.Name)}
	}
	if len(all) >= library.MostComparisons {
		return s, tooMany()
	}
	code := rand.Text()
	s.Code, s.Hash = code+"#"+rand.Text(), accounts.HashToken(code)
	s.Subject = s.Hash
	if err := h.store.KeepShare(ctx, s); err != nil {
		return s, err
	}
	h.core.Note(ctx, activity.Entry{Action: activity.CompareShared, User: s.User, Subject: s.Name})
	return h.store.Share(ctx, s.User, s.Kind, s.Subject)
}

// refuse refuses a link.
func refuse(why words.Text) error {
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.compare.title"), Detail: why}
}

func tooMany() error {
	return &core.Refusal{Status: http.StatusConflict, Title: words.New("problem.compare.title"),
		Detail: words.New("problem.compare.too_many", "Most", library.MostComparisons)}
}

// link returns the link that a request's path names.
func (h *Handler) link(c echo.Context) (library.Share, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return library.Share{}, err
	}
	all, err := h.store.Shares(c.Request().Context(), core.UserOf(c).ID, library.ShareCompare)
	if i := slices.IndexFunc(all, func(s library.Share) bool { return s.ID == id }); i >= 0 {
		return all[i], nil
	}
	return library.Share{}, errors.Join(err, library.ErrNotFound)
}

// takeLinkBack deletes the link that a request's path names.
func (h *Handler) takeLinkBack(c echo.Context) error {
	s, err := h.link(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.store.DeleteShare(ctx, s.User, s.Kind, s.Subject); err != nil {
		return err
	}
	h.core.Note(ctx, activity.Entry{Action: activity.CompareUnshared, User: s.User, Subject: s.Name})
	return nil
}

// linkView is the page of a link.
type linkView struct {
	Title, Address string
	Facts          string
	Delete         string
}

func (h *Handler) linkPage(c echo.Context) error {
	s, err := h.link(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	used := words.New("common.link.unused")
	if !s.UsedAt.IsZero() {
		used = words.New("common.link.used", "At", s.UsedAt)
	}
	until := words.New("common.link.until", "Day", words.Day(s.ExpiresAt))
	if s.Expired(time.Now()) {
		until = words.New("common.problem.expired")
	}
	v := linkView{Title: words.T(ctx, "common.link.title", "Person", s.Name), Address: h.linkAddress(s),
		Facts: words.Join(until, used).T(ctx), Delete: linkPath(s.ID) + "/delete"}
	return h.core.Show(c, http.StatusOK, v.Title, linkMade(v))
}

func (h *Handler) linkForm(c echo.Context) error {
	v := sharersView{Name: c.FormValue("name"), Days: c.FormValue("days")}
	days, err := strconv.Atoi(v.Days)
	if err != nil || !slices.Contains(linkDays, days) {
		return core.NotAChoice("days", v.Days, "30", "90", "365")
	}
	s, err := h.makeLink(c, v.Name, time.Now().AddDate(0, 0, days))
	if r, ok := errors.AsType[*core.Refusal](err); ok {
		v.NameProblem = r.Detail.T(c.Request().Context())
		return h.showSharers(c, r.Status, v)
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, linkPath(s.ID), words.New("common.link.made"))
}

func (h *Handler) linkDeleteForm(c echo.Context) error {
	// It may have been deleted in another tab.
	if err := h.takeLinkBack(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return h.core.Done(c, commonPath, words.New("common.link.gone"))
}

// CompareLink is a link with which somebody with another server can compare.
type CompareLink struct {
	ID        string         `json:"id"`
	Name      string         `json:"name" doc:"Who it is for."`
	URL       *string        `json:"url" doc:"The link; null if the server's secret key was lost since it was made."`
	MadeAt    core.Time      `json:"made_at"`
	UsedAt    core.MaybeTime `json:"used_at" doc:"When it was last used, exact to a minute."`
	ExpiresAt core.Time      `json:"expires_at"`
}

func (h *Handler) viewLink(s library.Share) CompareLink {
	return CompareLink{strconv.FormatInt(s.ID, 10), s.Name, core.Text(h.linkAddress(s)), core.Stamp(s.MadeAt),
		core.Moment(s.UsedAt), core.Stamp(s.ExpiresAt)}
}

type listLinksAnswer struct {
	Links []CompareLink `json:"links"`
}

func (h *Handler) linksAPI(c echo.Context, _ *core.None) (out listLinksAnswer, _ error) {
	all, err := h.store.Shares(c.Request().Context(), core.UserOf(c).ID, library.ShareCompare)
	if err != nil {
		return out, err
	}
	return listLinksAnswer{core.ViewAll(all, h.viewLink)}, nil
}

type makeLinkRequest struct {
	core.IdempotencyKey
	Body struct {
		Name      string    `json:"name" minLength:"1" maxLength:"64" doc:"Who it is for; only you see that."`
		ExpiresAt time.Time `json:"expires_at" doc:"At most a year ahead."`
	}
}

func (h *Handler) makeLinkAPI(c echo.Context, in *makeLinkRequest) (out CompareLink, _ error) {
	s, err := h.makeLink(c, in.Body.Name, in.Body.ExpiresAt)
	if err != nil {
		return out, err
	}
	return h.viewLink(s), nil
}

func (h *Handler) deleteLinkAPI(c echo.Context, _ *core.ByID) (out core.None, _ error) {
	return out, h.takeLinkBack(c)
}
