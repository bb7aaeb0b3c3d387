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
	finding
	to       audience
	forAll   bool // about the installation, not about one connection
	astray   bool // about an address of the settings
	cause    string
	category resilience.Category
	severity notify.Severity
	words    notify.Words
	noted    activity.Action // goes into the activity log, with note; empty for nothing
	note     words.Text
}

// audience is the people that an alert is opened for.
type audience uint8

const (
	toPerson            audience = iota // the connection's own
	toAdmins                            // every administrator, in the same words
	toAdminsAboutPerson                 // every administrator, in words that name the connection's person
)

// alertOf decides whether a finding is told, what the alert says, and to whom. waiting is a clause that says what waits
// to be sent to the connection; see waits.
func alertOf(v finding, waiting words.Text) (al alert, tell bool) {
	s, c, state := v.subject, v.subject.Connection, v.change.Fault
	al = alert{finding: v, category: v.change.Verdict.Category, severity: notify.Warning, forAll: v.forAll()}
	switch {
	case v.change.Kind == backoff.BecameFatal:
		return stopAlert(al, waiting), true
	case v.change.Kind == backoff.WentAstray:
		return astrayAlert(al, waiting), true
	case v.change.Kind == backoff.StillFailing:
		al.cause, al.noted = notify.CauseStill, activity.StillFailing
		al.words = notify.StillFailing(s.Provider, c, state)
		if s.Installation() {
			al.to = toAdmins
		}
		return al, true
	case !v.change.NewHold || !al.forAll:
		return al, false
	case al.category == resilience.Quota:
		al.cause = notify.CauseQuota
	case al.category == resilience.Permission:
		// It is tried again by itself, but fails until the administrator has acted, as for a subscription.
		al.cause = notify.Cause(al.category.String(), state.Scope, s.Stream)
	default:
		return al, false
	}
	al.to, al.words = toAdmins, notify.ExplainForAll(s.Provider, state, v.adminAdvice)
	return al, true
}

// stopAlert tells those who have to act about a stop.
func stopAlert(al alert, waiting words.Text) alert {
	s, c, state := al.subject, al.subject.Connection, al.change.Fault
	al.category, al.severity = state.Category, notify.Error
	al.cause = notify.Cause(state.Category.String(), state.Scope, s.Stream)
	if al.forAll {
		al.to, al.words = toAdmins, notify.ExplainForAll(s.Provider, state, al.adminAdvice)
	} else {
		al.words = al.explain(waiting)
		if al.words.Owner == notify.Administrator {
			al.to, al.cause = toAdmins, notify.Of(al.cause, c.User)
		}
		if state.ForAdmin {
			al.to = toAdminsAboutPerson
		}
	}
	al.noted, al.note = activity.Stopped, al.words.Message
	return al
}

// astrayAlert tells those who have set the address that something else answers at. It is tried again all the same.
func astrayAlert(al alert, waiting words.Text) alert {
	al.category, al.severity = resilience.Config, notify.Error
	scope, stream := al.change.Fault.Scope, al.subject.Stream
	if al.change.Fault.ForAdmin {
		al.to, al.forAll, al.astray = toAdmins, true, true
		al.words = notify.AstrayForAll(al.subject.Provider, al.advice)
		scope = resilience.ScopeApp
	} else {
		al.words = al.explain(waiting)
	}
	al.cause = notify.Cause(al.category.String(), scope, stream)
	return al
}

// explain words a finding for the connection's person.
func (v finding) explain(waiting words.Text) notify.Words {
	return notify.Explain(v.subject.Provider, v.subject.Connection, notify.Trouble{State: v.change.Fault,
		Stream: v.subject.Stream, Advice: v.advice, Waiting: waiting})
}

// stopped reports whether the finding stops a connection. A stop of the whole installation is not stored, since other
// settings may end it.
func (v finding) stopped() bool { return v.change.Kind == backoff.BecameFatal && !v.forAll() }

// waits returns a clause that says what waits to be sent to the connection, if the alert says that.
func (t teller) waits(ctx context.Context, v finding) (words.Text, error) {
	if v.stopped() || v.change.Kind == backoff.WentAstray && !v.change.Fault.ForAdmin {
		return t.store.WaitingFor(ctx, v.subject.Connection.User, v.subject.Connection.ID)
	}
	return words.Text{}, nil
}

// tell opens the alert that a finding calls for, if any, stores a stop, and writes both into the activity log.
func (t teller) tell(ctx context.Context, v finding) error {
	waiting, err := t.waits(ctx, v)
	if err != nil {
		return err
	}
	al, tell := alertOf(v, waiting)
	if !tell {
		return nil
	}
	c, state := v.subject.Connection, v.change.Fault
	err = t.open(ctx, al)
	if v.stopped() && state.Category == resilience.Auth { // it has ended, so that it will end is no news
		err = errors.Join(err, t.notifier.Resolve(ctx, c.User, c.ID,
			notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1))
	}
	if err == nil && v.stopped() {
		// Last: a process that is killed before this finds the stop again, but is never stopped without having told.
		err = t.store.SaveStop(ctx, backoff.Stop{Key: v.about(), Generation: c.Generation, Category: state.Category,
			ForAdmin: state.ForAdmin, Since: state.Since})
	}
	if err == nil && al.noted != "" {
		t.journal.trouble(ctx, v.subject, state, al.noted, al.note)
	}
	return err
}

// open opens an alert for its audience.
func (t teller) open(ctx context.Context, al alert) error {
	c := al.subject.Connection
	switch al.to {
	case toPerson:
		return t.notifier.Open(ctx, al.notification(c.User, c.Generation))
	case toAdminsAboutPerson:
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
	return a.teller.openAboutPerson(ctx, alert{finding: find(s, backoff.Change{}, err), cause: cause,
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

// finding is what alerts need to know of a failure. It is read from the failure once.
type finding struct {
	subject     providers.Subject
	change      backoff.Change
	detail      string     // the error's text
	advice      words.Text // what the connection's person should do about it; empty for the usual advice
	adminAdvice words.Text // what an administrator should do about it
	// ofKeys says that the keys of a pool have to wait. Their waits are stored key by key, so that they end with the
	// keys: an administrator who has set another key does not wait.
	ofKeys bool
}

// find returns the finding of a call that failed with err, which changed what the backoff knows.
func find(s providers.Subject, ch backoff.Change, err error) finding {
	_, ofKeys := errors.AsType[*keys.Error](err)
	return finding{subject: s, change: ch, detail: resilience.Excerpt(err.Error()), advice: AdviceOf(err),
		adminAdvice: adminAdvice(s.Provider, err), ofKeys: ofKeys}
}

// forAll reports whether the finding is about the installation's app, not about one connection.
func (v finding) forAll() bool {
	return v.change.Fault.Scope == resilience.ScopeApp || v.subject.Installation()
}

// about returns the key of what the finding is about. The installation has one for all its streams.
func (v finding) about() backoff.Key {
	if v.subject.Installation() {
		return v.subject.AppKey()
	}
	return v.subject.KeyFor(v.change.Fault.Scope)
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
func adminAdvice(p *providers.Provider, err error) words.Text {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		name := words.Plain(e.Setting)
		if p != nil {
			name = p.LabelOf(e.Setting)
		}
		return words.Join(words.New("alert.setting.admin", "Setting", name), words.Of(e.Problem))
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.ForAdmin != nil {
		return words.Of(e.Meaning.ForAdmin)
	}
	return AdviceOf(err)
}
