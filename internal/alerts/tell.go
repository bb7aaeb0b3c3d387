package alerts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// teller opens the notifications that failures call for.
type teller struct {
	store    Store
	notifier *notify.Notifier
	journal  *journal
}

// alert is a notification in the making.
type alert struct {
	finding
	to       audience
	forAll   bool // about the installation, not about one connection
	astray   bool // about an address of the settings
	cause    string
	category resilience.Category
	severity notify.Severity
	words    notify.Words
	noted    activity.Action // what the activity log says; empty for nothing
}

// audience is whom an alert is opened for.
type audience uint8

const (
	itsPerson       audience = iota // whose connection it is
	administrators                  // once for each, in the same words
	mendersOfTheirs                 // once for each administrator, who alone can mend a person's connection
)

// alertOf decides what is told about a finding, and whom; told is false for nothing. waiting is a clause that says what
// waits to be sent to the connection.
func alertOf(v finding, waiting words.Text) (al alert, told bool) {
	s, c, state := v.subject, v.subject.Connection, v.change.Fault
	al = alert{finding: v, category: v.change.Verdict.Category, severity: notify.Warning, forAll: v.forAll()}
	switch {
	case v.change.Kind == backoff.StillFailing:
		al.cause, al.noted = notify.CauseStill, activity.StillFailing
		al.words = notify.StillFailing(s.Provider, c, state)
		if s.Installation() {
			al.to = administrators
		}
		return al, true
	case v.change.Kind == backoff.BecameFatal:
		al.category, al.severity, al.noted = state.Category, notify.Error, activity.Stopped
	case v.change.Kind == backoff.WentAstray: // who has set the address is told; it is tried again all the same
		al.category, al.severity = resilience.Config, notify.Error
		al.astray = state.ForAdmin
	case !v.change.NewHold || !al.forAll:
		return al, false
	case al.category == resilience.Quota:
		al.cause = notify.CauseQuota
	case al.category != resilience.Permission:
		return al, false
	} // a refusal is tried again by itself, but fails until an administrator has acted, as for a subscription
	switch {
	case al.astray:
		al.to, al.forAll, al.cause = administrators, true, notify.Cause(al.category.String(), resilience.ScopeApp, "")
		al.words = notify.AstrayForAll(s.Provider, v.advice)
		return al, true
	case al.cause == "":
		al.cause = notify.Cause(al.category.String(), state.Scope, s.Stream)
	}
	if al.forAll {
		al.to, al.words = administrators, notify.ExplainForAll(s.Provider, state, v.adminAdvice)
		return al, true
	}
	al.words = notify.Explain(s.Provider, c, notify.Trouble{State: state, Stream: s.Stream, Advice: v.advice,
		Waiting: waiting})
	if v.change.Kind == backoff.BecameFatal {
		if al.words.Owner == notify.Administrator {
			al.to, al.cause = administrators, notify.Of(al.cause, c.User)
		}
		if state.ForAdmin {
			al.to = mendersOfTheirs
		}
	}
	return al, true
}

// tell opens the notification that a finding calls for, if it does, stores a stop, and notes it in the activity log.
func (t teller) tell(ctx context.Context, v finding) error {
	s, c, state := v.subject, v.subject.Connection, v.change.Fault
	stopped := v.change.Kind == backoff.BecameFatal && !v.forAll() // of all it is not stored: other settings may end it
	var waiting words.Text
	if stopped || v.change.Kind == backoff.WentAstray {
		var err error
		if waiting, err = t.store.WaitingFor(ctx, c.User, c.ID); err != nil {
			return err
		}
	}
	al, told := alertOf(v, waiting)
	if !told {
		return nil
	}
	err := t.open(ctx, al)
	if stopped && state.Category == resilience.Auth { // it has ended, so that it will end is no news
		err = errors.Join(err, t.notifier.Resolve(ctx, c.User, c.ID,
			notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1))
	}
	if err == nil && stopped {
		// Last: a process that is killed before this finds the stop again, but is never stopped without having told.
		err = t.store.SaveStop(ctx, backoff.Stop{Key: v.about(), Generation: c.Generation, Category: state.Category,
			ForAdmin: state.ForAdmin, Since: state.Since})
	}
	if err == nil && al.noted != "" {
		t.journal.trouble(ctx, s, state, al.noted, al.note())
	}
	return err
}

// note is what the activity log says of an alert besides that there was one.
func (al alert) note() words.Text {
	if al.noted == activity.Stopped {
		return al.words.Message
	}
	return words.Text{}
}

