package alerts

import (
	"errors"

	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/words"
)

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
		adminAdvice: adminAdvice(err), ofKeys: ofKeys}
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
func adminAdvice(err error) words.Text {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return words.Join(words.New("alert.setting.admin", "Setting", e.Setting), words.Of(e.Problem))
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil && e.Meaning.ForAdmin != nil {
		return words.Of(e.Meaning.ForAdmin)
	}
	return AdviceOf(err)
}
