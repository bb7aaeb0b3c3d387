package activity

import (
	"fmt"
	"strings"
	"time"

	"reprise/internal/library"
)

// sentences has the words for each action, with {who} acted, the {service} and the {subject} to fill in. Sentence has
// the words for the actions that need more.
var sentences = map[Action]string{
	Connected:       "{who} connected {service} as {subject}.",
	Reconnected:     "{who} reconnected {service} as {subject}.",
	Disconnected:    "{who} disconnected {service}.",
	Paused:          "{who} paused {service}.",
	Resumed:         "{who} let {service} go on.",
	Synced:          "{who} had {service} read at once.",
	Retried:         "{who} had {service} tried again.",
	Discarded:       "{who} discarded a delivery.",
	ForwardingOn:    "{who} switched forwarding to {service} on.",
	ForwardingOff:   "{who} switched forwarding to {service} off.",
	Imported:        "{who} sent the file {subject} to be imported.",
	BreakerReset:    "{who} had calls go out again to the endpoint {subject}.",
	KeyReset:        "{who} took the key …{subject} of {service} back into use.",
	UserAdded:       "{who} made an account for {subject}.",
	PasswordChanged: "{who} changed the password.",

	UserRemoved:       "{who} removed the account {subject}.",
	RoleChanged:       "{who} changed the role of {subject}.",
	Invited:           "{who} invited {subject}.",
	InvitationRevoked: "{who} took an invitation back.",
	Joined:            "{subject} accepted an invitation.",
	ResetLinkMade:     "{who} made a link with which {subject} can choose a new password.",
	Exported:          "{who} downloaded the listens and playlists of {subject}.",

	Asked: "{who} asked the administrators for {service}.",

	SignedIn:       "{who} signed in with {subject}{times}.",
	SignInFailed:   "{failed} to sign in from {subject}.",
	PasswordReset:  "{who} set a new password.",
	SessionEnded:   "{who} signed out {subject}.",
	SessionsEnded:  "{who} signed out everywhere else.",
	TokenMade:      "{who} made the access token “{subject}”.",
	TokenRevoked:   "{who} revoked the access token “{subject}”.",
	ChannelAdded:   "{who} added the channel {subject}.",
	ChannelChanged: "{who} changed the channel {subject}.",
	ChannelRemoved: "{who} removed the channel {subject}.",
	SettingChanged: "{who} changed the setting {subject}.",
	SettingReset:   "{who} set {subject} back to its default.",
	Held:           "{service} asked for a wait, and gets it.",
	StillFailing:   "{service} has failed for a day; {who} goes on trying.",
	BreakerOpened:  "The endpoint {subject} failed too often; {who} leaves it alone for a while.",
	BreakerClosed:  "The endpoint {subject} works again.",
	UplinkLost:     "This server went offline: several services could not be reached at once.",
	UplinkBack:     "This server is online again.",
	KeyRefused:     "{service} refused the key …{subject} of this installation; {who} does not use it any more.",
}

// streams says what the server does with each stream of a service.
var streams = map[string]string{
	"listens":    "reading listens from {service}",
	"playlists":  "reading playlists from {service}",
	"deliveries": "sending to {service}",
}

// Sentence says what was done, in one or a few sentences. The service is the display name of the entry's provider.
func (e Entry) Sentence(service string) string {
	text, detail := sentences[e.Action], e.Detail
	what, ok := streams[e.Subject]
	switch {
	case e.Action == Redriven:
		text = "{who} had {subject} deliveries sent again."
		if e.Subject == "1" {
			text = "{who} had a delivery sent again."
		}
	case e.Action == SignInFailed && e.User == 0:
		text = "{failed} to sign in from {subject}, with a name that no account has."
	case e.Action == Stopped && ok:
		text = "{who} stopped " + what + "."
	case e.Action == Stopped:
		text = "{who} stopped calling {service}."
	case e.Action == Recovered && ok:
		text, detail = strings.ToUpper(what[:1])+what[1:]+" works again"+e.after()+".", ""
	case e.Action == Recovered:
		text, detail = "{service} works again"+e.after()+".", ""
	}
	sentence := library.InSentence(strings.NewReplacer("{who}", e.who(), "{service}", service, "{subject}", e.Subject,
		"{times}", e.times(), "{failed}", e.failed()).Replace(text), service)
	return strings.TrimSpace(sentence + " " + detail)
}

func (e Entry) who() string {
	switch {
	case e.Actor == "":
		return "Reprise"
	case e.ActorID == 0:
		return "Somebody with the " + e.Actor
	}
	return e.Actor
}

// times returns how often something happened, if it was more than once.
func (e Entry) times() string {
	switch {
	case e.Times < 2:
		return ""
	case e.Times == 2:
		return ", twice"
	}
	return fmt.Sprintf(", %d times", e.Times)
}

func (e Entry) failed() string {
	if e.Times < 2 {
		return "A failed try"
	}
	return fmt.Sprintf("%d failed tries", e.Times)
}

// after returns for how long something had not worked; empty when that is unknown or under two minutes.
func (e Entry) after() string {
	since, err := time.Parse(time.RFC3339, e.Detail)
	d := e.At.Sub(since)
	switch {
	case err != nil || d < 2*time.Minute:
		return ""
	case d < 2*time.Hour:
		return fmt.Sprintf(", after %d minutes", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf(", after %d hours", int(d/time.Hour))
	}
	return fmt.Sprintf(", after %d days", int(d/(24*time.Hour)))
}
