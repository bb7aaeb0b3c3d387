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
	"reprise/internal/resilience/keys"
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
	subject  providers.Subject
	forAll   bool // about the installation, not about one connection
	astray   bool // about an address of the settings
	cause    string
	category resilience.Category
	severity notify.Severity
	words    notify.Words
	detail   string
}

// tell opens the notification that a failure calls for, if it does, and notes it in the activity log.
func (t teller) tell(ctx context.Context, s providers.Subject, f *backoff.Failure) error {
	state := f.Change.Fault
	al := alert{subject: s, category: f.Verdict().Category, severity: notify.Warning,
		detail: resilience.Excerpt(f.Error())}
	al.forAll = state.Scope == resilience.ScopeApp || s.Installation()
	switch {
	case f.Change.Kind == backoff.BecameFatal:
		return t.tellStop(ctx, al, f)
	case f.Change.Kind == backoff.WentAstray:
		return t.tellAstray(ctx, al, f)
	case f.Change.Kind == backoff.StillFailing:
		al.cause, al.words = notify.CauseStill, notify.StillFailing(s.Provider, s.Connection, state)
		if err := t.open(ctx, al, s.Installation()); err != nil {
			return err
		}
		t.journal.trouble(ctx, s, state, activity.StillFailing, words.Text{})
	case f.Change.NewHold && f.Verdict().Category == resilience.Quota && al.forAll:
		al.cause, al.words = notify.CauseQuota, notify.ExplainForAll(s.Provider, state, adminAdvice(f))
		return t.open(ctx, al, true)
	case f.Change.NewHold && f.Verdict().Category == resilience.Permission && al.forAll:
		// It is tried again by itself, but will fail until the administrator has acted, as for a subscription.
		al.cause = notify.Cause(f.Verdict().Category.String(), state.Scope, s.Stream)
		al.words = notify.ExplainForAll(s.Provider, state, adminAdvice(f))
		return t.open(ctx, al, true)
	}
	return nil
}

// tellAstray tells who has set the address that something else answers at. It is tried again all the same.
func (t teller) tellAstray(ctx context.Context, al alert, f *backoff.Failure) error {
	s, c, state := al.subject, al.subject.Connection, f.Change.Fault
	al.category, al.severity = resilience.Config, notify.Error
	if state.ForAdmin {
		al.forAll, al.astray, al.cause = true, true, notify.Cause(al.category.String(), resilience.ScopeApp, "")
		al.words = notify.AstrayForAll(s.Provider, AdviceOf(f))
		return t.open(ctx, al, true)
	}
	waiting, err := t.store.WaitingFor(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	al.cause = notify.Cause(al.category.String(), state.Scope, s.Stream)
	al.words = notify.Explain(s.Provider, c, notify.Trouble{State: state, Stream: s.Stream, Advice: AdviceOf(f),
		Waiting: waiting})
	return t.open(ctx, al, false)
}

// tellStop tells who has to act about a stop, and stores it.
func (t teller) tellStop(ctx context.Context, al alert, f *backoff.Failure) error {
	s, c, state := al.subject, al.subject.Connection, f.Change.Fault
	al.category, al.severity = state.Category, notify.Error
	al.cause = notify.Cause(state.Category.String(), state.Scope, s.Stream)
	if al.forAll { // not stored: other settings may end it
		al.words = notify.ExplainForAll(s.Provider, state, adminAdvice(f))
		if err := t.open(ctx, al, true); err != nil {
			return err
		}
		t.journal.trouble(ctx, s, state, activity.Stopped, al.words.Message)
		return nil
	}
	waiting, err := t.store.WaitingFor(ctx, c.User, c.ID)
	if err != nil {
		return err
	}
	al.words = notify.Explain(s.Provider, c, notify.Trouble{State: state, Stream: s.Stream,
		Advice: AdviceOf(f), Waiting: waiting})
	forAdmins := al.words.Owner == notify.Administrator
	if forAdmins {
		al.cause = notify.Of(al.cause, c.User)
	}
	if state.ForAdmin {
		err = t.openAboutPerson(ctx, al, f)
	} else {
		err = t.open(ctx, al, forAdmins)
	}
	if state.Category == resilience.Auth { // it has ended, so that it will end is no news
		err = errors.Join(err, t.notifier.Resolve(ctx, c.User, c.ID,
			notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1))
	}
	if err != nil {
		return err
	}
	// Last: a process that is killed before this finds the stop again, but is never stopped without having told.
	err = t.store.SaveStop(ctx, backoff.Stop{Key: keyOfScope(s, state.Scope), Generation: c.Generation,
		Category: state.Category, ForAdmin: state.ForAdmin, Since: state.Since})
	if err == nil {
		t.journal.trouble(ctx, s, state, activity.Stopped, al.words.Message)
	}
	return err
}

// open opens an alert for the connection's person or, with forAdmins, once for every administrator.
func (t teller) open(ctx context.Context, al alert, forAdmins bool) error {
	c := al.subject.Connection
	if !forAdmins {
		return t.notifier.Open(ctx, al.notification(c.User, c.Generation))
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
func (t teller) openAboutPerson(ctx context.Context, al alert, err error) error {
	c := al.subject.Connection
	person, failed := t.store.UserByID(ctx, c.User)
	if failed != nil {
		return failed
	}
	return t.notifier.OpenForAdmins(ctx, func(id int64) notify.Notification {
		one, whose := al, person.Name
		if id == c.User {
			whose = ""
		}
		one.words = notify.ForAdministrator(al.subject.Provider, c, whose, adminAdvice(err))
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
	return a.teller.openAboutPerson(ctx, alert{subject: s, cause: cause, category: v.Category,
		severity: notify.Error, detail: resilience.Excerpt(err.Error())}, err)
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

// ofKeys reports whether a hold is that of the keys of a pool. Their waits are stored key by key, so that they end with
// the keys: an administrator who has set another key does not wait.
func ofKeys(err error) bool {
	_, ok := errors.AsType[*keys.Error](err)
	return ok
}

// AdviceOf returns what a failure itself says a person should do about it.
func AdviceOf(err error) words.Text {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		return providers.Advice(e)
	}
	if e, ok := errors.AsType[*keys.Error](err); ok {
		return words.Of(e.Advice)
	}
	if _, ok := errors.AsType[*resilience.SettingError](err); ok { // which one is the administrator's business
		return words.New("alert.setting.person")
	}
	if _, ok := errors.AsType[*SetAsideError](err); ok {
		return words.New("alert.set_aside")
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return words.Of(e.Problem)
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok && e.Offline {
		return notify.Offline()
	}
	return words.Text{}
}

// adminAdvice is AdviceOf for administrators, who can do something about the settings.
func adminAdvice(err error) words.Text {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return words.Join(words.New("alert.setting.admin", "Setting", e.Setting), words.Of(e.Problem))
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.ForAdmin != nil {
		return words.Of(e.Meaning.ForAdmin)
	}
	return AdviceOf(err)
}
