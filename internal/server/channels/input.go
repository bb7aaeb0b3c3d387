package channels

import (
	"strings"
	"unicode/utf8"

	"reprise/internal/channels"
	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// channelInput adds or changes a channel. In a change, missing fields keep their values.
type channelInput struct {
	Kind          string                 `json:"kind"`
	Name          *string                `json:"name"`
	URL           string                 `json:"url"`
	Fields        map[string]string      `json:"fields"`
	Subscription  *channels.Subscription `json:"subscription"`
	Replaces      string                 `json:"replaces"` // the address that this browser had before
	Severity      *string                `json:"severity"`
	QuietFrom     *string                `json:"quiet_from"`
	QuietTo       *string                `json:"quiet_to"`
	Zone          *string                `json:"zone"`
	ErrorsAtNight *bool                  `json:"errors_at_night"`
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

// wishes copies the name and the wishes to ch.
func (in channelInput) wishes(ch *notify.Channel) error {
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
