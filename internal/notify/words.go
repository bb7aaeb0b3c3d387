package notify

import (
	"fmt"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// The causes of notifications that are not about a failed call.
const (
	CauseEnds30 = "authorization ends in 30 days"
	CauseEnds7  = "authorization ends in 7 days"
	CauseEnds1  = "authorization ends in 1 day"
	CauseStill  = "still failing"
	CauseQuota  = "quota spent"
	// CauseOffline is about no provider.
	CauseOffline = "offline"
)

// Offline returns the advice about a service that cannot be reached because none can.
func Offline() words.Text { return words.New("alert.offline.advice") }

// Owner is who must act.
type Owner uint8

// The owners.
const (
	Nobody Owner = iota // it passes by itself
	Person              // whose connection it is
	Administrator
)

// Words are what a person reads about a state.
type Words struct {
	Title   words.Text
	Message words.Text
	Owner   Owner
}

// Cause returns the cause of a notification: what happened (a category, or CauseStill), and the stream if only that
// is concerned, or that it is the whole app.
func Cause(what string, scope resilience.Scope, stream string) string {
	switch scope {
	case resilience.ScopeStream:
		return what + ":" + stream
	case resilience.ScopeApp:
		return what + ":app"
	}
	return what
}

// Of returns the cause of an administrator's notification about another person's connection.
func Of(cause string, user int64) string { return fmt.Sprintf("%s of user %d", cause, user) }

// Trouble is a state of a connection that is put into words.
type Trouble struct {
	State   backoff.State
	Stream  string
	Advice  words.Text // the provider's own, if its table has any for this failure
	Waiting words.Text // a clause that says what waits to be sent there: "37 listens are waiting"; empty for nothing
}

// Explain returns the words for a state of a connection; none for one that is Ready.
func Explain(p *providers.Provider, c library.Connection, t Trouble) Words {
	name := p.Label(c)
	switch t.State.Kind {
	case backoff.Ready:
		return Words{}
	case backoff.Stopped:
		return explainStop(p, c, t)
	}
	if t.State.Astray {
		return explainAstray(name, t)
	}
	w := Words{Title: words.New("alert.upstream.title", "Name", name)}
	what := words.New("alert.upstream.message", "Name", name)
	next := words.New("alert.retries")
	switch s := t.State; s.Category {
	case resilience.Network:
		w.Title, what = words.New("alert.network.title", "Name", name), words.New("alert.network.message", "Name", name)
	case resilience.RateLimit:
		w.Title, what = words.New("alert.limited.title", "Name", name), words.New("alert.limited.message", "Name", name)
		next = continues(s)
	case resilience.Quota:
		w.Title, what, next = explainQuota(p, name, s)
	case resilience.Permission:
		what = words.New("alert.shut.message", "Name", name)
	case resilience.Contract:
		what = words.New("alert.unread.message", "Name", name)
	case resilience.CircuitOpen:
		what = words.New("alert.circuit.message", "Name", name)
	case resilience.Unknown:
		w.Title, what = words.New("alert.reading.title", "Name", name), words.New("alert.reading.message", "Name", name)
		if t.Stream == library.Deliveries {
			w.Title = words.New("alert.sending.title", "Name", name)
			what = words.New("alert.sending.message", "Name", name)
		}
	}
	w.Message = words.Join(what, t.Advice, next)
	if !t.Advice.IsZero() {
		w.Message = words.Join(what, t.Advice)
	}
	return w
}

// explainAstray words answers of something that does not speak the service's protocol.
func explainAstray(name words.Text, t Trouble) Words {
	w := Words{Title: words.New("astray.title", "Name", name),
		Message: words.Join(or(t.Advice, "astray.page"), words.New("alert.retries"))}
	if !t.State.Mendable {
		return w
	}
	next := words.New("astray.person")
	w.Title, w.Owner = words.New("astray.check", "Name", name), Person
	if t.State.ForAdmin {
		next, w.Owner = words.New("alert.admin.advice"), Administrator
	}
	safe := words.New("alert.auth.safe")
	if !t.Waiting.IsZero() {
		safe = words.New("alert.owed", "Waiting", t.Waiting)
	}
	w.Message = words.Join(or(t.Advice, "astray.page"), next, safe)
	return w
}

// AstrayForAll words the same about an address of the settings, for the administrators.
func AstrayForAll(p *providers.Provider, advice words.Text) Words {
	return Words{Title: words.New("astray.check", "Name", p.Called()), Owner: Administrator,
		Message: words.Join(advice, words.New("astray.setting", "Setting", p.LabelOf(p.OtherAddress())))}
}

// continues says when a wait that was dictated ends.
func continues(s backoff.State) words.Text {
	if s.Until.IsZero() {
		return words.New("alert.continues.soon")
	}
	return words.New("alert.continues.at", "Until", s.Until)
}

// explainQuota words a quota that is used up. That of a day ends at the midnight of a zone that its provider names.
func explainQuota(p *providers.Provider, name words.Text, s backoff.State) (title, what, next words.Text) {
	title, what = words.New("alert.quota.title", "Name", name), words.New("alert.quota.message", "Name", name)
	next = continues(s)
	if p.QuotaDay == "" {
		return title, what, next
	}
	title = words.New("alert.quota.today.title", "Name", name)
	what = words.New("alert.quota.today.message", "Name", name)
	if !s.Until.IsZero() {
		next = words.Each("alert.midnight.", p.QuotaDay, "Until", s.Until)
	}
	return title, what, next
}

func explainStop(p *providers.Provider, c library.Connection, t Trouble) Words {
	s, name := t.State, p.Label(c)
	var owed words.Text
	if !t.Waiting.IsZero() {
		owed = words.New("alert.owed", "Waiting", t.Waiting)
	}
	switch {
	case s.Category == resilience.Contract:
		what := words.New("alert.contract.message", "Name", name)
		if stream := about(s, t.Stream); !stream.IsZero() {
			what = words.New("alert.contract.stream", "Name", name, "Stream", stream)
		}
		return Words{Title: words.New("alert.contract.title", "Name", name), Owner: Administrator,
			Message: words.Join(what, t.Advice, words.New("alert.contract.next"), owed)}
	case s.Scope == resilience.ScopeApp:
		return Words{Title: words.New("alert.admin.title", "Name", name), Owner: Administrator, Message: words.Join(
			words.New("alert.app.message", "Name", name), or(t.Advice, "alert.app.advice"),
			words.New("alert.app.next"), owed)}
	case s.ForAdmin:
		return Words{Title: words.New("alert.admin.title", "Name", name), Owner: Administrator,
			Message: words.Join(or(t.Advice, "alert.admin.advice"), words.New("alert.admin.next"), owed)}
	case s.Category == resilience.Permission:
		return Words{Title: words.New("alert.permission.title", "Name", name), Owner: Person,
			Message: words.Join(denied(name, s, t.Stream), or(t.Advice, "alert.permission.advice"), owed)}
	case s.Category == resilience.Config:
		return Words{Title: words.New("alert.config.title", "Name", name), Owner: Person, Message: words.Join(
			words.New("alert.config.message", "Name", name), or(t.Advice, "alert.config.advice"), owed)}
	case s.Category != resilience.Auth: // kept by another version, which knew more
		return Words{Title: words.New("alert.stopped.title", "Name", name), Owner: Person, Message: words.Join(
			words.New("alert.stopped.message", "Name", name), t.Advice, words.New("alert.stopped.next"))}
	}
	next := words.New("alert.auth.next")
	switch {
	case !t.Advice.IsZero() && owed.IsZero():
		next = words.New("alert.auth.safe")
	case !t.Advice.IsZero():
		next = owed
	case !owed.IsZero():
		next = words.New("alert.auth.waiting", "Waiting", t.Waiting)
	}
	return Words{Title: words.New("alert.auth.title", "Name", name), Owner: Person,
		Message: words.Join(whyEnded(p, c, s, t.Advice), next)}
}

// denied says what a service does not let us do.
func denied(name words.Text, s backoff.State, stream string) words.Text {
	switch {
	case stream == library.Deliveries:
		return words.New("alert.permission.write", "Name", name)
	case s.Scope == resilience.ScopeStream && stream != "":
		return words.New("alert.permission.stream", "Name", name, "Stream", words.Each("stream.", stream))
	}
	return words.New("refused.permission", "Name", name)
}

// or returns an advice or, without one, the usual one.
func or(advice words.Text, usual string) words.Text {
	if advice.IsZero() {
		return words.New(usual)
	}
	return advice
}

func whyEnded(p *providers.Provider, c library.Connection, s backoff.State, advice words.Text) words.Text {
	name := p.Label(c)
	switch {
	case !advice.IsZero():
		return advice
	case p.OAuth == nil && p.SignIn == nil:
		return words.Each("alert.auth.", p.Secret(), "Name", name)
	case !c.ExpiresAt.IsZero() && !s.Since.Before(c.ExpiresAt.Add(-12*time.Hour)):
		return words.New("alert.auth.expired", "Name", name, "Day", words.Day(c.ExpiresAt), "Every",
			every(p.OAuth.Months))
	}
	return words.New("alert.auth.revoked", "Name", name)
}

// ExplainForAll words a state of the installation's own calls of a provider, for its administrators. A state that is
// Ready has no words.
func ExplainForAll(p *providers.Provider, s backoff.State, advice words.Text) Words {
	if s.Kind != backoff.Stopped {
		return Explain(p, library.Connection{}, Trouble{State: s, Advice: advice})
	}
	name := p.Label(library.Connection{})
	if s.Category == resilience.Contract {
		return Words{Title: words.New("alert.contract.title", "Name", name), Owner: Administrator,
			Message: words.Join(words.New("alert.contract.message", "Name", name), advice,
				words.New("alert.contract.yours"))}
	}
	return Words{Title: words.New("alert.admin.title", "Name", name), Owner: Administrator, Message: words.Join(
		words.New("alert.app.message", "Name", name),
		or(advice, "alert.settings.advice"),
		words.New("alert.settings.next"),
	)}
}

// ForAdministrator words a stop of one person's connection for the administrators, who alone can mend it. The person is
// empty in the words for their own connection.
func ForAdministrator(p *providers.Provider, c library.Connection, person string, advice words.Text) Words {
	var whose, next words.Text
	switch {
	case person == "" && c.Account == "":
		whose = words.New("alert.about.yours")
	case person == "":
		whose = words.New("alert.about.your_account", "Account", c.Account)
	case c.Account == "":
		whose = words.New("alert.about.theirs", "Person", person)
	default:
		whose = words.New("alert.about.their_account", "Person", person, "Account", c.Account)
	}
	next = words.New("alert.about.retry")
	if person != "" {
		next = words.New("alert.about.ask", "Person", person)
	}
	return Words{Title: words.New("alert.admin.title", "Name", p.Label(c)), Owner: Administrator,
		Message: words.Join(whose, or(advice, "alert.settings.advice"), next)}
}

// Ending words the notice before an authorization ends.
func Ending(p *providers.Provider, c library.Connection) Words {
	name, day := p.Label(c), words.Day(c.ExpiresAt)
	return Words{Title: words.New("alert.ending.title", "Name", name, "Day", day), Owner: Person,
		Message: words.New("alert.ending.message", "Name", name, "Day", day, "Every", every(p.OAuth.Months))}
}

// WhenOffline words the warning that our own connection to the internet is lost.
func WhenOffline() Words {
	return Words{Title: words.New("alert.offline.title"), Owner: Administrator,
		Message: words.New("alert.offline.message")}
}

// StillFailing words the warning about trouble that has lasted at the longest backoff for a day.
func StillFailing(p *providers.Provider, c library.Connection, s backoff.State) Words {
	name := p.Label(c)
	return Words{Title: words.New("alert.still.title", "Name", name), Owner: Nobody,
		Message: words.New("alert.still.message", "Name", name, "Since", words.Day(s.Since))}
}

// about returns what a state is about if that is one stream.
func about(s backoff.State, stream string) words.Text {
	if s.Scope == resilience.ScopeStream && stream != "" {
		return words.Each("stream.", stream)
	}
	return words.Text{}
}

// every says how often something happens that happens every so many months.
func every(months int) words.Text { return words.New("alert.every_months", "Count", months) }
