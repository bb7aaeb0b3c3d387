package channels

import (
	"context"
	"fmt"
	"strconv"

	"reprise/internal/channels"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/server/core"
)

// channelView is a channel in the API and on pages. Address leaves out the secrets.
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
}

func viewChannel(ctx context.Context, c notify.Channel) channelView {
	v := channelView{ID: strconv.FormatInt(c.ID, 10), Kind: c.Kind, Name: c.Name,
		Address: channels.Shown(c.Kind, string(c.URL)).T(ctx), FromSettings: c.FromSettings, Severity: string(c.Least),
		QuietFrom: clockTime(c.QuietFrom), QuietTo: clockTime(c.QuietTo), Zone: c.Zone,
		ErrorsAtNight: c.ErrorsAtNight, State: "working",
		Category: core.Text(c.Category),
		Message:  c.Reason.T(ctx), Since: core.Moment(c.FailingSince), Waiting: c.Waiting,
		LastSentAt: core.Moment(c.LastSentAt), CreatedAt: library.Stamp(c.CreatedAt)}
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
