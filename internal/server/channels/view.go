package channels

import (
	"context"
	"fmt"
	"strconv"

	"reprise/internal/channels"
	"reprise/internal/notify"
	"reprise/internal/server/core"
)

// Channel is a channel in the API and on pages. Address leaves out the secrets.
type Channel struct {
	ID            string         `json:"id"`
	Kind          string         `json:"kind" enum:"ntfy,gotify,discord,telegram,email,webhook,webpush"`
	Name          string         `json:"name" required:"false" maxLength:"60"`
	Address       string         `json:"address" doc:"Its host, and the end of what is secret in its URL."`
	FromSettings  bool           `json:"from_settings" doc:"It stems from notify.urls and is changed there."`
	Severity      string         `json:"severity" required:"false" enum:"info,success,warning,error" doc:"The least severe to send."`
	QuietFrom     *string        `json:"quiet_from" required:"false" doc:"A time of day such as 22:30; empty for no quiet hours."`
	QuietTo       *string        `json:"quiet_to" required:"false"`
	Zone          string         `json:"zone" required:"false" doc:"IANA name of the time zone of the quiet hours; empty: that of the server."`
	ErrorsAtNight bool           `json:"errors_at_night" required:"false" doc:"Send errors in quiet hours too."`
	WeeklyReport  bool           `json:"weekly_report" doc:"The weekly report is sent there."`
	State         string         `json:"state" enum:"working,failing,stopped"` // working, failing or stopped
	Category      *string        `json:"category"`
	Message       string         `json:"message" doc:"Why it fails, in words."`
	Since         core.MaybeTime `json:"since"`
	Waiting       int            `json:"waiting"`
	LastSentAt    core.MaybeTime `json:"last_sent_at"`
	CreatedAt     core.Time      `json:"created_at"`
}

func viewChannel(ctx context.Context, c notify.Channel) Channel {
	v := Channel{ID: strconv.FormatInt(c.ID, 10), Kind: c.Kind, Name: c.Name,
		Address: channels.Shown(c.Kind, string(c.URL)).T(ctx), FromSettings: c.FromSettings, Severity: string(c.Least),
		QuietFrom: clockTime(c.QuietFrom), QuietTo: clockTime(c.QuietTo), Zone: c.Zone,
		ErrorsAtNight: c.ErrorsAtNight, WeeklyReport: !c.Reported.IsZero(), State: "working",
		Category: core.Text(c.Category),
		Message:  c.Reason.T(ctx), Since: core.Moment(c.FailingSince), Waiting: c.Waiting,
		LastSentAt: core.Moment(c.LastSentAt), CreatedAt: core.Stamp(c.CreatedAt)}
	switch {
	case !c.StoppedAt.IsZero():
		v.State = "stopped"
	case c.Failures > 0:
		v.State = "failing"
	}
	return v
}

// clockTime returns a minute of the day in the form 22:30; nil for none.
func clockTime(minutes int) *string {
	if minutes < 0 {
		return nil
	}
	text := fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
	return &text
}
