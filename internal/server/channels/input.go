package channels

import (
	"strings"
	"unicode/utf8"

	"reprise/internal/channels"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Wishes are what may be wished of a channel. In a change, missing ones stay as they are.
type Wishes struct {
	Name          *string `json:"name" required:"false" maxLength:"60" nullable:"false"`
	Severity      *string `json:"severity" required:"false" enum:"info,success,warning,error" nullable:"false" doc:"The least severe to send."`
	QuietFrom     *string `json:"quiet_from" required:"false" doc:"A time of day such as 22:30; empty for no quiet hours."`
	QuietTo       *string `json:"quiet_to" required:"false"`
	Zone          *string `json:"zone" required:"false" nullable:"false" doc:"IANA name of the time zone of the quiet hours; empty: that of the server."`
	ErrorsAtNight *bool   `json:"errors_at_night" required:"false" nullable:"false" doc:"Send errors in quiet hours too."`
}

// channelInput adds a channel.
type channelInput struct {
	Kind         string                 `json:"kind" required:"false" enum:"ntfy,gotify,discord,telegram,email,webhook,webpush"`
	URL          string                 `json:"url" required:"false" doc:"Such as ntfy://ntfy.sh/topic; docs/channels.md has all forms."`
	Fields       map[string]string      `json:"fields" required:"false" doc:"Instead of a URL, the fields of the page."`
	Subscription *channels.Subscription `json:"subscription" required:"false" doc:"Of a browser, as PushManager.subscribe gives it."`
	Replaces     string                 `json:"replaces" required:"false" doc:"The address of an earlier subscription of the same browser."`
	Wishes
}

// address returns the kind and the URL of the channel.
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
		return "", "", core.Check(channels.Problem(err))
	}
	return kind, url, nil
}

const longestName = 60 // of a channel, in characters

// copyTo copies the name and the wishes to ch.
func (in Wishes) copyTo(ch *notify.Channel) error {
	if in.Name != nil {
		if ch.Name = strings.TrimSpace(*in.Name); utf8.RuneCountInString(ch.Name) > longestName {
			return core.Check(words.New("channels.problem.long_name", "Most", longestName))
		}
	}
	if in.Severity != nil {
		ch.Least = notify.Severity(*in.Severity)
	}
	if !ch.Least.AtLeast(notify.Info) {
		return core.Check(words.New("channels.problem.severity", "Known", "info, success, warning, error"))
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
		return core.Check(words.New("channels.problem.both_times"))
	}
	if ch.QuietFrom >= 0 && ch.QuietFrom == ch.QuietTo {
		return core.Check(words.New("channels.problem.same_times"))
	}
	if in.Zone != nil {
		ch.Zone = *in.Zone
		if _, ok := words.ZoneNamed(ch.Zone); ch.Zone != "" && !ok {
			return core.Check(words.New("channels.problem.zone"))
		}
	}
	if in.ErrorsAtNight != nil {
		ch.ErrorsAtNight = *in.ErrorsAtNight
	}
	return nil
}
