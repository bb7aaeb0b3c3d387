package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// DigestStore is what pages and API read of digests.
type DigestStore interface {
	Digests(ctx context.Context, user int64) ([]digest.Digest, error)
	Digest(ctx context.Context, user, id int64) (digest.Digest, error)
	DigestsWanted(ctx context.Context, user int64) (bool, error)
	DigestsSpent(ctx context.Context, user int64, since time.Time) ([]digest.Spent, error)
}

// digestView is what was written about a week.
type digestView struct {
	ID               string      `json:"id"`
	Week             string      `json:"week"`
	State            string      `json:"state"`
	Text             string      `json:"text"`
	Cut              bool        `json:"cut"`
	Model            string      `json:"model"`
	Prompt           *promptView `json:"prompt"`
	PromptTokens     int         `json:"prompt_tokens"`
	CompletionTokens int         `json:"completion_tokens"`
	Cost             *costView   `json:"cost"`
	Reason           string      `json:"reason,omitempty"`
	CreatedAt        string      `json:"created_at"`
	WrittenAt        *string     `json:"written_at"`

	Detail     string   `json:"-"`
	Name       string   `json:"-"` // of the week, for people
	Paragraphs []string `json:"-"`
}

// promptView is what was sent to a model, to the letter.
type promptView struct {
	Instructions string `json:"instructions"`
	Text         string `json:"text"`
}

type costView struct {
	Amount   string `json:"amount"` // a decimal number
	Currency string `json:"currency"`
}

func viewPrompt(p providers.Prompt) *promptView {
	if p.User == "" {
		return nil
	}
	return &promptView{p.System, p.User}
}

func viewCost(c digest.Cost) *costView {
	if c.Currency == "" {
		return nil
	}
	return &costView{amount(c.Micros), c.Currency}
}

// amount writes millionths as a decimal number with two places, or as many as it takes.
func amount(micros int64) string {
	places := fmt.Sprintf("%06d", micros%1e6)
	return fmt.Sprintf("%d.%s%s", micros/1e6, places[:2], strings.TrimRight(places[2:], "0"))
}

// weekName is a week as people call it, by the date of its Monday.
func weekName(monday string) string {
	from, err := time.Parse(time.DateOnly, monday)
	if err != nil {
		return monday
	}
	to := from.AddDate(0, 0, 6)
	switch {
	case from.Month() == to.Month():
		return fmt.Sprintf("%d–%s", from.Day(), to.Format("2 January 2006"))
	case from.Year() == to.Year():
		return from.Format("2 January") + " – " + to.Format("2 January 2006")
	}
	return from.Format("2 January 2006") + " – " + to.Format("2 January 2006")
}

func viewDigest(d digest.Digest) digestView {
	v := digestView{ID: strconv.FormatInt(d.ID, 10), Week: d.Week, State: string(d.State), Text: d.Text, Cut: d.Cut, Model: d.Model, Prompt: viewPrompt(d.Prompt),
		PromptTokens: d.PromptTokens, CompletionTokens: d.CompletionTokens, Reason: d.Reason, CreatedAt: library.Stamp(d.CreatedAt), WrittenAt: moment(d.WrittenAt),
		Detail: d.Detail, Name: weekName(d.Week)}
	if d.PromptTokens+d.CompletionTokens > 0 {
		v.Cost = viewCost(d.Cost)
	}
	for line := range strings.SplitSeq(d.Text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			v.Paragraphs = append(v.Paragraphs, line)
		}
	}
	return v
}

// spendingView is what a month's digests have cost.
type spendingView struct {
	Month            string
	Digests          int
	PromptTokens     int
	CompletionTokens int
	Cost             *costView // nil when it is not known
}

