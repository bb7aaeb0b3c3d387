package weeks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/digest"
	"reprise/internal/notify"
	"reprise/internal/review"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/weekly"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page of a week.
type pageView struct {
	weekly.Said
	Before, After string // addresses of the weeks before and after; empty for none
	Next          []ui.Action
	Digest        *digestView
	Write         bool // a language model can be asked to write about this week
	Bars          ui.Bars
	Lists         []reviews.List
	Card          reviews.CardView
	Mail          []mailView
}

// digestView is what a language model wrote about the week.
type digestView struct {
	Language, Model string
	Paragraphs      []string
}

// mailView is an e-mail channel, which can send the report.
type mailView struct {
	ID, Name string
	State    ui.Mark
	Trouble  string // says that nothing arrives; empty while the channel works
	Actions  []ui.Action
}

// latest redirects to the latest full week in which the user heard something, or else to this week.
func (h *Handler) latest(c echo.Context) error {
	ctx := c.Request().Context()
	monday, ok, err := weekly.Latest(ctx, h.Store, core.UserOf(c).ID, time.Now().In(core.Zone(c)))
	switch {
	case err != nil:
		return err
	case ok:
		return c.Redirect(http.StatusSeeOther, weekly.Path(monday.Format(time.DateOnly)))
	}
	return h.Core.Show(c, http.StatusOK, words.T(ctx, "week.review"), noWeek([]ui.Action{
		{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
		{Label: words.T(ctx, "listens.import"), URL: "/imports"}}))
}

// page answers with the page of a week.
func (h *Handler) page(c echo.Context) error {
	w, moved, err := h.requested(c)
	if err != nil {
		return err
	}
	if moved != "" {
		return c.Redirect(http.StatusSeeOther, moved)
	}
	ctx, user := c.Request().Context(), core.UserOf(c)
	v := pageView{Said: w.Say(ctx)}
	if before, _ := w.Span.Before(); w.Earlier {
		v.Before = weekly.Path(before.From.Format(time.DateOnly))
	}
	if !w.UnderWay() {
		v.After = weekly.Path(w.Span.To.Format(time.DateOnly))
	}
	if v.Empty != "" {
		v.Next = []ui.Action{{Label: words.T(ctx, "week.last"), URL: "/listening/weeks", Main: true}}
	} else if err := h.show(c, &w, &v); err != nil {
		return err
	}
	if v.Mail, err = h.mail(ctx, user.ID, v.Said); err != nil {
		return err
	}
	return h.Core.Show(c, http.StatusOK, words.T(ctx, "week.title", "Week", v.Week), weekPage(v))
}

// show fills in the parts that only a week with music has.
func (h *Handler) show(c echo.Context, w *weekly.Week, v *pageView) (err error) {
	ctx, user := c.Request().Context(), core.UserOf(c)
	for _, list := range v.Said.Lists {
		v.Lists = append(v.Lists, reviews.List{ID: list.ID, Title: list.Title, Lead: list.Lead,
			Rows: reviews.Rows(list.Rows, func(r review.Row) string { return filtered(r, v.Monday) })})
	}
	rows := core.ViewAll(v.Lists, func(l reviews.List) []reviews.Row { return l.Rows })
	if err := reviews.Picture(ctx, h.Rows, rows...); err != nil {
		return err
	}
	v.Bars = ui.Bars{ID: "days", Label: words.T(ctx, "week.days")}
	for _, d := range v.Days {
		v.Bars.Axis = append(v.Bars.Axis, d.Short)
		v.Bars.All = append(v.Bars.All, ui.Column{Title: ui.WithColon(ctx, d.Name) + d.Said, N: d.Listens,
			Height: d.Part, URL: "/listening?at=" + d.Date + "&span=day"})
	}
	card := "/api/v1/stats/weeks/" + v.Monday + "/card"
	v.Card = reviews.CardView{Title: words.T(ctx, "year.card.title"), Lead: words.T(ctx, "week.card"), Download: card,
		Light: card + ".svg?theme=light", Dark: card + ".svg?theme=dark", Theme: user.Theme,
		Alt: contentOf(ctx, w, v.Said, reviews.Rows(v.Top(), nil), reviews.Look{}).About}
	if v.Digest, err = h.digest(ctx, user.ID, v.Monday); err != nil {
		return err
	}
	v.Write = v.Digest == nil && !w.UnderWay() && h.Digests.Provider() != nil
	return nil
}

// filtered returns the address of Listening for a week, filtered by an artist, an album or a track.
func filtered(r review.Row, monday string) string {
	return fmt.Sprintf("/listening?%s=%d&at=%s&span=week", r.Entity.Kind, r.ID, monday)
}

// digest returns what a language model wrote about a week; nil for nothing.
func (h *Handler) digest(ctx context.Context, user int64, monday string) (*digestView, error) {
	all, err := h.Store.Digests(ctx, user)
	for _, d := range all {
		if d.Week != monday || d.State != digest.Written {
			continue
		}
		v := &digestView{Language: d.Language, Model: d.Model}
		for line := range strings.SplitSeq(d.Text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				v.Paragraphs = append(v.Paragraphs, line)
			}
		}
		return v, nil
	}
	return nil, err
}

