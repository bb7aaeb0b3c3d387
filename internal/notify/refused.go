package notify

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/words"
)

// askAbout is the advice about a server whose person may not know more.
func askAbout() words.Text { return words.New("refused.ask_about") }

// Refused words why new credentials were not accepted.
func Refused(p *providers.Provider, err error) Words {
	name := p.Label(library.Connection{})
	w := Words{Title: words.New("refused.title", "Name", name), Owner: Person}
	why, administrator := refusal(p, name, err)
	if administrator {
		w.Owner = Administrator
	}
	w.Message = words.Join(why, words.New("refused.nothing"))
	return w
}

// refusal says why, and whether the administrator has to act.
func refusal(p *providers.Provider, name words.Text, err error) (why words.Text, administrator bool) {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		if strings.Contains(e.Setting, ".") { // a setting of the installation, not a field of the form
			return words.Join(words.New("refused.setting", "Setting", p.LabelOf(e.Setting)), words.Of(e.Problem),
				words.New("alert.admin.advice")), true
		}
		return words.Of(e.Problem), false
	}
	if _, ok := errors.AsType[*hosts.ScreenedError](err); ok {
		return words.Join(words.New("refused.screened"), askAbout()), false
	}
	v := resilience.VerdictOf(err)
	if kept, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return held(name, v, kept), v.ForAdmin
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && !words.Of(e.Advice()).IsZero() {
		return words.Of(e.Advice()), v.ForAdmin
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Astray() && p.NamesServer() {
		if e.MovedTo != "" {
			return words.New("provider.moved", "Address", e.MovedTo), v.ForAdmin
		}
		return words.New("refused.page"), v.ForAdmin
	}
	app := v.Scope == resilience.ScopeApp || v.Scope == resilience.ScopeKey
	if app && v.Class == resilience.Fatal {
		return words.New("refused.app", "Name", name), true
	}
	if slices.ContainsFunc(p.Fields, func(f providers.Field) bool { return f.Kind == "url" }) {
		switch {
		case v.Category == resilience.Auth || v.Category == resilience.Permission:
		case isPlain(err):
			return words.New("refused.not_tls"), v.ForAdmin
		case isUntrusted(err):
			return words.New("refused.certificate"), v.ForAdmin
		}
	}
	return byCategory(p, name, v.Category), v.ForAdmin
}

// held words why a service is not called now.
func held(name words.Text, v resilience.Verdict, kept *backoff.NotBeforeError) words.Text {
	switch {
	case kept.Offline:
		return words.New("refused.offline")
	case v.Category == resilience.RateLimit:
		return words.New("refused.pace", "Name", name)
	}
	return words.New("refused.resting", "Name", name)
}

// byCategory words a refusal about which nothing more is known.
func byCategory(p *providers.Provider, name words.Text, category resilience.Category) words.Text {
	switch category {
	case resilience.Auth:
		if p.OAuth != nil {
			return words.New("refused.consent", "Name", name)
		}
		return words.Each("refused.auth.", p.Secret(), "Name", name)
	case resilience.Permission:
		return words.New("refused.permission", "Name", name)
	case resilience.Network:
		return words.New("refused.network", "Name", name)
	case resilience.RateLimit, resilience.Quota:
		return words.New("refused.limited", "Name", name)
	case resilience.Contract, resilience.Item:
		return words.New("refused.contract")
	case resilience.Upstream:
		return words.New("refused.upstream", "Name", name)
	}
	return words.New("refused.unknown")
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