// byMonth sums up what was spent, the newest month first, each currency by itself.
func byMonth(all []digest.Spent, zone *time.Location) (months []spendingView) {
	var sum int64
	currency := ""
	for _, s := range all {
		month := s.At.In(zone).Format("January 2006")
		if n := len(months); n == 0 || months[n-1].Month != month || currency != s.Cost.Currency {
			months, sum, currency = append(months, spendingView{Month: month}), 0, s.Cost.Currency
		}
		m := &months[len(months)-1]
		sum += s.Cost.Micros
		m.Digests++
		m.PromptTokens += s.PromptTokens
		m.CompletionTokens += s.CompletionTokens
		m.Cost = viewCost(digest.Cost{Micros: sum, Currency: s.Cost.Currency})
	}
	return months
}

// spendingMonths is how far back spending is summed up.
const spendingMonths = 12

// obstacleView is what stands against calls of the model now.
type obstacleView struct {
	State         string  `json:"state"` // ready, waiting, held or needs_admin
	Message       string  `json:"message,omitempty"`
	NextAttemptAt *string `json:"next_attempt_at"`
}

// digestObstacle says what stands in the way in words for this person.
func (s *Server) digestObstacle(admin bool) obstacleView {
	p := s.Digests.Provider()
	if p == nil {
		return obstacleView{State: "ready"}
	}
	state, words := s.Guard.StateForAll(p)
	v := obstacleView{State: "waiting", Message: words.Message, NextAttemptAt: moment(state.Until)}
	switch state.Kind {
	case resilience.Ready:
		return obstacleView{State: "ready"}
	case resilience.Held:
		v.State = "held"
	case resilience.Stopped:
		v.State = "needs_admin"
	}
	switch {
	case admin:
	case state.Kind == resilience.Stopped:
		v.Message = "The language model cannot be used at present, and the administrator has been told. Nothing is lost: digests are written when it works again."
	case state.Category == resilience.Quota:
		v.Message = "What this installation may spend on the language model is used up for now. Digests are written by themselves when there is something left again."
	}
	return v
}

// digestPage is the page of digests.
type digestPage struct {
	Configured bool
	Host       string // where prompts are sent
	Enabled    bool
	Digests    []digestView
	Obstacle   obstacleView
	Busy       bool // one is due or was asked for
	Week       string
	Monday     string // the same, as a form sends it
	Plays      int
	Preview    *promptView // of the last week; nil when there is a digest of it, or nothing was heard
	Mine       []spendingView
	Everybody  []spendingView // for administrators
}

func (s *Server) digestPage(c echo.Context) error {
	ctx, user := c.Request().Context(), userOf(c)
	all, err := s.Store.Digests(ctx, user.ID)
	if err != nil {
		return err
	}
	week, admin := s.Digests.Week().Name(), user.Role == accounts.Admin
	v := digestPage{Configured: s.Digests.Provider() != nil, Host: s.Digests.Options().Host, Digests: viewAll(all, viewDigest), Obstacle: s.digestObstacle(admin),
		Week: weekName(week), Monday: week}
	if v.Enabled, err = s.Store.DigestsWanted(ctx, user.ID); err != nil {
		return err
	}
	there := false
	for _, d := range all {
		v.Busy = v.Busy || d.State == digest.Waiting
		there = there || d.Week == week && d.State != digest.Failed
	}
	if v.Configured && !there {
		prompt, plays, err := s.Digests.Preview(ctx, user.ID)
		if err != nil {
			return err
		}
		if v.Plays = plays; plays > 0 {
			v.Preview = viewPrompt(prompt)
		}
	}
	if v.Mine, v.Everybody, err = s.digestMonths(ctx, user.ID, admin); err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "digest", "Digest", v)
}

func (s *Server) digestMonths(ctx context.Context, user int64, admin bool) (mine, everybody []spendingView, err error) {
	zone := s.Digests.Options().Zone
	since := time.Now().In(zone).AddDate(0, -spendingMonths, 0)
	spent, err := s.Store.DigestsSpent(ctx, user, since)
	if err != nil {
		return nil, nil, err
	}
	mine = byMonth(spent, zone)
	if !admin {
		return mine, nil, nil
	}
	total, err := s.Store.DigestsSpent(ctx, 0, since)
	if len(total) > len(spent) { // else they are the same
		everybody = byMonth(total, zone)
	}
	return mine, everybody, err
}

