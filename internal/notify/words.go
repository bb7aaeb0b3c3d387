package notify

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
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

// Offline is the advice about a service that cannot be reached because none can.
const Offline = "It seems to be this server's own connection to the internet. What the services still offer is " +
	"caught up when it is back."

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
	Title   string
	Message string
	Owner   Owner
}

// naming returns the words with the name of a provider as it is written in a sentence.
func (w Words) naming(p *providers.Provider) Words {
	w.Title = library.InSentence(w.Title, p.DisplayName)
	w.Message = library.InSentence(w.Message, p.DisplayName)
	return w
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
	State   resilience.State
	Stream  string
	Advice  string // the provider's own, if its table has any for this failure
	Waiting string // what waits to be sent there, such as "37 listens"; empty for nothing
}

// Explain returns the words for a state of a connection; none for one that is Ready.
func Explain(p *providers.Provider, c library.Connection, t Trouble) Words {
	return explain(p, c, t).naming(p)
}

func explain(p *providers.Provider, c library.Connection, t Trouble) Words {
	switch t.State.Kind {
	case resilience.Ready:
		return Words{}
	case resilience.Stopped:
		return explainStop(p, c, t)
	}
	s, stream, advice := t.State, t.Stream, t.Advice
	name := c.Label(p.DisplayName)
	w := Words{Title: name + " has trouble", Owner: Nobody}
	switch s.Category {
	case resilience.Network:
		w.Title = name + " cannot be reached"
		w.Message = name + " cannot be reached."
	case resilience.RateLimit:
		w.Title = name + " asks us to wait"
		w.Message = name + " asks us to ask less often, so we wait."
	case resilience.Quota:
		w.Title = name + " asks us to wait"
		w.Message = "What " + name + " allows is used up for now, so we wait."
	case resilience.Permission:
		w.Message = name + " does not let us in at present."
	case resilience.Contract:
		w.Message = name + " gave an answer that we could not read."
	case resilience.Unknown:
		w.Title, w.Message = "Reading "+name+" failed", "Reading from "+name+" failed."
		if stream == library.Deliveries {
			w.Title, w.Message = "Sending to "+name+" failed", "Sending to "+name+" failed."
		}
	default:
		w.Message = name + " has trouble."
	}
	w.Message = join(w.Message, advice)
	if advice == "" {
		w.Message += " You do not need to do anything; we try again by ourselves."
	}
	return w
}

func explainStop(p *providers.Provider, c library.Connection, t Trouble) Words {
	s, stream, advice := t.State, t.Stream, t.Advice
	name := c.Label(p.DisplayName)
	owed := ""
	if t.Waiting != "" {
		owed = "Nothing is lost: " + are(t.Waiting) + " waiting."
	}
	switch {
	case s.Category == resilience.Contract:
		return Words{Title: name + " cannot be understood", Owner: Administrator, Message: join(
			fmt.Sprintf("%s answers in a way that Reprise does not understand%s.", name, about(s, stream)), advice,
			"The administrator should look for a newer version of Reprise, then press Try again.", owed)}
	case s.Scope == resilience.ScopeApp:
		if advice == "" {
			advice = "Its client id or secret is wrong, or a setting is missing."
		}
		return Words{Title: name + " needs the administrator", Owner: Administrator, Message: join(
			name+" does not accept this installation.", advice, "The administrator must fix this; your own "+
				"connection is fine.", owed)}
	case s.ForAdmin:
		if advice == "" {
			advice = "Only the administrator can fix this."
		}
		return Words{Title: name + " needs the administrator", Owner: Administrator,
			Message: join(advice, "Press Try again when that is done.", owed)}
	case s.Category == resilience.Permission:
		if advice == "" {
			advice = "Allow it there, then press Try again."
		}
		what := "read this account" + about(s, stream)
		if stream == library.Deliveries {
			what = "write to this account"
		}
		return Words{Title: name + " does not allow this", Owner: Person, Message: join(
			fmt.Sprintf("%s does not let us %s.", name, what), advice, owed)}
	case s.Category == resilience.Config:
		if advice == "" {
			advice = "Connect it once more and check each field."
		}
		return Words{Title: name + " needs other settings", Owner: Person, Message: join(
			name+" cannot be used with the settings it has now.", advice, owed)}
	case s.Category != resilience.Auth: // kept by another version, which knew more
		return Words{Title: "Reading " + name + " has stopped", Owner: Person, Message: join(
			fmt.Sprintf("Reading from %s has stopped%s.", name, about(s, stream)), advice,
			"Press Try again. If that does not help, connect it once more; nothing that was stored is lost.")}
	}
	if owed == "" {
		owed = "Nothing that was stored is lost, and reading goes on as soon as you have reconnected."
	}
	return Words{Title: name + " needs to be reconnected", Owner: Person,
		Message: join(whyEnded(p, c, s, advice), owed)}
}

