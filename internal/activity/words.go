package activity

import (
	"time"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/words"
)

// streams are those about which the log has sentences of their own.
var streams = map[string]bool{"listens": true, "playlists": true, "loves": true, "songs": true,
	"deliveries": true}

// Sentence says what was done, in one or a few sentences. The service is the display name of the entry's provider.
func (e Entry) Sentence(service words.Text) words.Text {
	detail := e.Detail
	fill := []any{"Who", e.who(), "Service", service, "Subject", e.subject()}
	name := string(e.Action)
	switch {
	case e.Action == Redriven && e.Subject == "1":
		name = "redriven_one"
	case e.Action == SignedIn && e.Times == 2:
		name = "signed_in_twice"
	case e.Action == SignedIn && e.Times > 2:
		name, fill = "signed_in_often", append(fill, "Count", e.Times)
	case e.Action == SignInFailed && e.User == 0:
		name, fill = "sign_in_failed_unknown", append(fill, "Count", max(e.Times, 1))
	case e.Action == SignInFailed || e.Action == ConfirmFailed:
		fill = append(fill, "Count", max(e.Times, 1))
	case e.Action == Stopped && streams[e.Subject]:
		name = "stopped_" + e.Subject
	case e.Action == BreakerOpened || e.Action == BreakerClosed:
		if stream := library.StreamOf(e.Subject); stream != "" {
			name += "_" + stream
		}
	case e.Action == BreakerReset && e.Connection == "": // as it was noted in earlier versions
		fill[3] = e.subject()
	case e.Action == Recovered:
		name, detail = "recovered", words.Text{}
		if streams[e.Subject] {
			name += "_" + e.Subject
		}
		if after := e.after(); !after.IsZero() {
			name, fill = name+"_after", append(fill, "After", after)
		}
	}
	return words.Join(words.Each("activity.", name, fill...), detail)
}

// Request returns the request that an entry is about, which is for those who look into it; empty for none.
func (e Entry) Request() string {
	switch e.Action {
	case BreakerOpened, BreakerClosed, BreakerReset:
		return e.Subject
	}
	return ""
}

func (e Entry) subject() words.Text {
	if e.Action == SignedIn || e.Action == SessionEnded {
		return accounts.VisitOf(e.Subject)
	}
	switch e.Subject {
	case Somebody:
		return words.New("activity.somebody")
	case OtherAddresses:
		return words.New("activity.other_addresses")
	}
	return words.Plain(e.Subject)
}

func (e Entry) who() words.Text {
	switch {
	case e.Actor == "":
		return words.Plain("Reprise")
	case e.ActorID < 0:
		return words.New("activity.left")
	case e.ActorID == 0:
		return words.New("activity.operator")
	}
	return words.Plain(e.Actor)
}

// after returns for how long something had not worked; empty when that is unknown or under two minutes.
func (e Entry) after() words.Text {
	since, err := time.Parse(time.RFC3339, e.Detail.String())
	d := e.At.Sub(since)
	if err != nil || d < 2*time.Minute {
		return words.Text{}
	}
	return words.Took(d)
}
