package household

import (
	"fmt"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// kind is what was wrong in an incident.
type kind uint8

const (
	down    kind = iota // nobody could reach the service
	slow                // it answered late, and not always
	held                // it asked everybody to wait
	stopped             // it no longer accepted one person's access
)

// incident is a time in which something was wrong with a service.
type incident struct {
	provider string
	kind     kind
	person   string // whose connection it was about; empty for everybody's
	from, to time.Time
	category resilience.Category
	detail   string // in the service's words
}

// incidents returns what went wrong in the two weeks before now, at hours at which such things happen.
func incidents(now time.Time) []incident {
	on := func(days, hour, minute int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()-days, hour, minute, 0, 0, now.Location())
	}
	return []incident{
		{"lastfm", slow, "", on(11, 19, 10), on(11, 22, 40), resilience.Upstream, ""},
		{"listenbrainz", stopped, "Alice", on(9, 8, 20), on(9, 20, 47), resilience.Auth,
			"401: Invalid authorization token."},
		{"musicbrainz", down, "", on(7, 14, 0), on(7, 15, 30), resilience.Upstream, "503: Service Unavailable"},
		{"navidrome", down, "", on(5, 2, 15), on(5, 7, 30), resilience.Network, "connect: connection refused"},
		{"youtube", slow, "", on(4, 12, 0), on(4, 14, 15), resilience.Upstream, ""},
		{"navidrome", stopped, "Bob", on(3, 18, 5), on(3, 21, 12), resilience.Auth, "Wrong username or password"},
		{"lastfm", held, "", on(2, 13, 15), on(2, 13, 45), resilience.RateLimit, "29: Rate limit exceeded"},
		{"spotify", down, "", now.Add(-9*time.Hour - 10*time.Minute), now.Add(-8*time.Hour - 25*time.Minute),
			resilience.Upstream, "503: Service Unavailable"},
	}
}

// during returns what was wrong with a service at a time, or nil.
func (t *teller) during(provider string, at time.Time) *incident {
	for i := range t.incidents {
		if in := &t.incidents[i]; in.provider == provider && !at.Before(in.from) && at.Before(in.to) {
			return in
		}
	}
	return nil
}

// at returns what kept a connection from being read at a time, or nil.
func (t *teller) at(c library.Connection, at time.Time) *incident {
	in := t.during(c.Provider(), at)
	if in == nil || in.kind == slow || in.person != "" && in.person != t.name(c.User) {
		return nil
	}
	return in
}

func (t *teller) name(user int64) string {
	for _, p := range t.People {
		if p.ID == user {
			return p.Name
		}
	}
	return ""
}

// fail says how a run failed.
func (t *teller) fail(r *library.Run, p *providers.Provider, c library.Connection, in *incident) {
	r.Result, r.Category, r.Detail = resilience.Retriable.String(), in.category.String(), in.detail
	r.Took = t.around(3 * time.Second)
	r.Words = notify.Explain(p, c, notify.Trouble{Stream: r.Stream, State: backoff.State{
		Kind: backoff.Waiting, Category: in.category, Scope: resilience.ScopeConnection, Since: in.from}}).Title
}

// noticed is how long a connection is not read before that counts as a gap.
const noticed = time.Hour

// troubles tells who was told of the incidents of a connection, and what they did about it.
func (t *teller) troubles(p Person, c library.Connection) {
	for _, in := range t.incidents {
		if in.provider != c.Provider() || in.person != "" && in.person != p.Name || in.kind == slow {
			continue
		}
		if in.kind != held && in.to.Sub(in.from) > noticed && c.Provider() != "youtube" {
			t.past.Gaps = append(t.past.Gaps, Gap{p.ID, c.ID, library.Gap{From: in.from, To: in.to}})
		}
		note := func(at time.Time, what activity.Action, by Person, subject string, detail words.Text) {
			t.past.Activity = append(t.past.Activity, activity.Entry{At: at, User: p.ID, ActorID: by.ID, Actor: by.Name,
				Action: what, Connection: c.ID, Subject: subject, Detail: detail})
		}
		since := words.Plain(library.Stamp(in.from))
		switch in.kind {
		case held:
			note(in.from, activity.Held, Person{}, "", words.New("alert.continues.at", "Until", in.to))
		case down:
			note(in.to, activity.Recovered, Person{}, "", since)
		case stopped:
			provider := t.Provider(in.provider)
			w := notify.Explain(provider, c, notify.Trouble{State: backoff.State{Kind: backoff.Stopped,
				Category: in.category, Scope: resilience.ScopeConnection, Since: in.from}})
			note(in.from, activity.Stopped, Person{}, "", w.Message)
			note(in.to, activity.Reconnected, p, c.Account, words.Text{})
			note(in.to.Add(3*time.Second), activity.Recovered, Person{}, "", since)
			t.past.Notifications = append(t.past.Notifications, notify.Notification{User: p.ID, Connection: c.ID,
				Cause:      notify.Cause(in.category.String(), resilience.ScopeConnection, ""),
				Generation: max(c.Generation-1, 1), Severity: notify.Error, Category: in.category.String(),
				Title: w.Title, Message: w.Message,
				Detail: in.detail, Action: notify.Action{Label: words.New("alert.action.reconnect"),
					URL: "/connect/" + string(c.ID)},
				CreatedAt: in.from, AcknowledgedAt: in.to.Add(-4 * time.Minute), ResolvedAt: in.to})
		}
	}
}

// days tells what the household did on ordinary days.
func (t *teller) days() {
	for _, p := range t.People {
		for day := 13; day > 0; day-- {
			if t.rnd.IntN(3) > 0 {
				continue
			}
			at := time.Date(t.Now.Year(), t.Now.Month(), t.Now.Day()-day, 19+t.rnd.IntN(3), t.rnd.IntN(60), 0, 0,
				t.Now.Location())
			t.past.Activity = append(t.past.Activity, activity.Entry{At: at, User: p.ID, ActorID: p.ID, Actor: p.Name,
				Action:  activity.SignedIn,
				Subject: accounts.Visit("Firefox on Linux", "192.168.1."+fmt.Sprint(20+p.ID))})
		}
	}
}