// are adds the verb to what waits.
func are(waiting string) string {
	if strings.HasPrefix(waiting, "1 ") && !strings.Contains(waiting, " and ") {
		return waiting + " is"
	}
	return waiting + " are"
}

func whyEnded(p *providers.Provider, c library.Connection, s resilience.State, advice string) string {
	name := c.Label(p.DisplayName)
	switch {
	case advice != "":
		return advice
	case p.OAuth == nil:
		return name + " does not accept the stored sign-in any more. It may have been changed there."
	case !c.ExpiresAt.IsZero() && !s.Since.Before(c.ExpiresAt.Add(-12*time.Hour)):
		return fmt.Sprintf("Your permission ended on %s (%s ends it every %s).", day(c.ExpiresAt), name,
			months(p.OAuth.Months))
	}
	return "Your permission for " + name + " has ended, or was taken back there."
}

// ExplainForAll words a state of the installation's own calls of a provider, for its administrators. A state that is
// Ready has no words.
func ExplainForAll(p *providers.Provider, s resilience.State, advice string) Words {
	return explainForAll(p, s, advice).naming(p)
}

func explainForAll(p *providers.Provider, s resilience.State, advice string) Words {
	if s.Kind != resilience.Stopped {
		return Explain(p, library.Connection{}, Trouble{State: s, Advice: advice})
	}
	name := p.DisplayName
	if s.Category == resilience.Contract {
		return Words{Title: name + " cannot be understood", Owner: Administrator, Message: join(
			name+" answers in a way that Reprise does not understand.", advice, "Look for a newer version of "+
				"Reprise, then press Try again.")}
	}
	if advice == "" {
		advice = "Check what the settings say about it."
	}
	return Words{Title: name + " needs the administrator", Owner: Administrator, Message: join(
		name+" does not accept this installation.", advice, "Then press Try again; a changed setting wants a "+
			"restart of Reprise first.")}
}

// ForAdministrator words a stop of one person's connection for the administrators, who alone can mend it. The person is
// empty in the words for their own connection.
func ForAdministrator(p *providers.Provider, c library.Connection, person, advice string) Words {
	name := c.Label(p.DisplayName)
	whose, next := "This is about your own connection", "Then press Try again."
	if person != "" {
		whose, next = "This is about "+person+"'s connection", "Then tell "+person+" to press Try again."
	}
	if c.Account != "" {
		whose += " (account " + c.Account + ")"
	}
	if advice == "" {
		advice = "Check what the settings say about it."
	}
	return Words{Title: name + " needs the administrator", Owner: Administrator,
		Message: join(whose+"; everybody else's goes on.", advice, next)}.naming(p)
}

// Ending words the notice before an authorization ends.
func Ending(p *providers.Provider, c library.Connection) Words {
	return Words{Title: c.Label(p.DisplayName) + " asks you to reconnect by " + day(c.ExpiresAt), Owner: Person,
		Message: fmt.Sprintf(
			"%s ends a permission every %s. Yours ends on %s. Reconnect before then, and nothing is interrupted.",
			c.Label(p.DisplayName), months(p.OAuth.Months), day(c.ExpiresAt))}.naming(p)
}

// WhenOffline words the warning that our own connection to the internet is lost.
func WhenOffline() Words {
	return Words{Title: "This server is offline", Owner: Administrator,
		Message: "Several services cannot be reached at once, so the fault " +
			"lies with this server's own connection to the internet. It is tried again every few minutes, and what " +
			"the services still offer is caught up when it is back. If it stays so, look at the router and its cable."}
}

// StillFailing words the warning about trouble that has lasted at the longest backoff for a day.
func StillFailing(p *providers.Provider, c library.Connection, s resilience.State) Words {
	name := c.Label(p.DisplayName)
	return Words{Title: name + " is still failing", Owner: Nobody, Message: fmt.Sprintf(
		"%s has been failing since %s. Reprise keeps trying. If it works for you elsewhere, look at Details.",
		name, day(s.Since))}.naming(p)
}

func about(s resilience.State, stream string) string {
	if s.Scope == resilience.ScopeStream && stream != "" {
		return " (" + spoken(stream) + ")"
	}
	return ""
}

