package weeks

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/channels"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/weekly"
	"reprise/internal/words"
)

// WeekDay is how much was heard on a day.
type WeekDay struct {
	Date    string `json:"date" format:"date"`
	Listens int    `json:"listens"`
}

// WeekLove is a track that became loved.
type WeekLove struct {
	Title   string    `json:"title"`
	Artist  string    `json:"artist"`
	LovedAt core.Time `json:"loved_at"`
}

type weekAnswer struct {
	Week    string              `json:"week" format:"date" doc:"Its Monday."`
	Over    bool                `json:"over" doc:"Whether it has ended."`
	Totals  reviews.HeardAmount `json:"totals"`
	Before  reviews.HeardAmount `json:"before" doc:"The same of the week before; up to the same time, while the week is under way."`
	Days    []WeekDay           `json:"days" doc:"All seven."`
	Artists []reviews.HeardRow  `json:"artists" doc:"Heard most, up to five."`
	Albums  []reviews.HeardRow  `json:"albums" doc:"Heard most, up to five."`
	Tracks  []reviews.HeardRow  `json:"tracks" doc:"Heard most, up to five."`
	New     []reviews.HeardRow  `json:"new" doc:"Artists heard for the first time, up to five."`
	Back    []reviews.HeardRow  `json:"back" doc:"Artists heard again after a year or longer, up to five."`
	Loved   []WeekLove          `json:"loved" doc:"Tracks that became loved in the week; the latest five."`
}

func (h *Handler) weekAPI(c echo.Context, _ *core.OfWeek) (out weekAnswer, _ error) {
	w, moved, err := h.requested(c)
	if err == nil && moved != "" {
		err = core.HTTPProblem(http.StatusNotFound)
	}
	if err != nil {
		return out, err
	}
	rows := func(all []listening.Row) []reviews.HeardRow { return reviews.HeardRows(&w.Review, all) }
	days := w.Days(c.Request().Context())
	return weekAnswer{
		Week: c.Param("week"), Over: !w.UnderWay(), Totals: reviews.AmountOf(w.Found.Totals),
		Before: reviews.AmountOf(w.Found.Before), Artists: rows(w.Found.Artists), Albums: rows(w.Found.Albums),
		Tracks: rows(w.Found.Tracks), New: rows(w.Found.New), Back: rows(w.Found.Back),
		Days: core.ViewAll(days, func(d weekly.Day) WeekDay { return WeekDay{d.Date, d.Listens} }),
		Loved: core.ViewAll(w.Loved, func(l library.Love) WeekLove {
			return WeekLove{l.Title, l.Artist, core.Stamp(l.At)}
		}),
	}, nil
}

type weekCardRequest struct {
	core.OfWeek
	Theme string `query:"theme" enum:"light,dark" default:"light"`
	Shape string `query:"shape" enum:"wide,square" default:"wide" doc:"1200 by 630 pixels, or 1080 by 1080."`
}

// cardAPI sends the user the card of a week.
func (h *Handler) cardAPI(c echo.Context, _ *weekCardRequest) (out core.Sent[core.None], _ error) {
	w, moved, err := h.requested(c)
	if err == nil && moved != "" {
		err = core.HTTPProblem(http.StatusNotFound)
	}
	if err != nil {
		return out, err
	}
	as, err := reviews.LookOf(c)
	if err != nil {
		return out, err
	}
	ctx := c.Request().Context()
	said := w.Say(ctx)
	top := reviews.Rows(said.Top(), nil)
	if err := reviews.Picture(ctx, h.Rows, top); err != nil {
		return out, err
	}
	content := contentOf(ctx, &w, said, top, as)
	return out, h.Cards.Send(c, content.Picture())
}

type switchReportRequest struct {
	core.ByID
	Body struct {
		Enabled bool `json:"enabled"`
	}
}

type switchReportAnswer struct {
	Enabled bool `json:"enabled"`
}

func (h *Handler) switchAPI(c echo.Context, in *switchReportRequest) (out switchReportAnswer, _ error) {
	if _, err := h.turn(c, c.Param("id"), in.Body.Enabled); err != nil {
		return out, err
	}
	return switchReportAnswer{in.Body.Enabled}, nil
}

// turn switches the weekly report on or off for a channel of the user, and returns the channel.
func (h *Handler) turn(c echo.Context, id string, on bool) (ch notify.Channel, err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if ch, err = h.mailbox(c, id); err != nil {
		return ch, err
	}
	if err = h.Reports.Switch(ctx, user, ch.ID, on); err == nil {
		h.Core.Note(ctx, activity.Entry{User: user, Action: activity.ChannelChanged, Subject: ch.Name})
	}
	return ch, err
}

// mailbox returns an e-mail channel of the user.
func (h *Handler) mailbox(c echo.Context, id string) (ch notify.Channel, err error) {
	n, err := core.Number(id)
	if err != nil {
		return ch, err
	}
	ch, err = h.Courier.One(c.Request().Context(), core.UserOf(c).ID, n)
	if err == nil && ch.Kind != channels.Email {
		err = core.Check(words.New("week.mail.other_kind"))
	}
	return ch, err
}

// mondayOf returns the Monday of a request's week as a date in UTC.
func mondayOf(c echo.Context) (time.Time, error) {
	date, err := time.Parse(time.DateOnly, c.Param("week"))
	if err != nil || !date.Equal(weekly.Monday(date)) {
		return date, core.HTTPProblem(http.StatusNotFound)
	}
	return date, nil
}