// mail returns the e-mail channels of a user, for the page of a week. A week without music can't be sent.
func (h *Handler) mail(ctx context.Context, user int64, week weekly.Said) ([]mailView, error) {
	all, err := h.mailboxes(ctx, user)
	return core.ViewAll(all, func(ch notify.Channel) mailView {
		id := strconv.FormatInt(ch.ID, 10)
		v := mailView{ID: id, Name: ch.Name, State: ui.Mark{Shape: "off", Word: words.T(ctx, "week.mail.off")}}
		turn := ui.Action{ID: "on-" + id, Label: words.T(ctx, "week.mail.on_do"), Main: true,
			Post: weekly.Path(week.Monday) + "/mail", Fields: []ui.Hidden{{Name: "channel", Value: id},
				{Name: "enabled", Value: "yes"}}, DescribedBy: "mail-" + id}
		if !ch.Reported.IsZero() {
			v.State = ui.Mark{Shape: "healthy", Word: words.T(ctx, "week.mail.on")}
			turn.ID, turn.Label, turn.Main = "off-"+id, words.T(ctx, "week.mail.off_do"), false
			turn.Fields[1].Value = "no"
		}
		v.Actions = []ui.Action{turn}
		if week.Empty == "" {
			v.Actions = append(v.Actions, ui.Action{ID: "send-" + id, Label: words.T(ctx, "week.mail.now"),
				Post: weekly.Path(week.Monday) + "/send", Fields: turn.Fields[:1], DescribedBy: "mail-" + id})
		}
		if !ch.StoppedAt.IsZero() {
			v.Trouble = words.T(ctx, "week.mail.stopped")
			v.Actions = append(v.Actions, ui.Action{Label: words.T(ctx, "week.mail.see"),
				URL: "/settings/notifications#channel-" + id})
		}
		return v
	}), err
}

// switchForm answers the button that switches a channel's report on or off.
func (h *Handler) switchForm(c echo.Context) error {
	monday, err := mondayOf(c)
	if err != nil {
		return err
	}
	on := c.FormValue("enabled") == "yes"
	ch, err := h.turn(c, c.FormValue("channel"), on)
	if err != nil {
		return err
	}
	said := words.New("week.mail.turned_off", "Name", ch.Name)
	if on {
		said = words.New("week.mail.turned_on", "Name", ch.Name)
	}
	return h.Core.Done(c, weekly.Path(monday.Format(time.DateOnly))+"#mail", said)
}

// sendForm answers the button that sends a week at once.
func (h *Handler) sendForm(c echo.Context) error {
	monday, err := mondayOf(c)
	if err != nil {
		return err
	}
	ch, err := h.mailbox(c, c.FormValue("channel"))
	if err != nil {
		return err
	}
	err = h.Courier.SendReport(c.Request().Context(), ch.User, ch.ID, monday)
	said := words.New("channel.email.sent")
	refused, failed := errors.AsType[*notify.RefusedError](err)
	switch {
	case failed:
		said = words.New("channels.problem.of", "Name", ch.Name, "Why", refused.Reason)
	case errors.Is(err, notify.ErrSilent):
		said = words.New("week.mail.silent")
	case err != nil:
		return err
	}
	return h.Core.Done(c, weekly.Path(monday.Format(time.DateOnly))+"#mail", said)
}