// spoken is the name of a stream for people.
func spoken(stream string) string {
	if stream == library.Deliveries {
		return "sending"
	}
	return stream
}

func day(t time.Time) string { return t.Format("2 January 2006") }

func months(n int) string {
	words := map[int]string{1: "month", 3: "three months", 6: "six months", 12: "year"}
	if w, ok := words[n]; ok {
		return w
	}
	return fmt.Sprintf("%d months", n)
}

func join(sentences ...string) string {
	kept := sentences[:0]
	for _, s := range sentences {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " ")
}

// askAbout is the advice about a server of which its person may not know more.
const askAbout = "Check the address, and that the server is running. The administrator can say more: the log has the " +
	"reason, and the setting allowed_upstreams shows it here."

// Refused words why new credentials were not accepted.
func Refused(p *providers.Provider, err error) Words { return refused(p, err).naming(p) }

func refused(p *providers.Provider, err error) Words {
	w := Words{Title: p.DisplayName + " was not connected", Owner: Person}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		w.Message = join(e.Problem, "Nothing was stored.")
		if strings.Contains(e.Setting, ".") { // a setting of the installation, not a field of the form
			w.Owner = Administrator
			w.Message = join("The setting "+e.Setting+" is not right.", e.Problem,
				"The administrator must fix this. Nothing was stored.")
		}
		return w
	}
	if _, ok := errors.AsType[*resilience.ScreenedError](err); ok {
		w.Message = "Reprise found no " + p.DisplayName + " that it can use at this address. " + askAbout +
			" Nothing was stored."
		return w
	}
	advice := ""
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil {
		advice = e.Meaning.Advice
	}
	v := resilience.VerdictOf(err)
	kept, _ := errors.AsType[*resilience.NotBeforeError](err)
	entered := slices.ContainsFunc(p.Fields, func(f providers.Field) bool { return f.Kind == "url" })
	if v.ForAdmin {
		w.Owner = Administrator
	}
	switch {
	case kept != nil && kept.Offline:
		w.Message = "This server has no connection to the internet at present. Please connect once more when it is " +
			"back."
	case kept != nil && v.Category == resilience.RateLimit:
		w.Message = p.DisplayName + " is asked as often as it allows just now. Please connect once more in a minute."
	case kept != nil:
		w.Message = p.DisplayName +
			" has trouble, and is left alone for a moment. Please connect once more in a few minutes."
	case advice != "":
		w.Message = advice
	case (v.Scope == resilience.ScopeApp || v.Scope == resilience.ScopeKey) && v.Class == resilience.Fatal:
		w.Owner = Administrator
		w.Message = p.DisplayName +
			" does not accept this installation: its client id or secret is wrong. The administrator must fix this " +
			"in the settings."
	case v.Category == resilience.Auth && p.OAuth != nil:
		w.Message = p.DisplayName + " did not accept the permission. Please connect once more."
	case v.Category == resilience.Auth:
		w.Message = p.DisplayName + " does not accept this. Check each field; it may have been copied incompletely."
	case v.Category == resilience.Permission:
		w.Message = p.DisplayName + " does not allow this account to be read."
	case entered && isPlain(err):
		w.Message = "What answers at this address does not speak https. Enter it with http:// if that is how you " +
			"open it in the browser."
	case entered && isUntrusted(err):
		w.Message = "The certificate at this address is not one for it, or this machine does not trust it. Enter " +
			"the name that the certificate is for, and look at whether it is still valid and from whom it is."
	case v.Category == resilience.Network:
		w.Message = "There is no answer from " + p.DisplayName +
			". Check the address if you entered one, and that the server is running and can be reached from here."
	case v.Category == resilience.RateLimit, v.Category == resilience.Quota:
		w.Message = p.DisplayName + " asks us to wait. Please try again in a few minutes."
	case v.Category == resilience.Contract, v.Category == resilience.Item:
		w.Message = "What answers at this address is not " + p.DisplayName +
			", or speaks in a way that Reprise does not understand. Check the address."
	case v.Category == resilience.Upstream:
		w.Message = p.DisplayName + " has trouble at the moment. Please try again in a few minutes."
	default:
		w.Message = "It did not work, and the reason is not known. The server's log has the details."
	}
	w.Message += " Nothing was stored."
	return w
}

// isPlain reports whether the answer is not TLS where TLS is due.
func isPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok
}

// isUntrusted reports whether a certificate was not accepted.
func isUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