func (s *Server) digestsAPI(c echo.Context) error {
	ctx, user := c.Request().Context(), userOf(c)
	all, err := s.Store.Digests(ctx, user.ID)
	if err != nil {
		return err
	}
	wanted, err := s.Store.DigestsWanted(ctx, user.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"configured": s.Digests.Provider() != nil, "enabled": wanted,
		"model": s.digestObstacle(user.Role == accounts.Admin), "digests": viewAll(all, viewDigest)})
}

// switchDigests switches the weekly digest on or off. It cannot be switched on where there is nobody to write it.
func (s *Server) switchDigests(c echo.Context, on bool) error {
	if on && s.Digests.Provider() == nil {
		return digest.ErrOff
	}
	return s.Digests.Switch(c.Request().Context(), userOf(c).ID, on)
}

func (s *Server) switchDigestsAPI(c echo.Context) error {
	var v struct {
		Enabled *bool `json:"enabled"`
	}
	if err := c.Bind(&v); err != nil {
		return err
	}
	if v.Enabled == nil {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you sent", Detail: "Send enabled, as true or false."}
	}
	if err := s.switchDigests(c, *v.Enabled); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"enabled": *v.Enabled})
}

func (s *Server) switchDigestsForm(c echo.Context) error {
	if err := s.switchDigests(c, c.FormValue("enabled") == "yes"); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

func (s *Server) askDigestAPI(c echo.Context) error {
	if err := s.Digests.Ask(c.Request().Context(), userOf(c).ID); err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, map[string]any{"week": s.Digests.Week().Name(), "state": digest.Waiting})
}

func (s *Server) askDigestForm(c echo.Context) error {
	if week := c.FormValue("week"); week != "" && week != s.Digests.Week().Name() { // what it shows is what is sent
		return digest.ErrAnother
	}
	err := s.Digests.Ask(c.Request().Context(), userOf(c).ID)
	if err != nil && !errors.Is(err, digest.ErrThere) { // the button was pressed in another tab
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

// retryDigestForm is an administrator's "Try again".
func (s *Server) retryDigestForm(c echo.Context) error {
	if p := s.Digests.Provider(); p != nil {
		if state, held := s.Guard.RetryForAll(c.Request().Context(), p); held {
			return notBefore(p.DisplayName, state)
		}
		s.Digests.Look()
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}

func (s *Server) deleteDigest(c echo.Context) error {
	id, err := number(c.Param("id"))
	if err != nil {
		return err
	}
	return s.Digests.Delete(c.Request().Context(), userOf(c).ID, id)
}

func (s *Server) deleteDigestAPI(c echo.Context) error {
	if err := s.deleteDigest(c); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) deleteDigestPage(c echo.Context) error {
	id, err := number(c.Param("id"))
	if err != nil {
		return err
	}
	d, err := s.Store.Digest(c.Request().Context(), userOf(c).ID, id)
	if err != nil {
		return err
	}
	v := confirmView{Title: "Delete this digest?", Facts: []string{weekName(d.Week)}, Action: "/digest/" + c.Param("id") + "/delete", Button: "Delete", Warn: true, Back: "/digest",
		Lead: "Its text and its prompt are deleted; what it cost stays in the sums. The week is not written about again unless you ask for it."}
	if d.State == digest.Waiting {
		v.Title, v.Button = "Do without this digest?", "Do without it"
		v.Lead = "It is not written then. You can ask for it again while it is about the last week."
	}
	return s.confirm(c, v)
}

func (s *Server) deleteDigestForm(c echo.Context) error {
	if err := s.deleteDigest(c); err != nil && !errors.Is(err, library.ErrNotFound) { // it may have been deleted in another tab
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/digest")
}