// open opens an alert for its audience.
func (t teller) open(ctx context.Context, al alert) error {
	c := al.subject.Connection
	switch al.to {
	case itsPerson:
		return t.notifier.Open(ctx, al.notification(c.User, c.Generation))
	case mendersOfTheirs:
		return t.openAboutPerson(ctx, al)
	}
	return t.notifier.OpenForAdmins(ctx, func(id int64) notify.Notification {
		n := al.notification(id, 0)
		if id != c.User || al.category != resilience.Contract { // one about their own connection leads there
			n.Action = al.adminAction()
		}
		return n
	})
}

// openAboutPerson opens an alert for every administrator that says whose connection they have to mend, and how.
func (t teller) openAboutPerson(ctx context.Context, al alert) error {
	c := al.subject.Connection
	person, err := t.store.UserByID(ctx, c.User)
	if err != nil {
		return err
	}
	return t.notifier.OpenForAdmins(ctx, func(id int64) notify.Notification {
		one, whose := al, person.Name
		if id == c.User {
			whose = ""
		}
		one.words = notify.ForAdministrator(al.subject.Provider, c, whose, al.adminAdvice)
		n := one.notification(id, 0)
		n.Action = al.adminAction()
		if id == c.User {
			n.Action = notify.Action{Label: words.New("alert.action.details"), URL: "/connections/" + string(c.ID)}
		}
		return n
	})
}

// NotLetIn tells the administrators about a person who cannot connect before they act; see [resilience.Meaning]. The
// alert closes when the person has connected.
func (a *Alerts) NotLetIn(ctx context.Context, p *providers.Provider, c library.Connection, err error) error {
	v := resilience.VerdictOf(err)
	if !v.ForAdmin {
		return nil
	}
	s := providers.OfConnection(c, "")
	s.Provider = p
	cause := notify.Of(notify.Cause(v.Category.String(), resilience.ScopeConnection, ""), c.User)
	a.telling.Lock()
	defer a.telling.Unlock()
	return a.teller.openAboutPerson(ctx, alert{finding: find(s, &backoff.Failure{Err: err}), cause: cause,
		category: v.Category, severity: notify.Error})
}

// notification is an alert as its connection's person reads it.
func (al alert) notification(user, generation int64) notify.Notification {
	about := al.subject.Connection.ID
	if al.forAll {
		about = library.ConnectionID(al.subject.Provider.Name)
	}
	action := notify.Action{Label: words.New("alert.action.details"), URL: "/connections/" + string(about)}
	if al.category == resilience.Auth || al.category == resilience.Config {
		action = notify.Action{Label: words.New("alert.action.reconnect"), URL: "/connect/" + string(about)}
	}
	return notify.Notification{User: user, Connection: about, Cause: al.cause, Generation: generation,
		Severity: al.severity, Category: al.category.String(), Title: al.words.Title, Message: al.words.Message,
		Detail: al.detail, Action: action}
}

// pages are where administrators look after what the installation itself asks for, by stream.
var pages = map[string]string{library.Enrichment: "/settings/server#enrichment", library.Digest: "/digest"}

// adminAction leads an administrator to what they can mend.
func (al alert) adminAction() notify.Action {
	s := al.subject
	if page := pages[s.Stream]; page != "" {
		return notify.Action{Label: words.New("alert.action.details"), URL: page}
	}
	do := notify.Action{Label: words.New("alert.action.settings"), URL: "/settings"}
	if setting := s.Provider.OtherAddress(); al.astray {
		do.URL = "/settings/server#" + strings.ReplaceAll(setting, ".", "-")
		return do
	}
	if al.category == resilience.Quota || slices.Contains(stopping, al.category) &&
		al.category != resilience.Contract {
		do.URL = s.Provider.MendAt(al.category, resilience.ScopeApp)
	}
	return do
}

// stopping are the categories of failures that stop a stream or a connection.
var stopping = []resilience.Category{resilience.Auth, resilience.Permission, resilience.Config, resilience.Contract}

// causesOf are the causes of alerts about one stream of a connection and about the connection as a whole: its person's
// own, and the administrators'.
func causesOf(user int64, stream string) (own, admins []string) {
	for _, category := range stopping {
		for _, scope := range []resilience.Scope{resilience.ScopeConnection, resilience.ScopeStream} {
			cause := notify.Cause(category.String(), scope, stream)
			own, admins = append(own, cause), append(admins, notify.Of(cause, user))
		}
	}
	return own, admins
}

// appCauses are the causes of alerts about the installation as a whole; any call that succeeds disproves them.
var appCauses = []string{"config:app", "auth:app", "permission:app", notify.CauseQuota}
