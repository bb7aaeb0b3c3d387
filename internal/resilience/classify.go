package resilience

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// contractPatience is how many broken answers in a row make a broken contract fatal; see docs/resilience.md.
const contractPatience = 3

// judged is an error that says itself what it means.
type judged interface {
	error
	Verdict() Verdict
}

// VerdictOf returns the verdict that err carries. An error without one is a fault that nobody has foreseen; its text
// is never looked at: that can hold a name or a URL.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	if e, ok := errors.AsType[judged](err); ok {
		return e.Verdict()
	}
	if errors.Is(err, context.Canceled) {
		return Verdict{Class: Canceled}
	}
	// A deadline counts as the upstream's silence: our own end of a run arrives as context.Canceled.
	if errors.Is(err, context.DeadlineExceeded) {
		return Verdict{Class: Retriable, Category: Network, Scope: ScopeConnection}
	}
	return unforeseen
}

var unforeseen = Verdict{Class: Retriable, Category: Unknown, Scope: ScopeConnection}

// Verdict returns the verdict that was fixed when the answer was received.
func (e *AnswerError) Verdict() Verdict {
	if e.verdict != nil {
		return *e.verdict
	}
	return e.judge()
}

// Verdict returns that of a fault of the network.
func (e *NetworkError) Verdict() Verdict {
	return Verdict{Class: Retriable, Category: Network, Scope: ScopeConnection, FirstDelay: e.FirstDelay}
}

// Verdict returns that of a broken contract: fatal if it stays broken.
func (e *ContractError) Verdict() Verdict {
	return Verdict{Class: Retriable, Category: Contract, Scope: ScopeStream, FatalAfter: contractPatience}
}

// Verdict returns that of a setting, which concerns everybody.
func (e *SettingError) Verdict() Verdict {
	return Verdict{Class: Fatal, Category: Config, Scope: ScopeApp}
}

// Verdict blames no upstream, whatever the error wraps. Our own end of a run is none of its faults.
func (e *LocalError) Verdict() Verdict {
	if errors.Is(e.Err, context.Canceled) {
		return Verdict{Class: Canceled}
	}
	return unforeseen
}

// judge returns what an answer means.
func (e *AnswerError) judge() Verdict {
	m := StatusMeaning(e.Status)
	switch {
	case e.HTML: // a captive portal or a maintenance page, whatever its status
		m = Meaning{Class: Retriable, Category: Upstream, Scope: ScopeStream}
	case e.Meaning != nil:
		m = *e.Meaning
	}
	v := Verdict{Class: m.Class, Category: m.Category, Scope: m.Scope, FatalAfter: m.FatalAfter,
		ForAdmin: m.ForAdmin != nil}
	if v.Class == Retriable {
		v.NotBefore, v.BadWait = e.NotBefore, e.BadWait
		if v.NotBefore.IsZero() && m.Hold > 0 {
			v.NotBefore = time.Now().Add(m.Hold)
			if m.HoldMax > 0 {
				v.Hold, v.HoldMax = m.Hold, m.HoldMax
			}
		}
	}
	if v.Category == RateLimit && v.Scope == ScopeApp && v.NotBefore.IsZero() {
		v.Scope = ScopeConnection // without a time each connection finds its own pace
	}
	if e.pooled && e.Meaning == nil && (v.Category == Permission || v.Category == RateLimit) {
		v.Scope = ScopeKey // the general table knows no keys: who asks with a key alone has no permission of a person's
	}
	v.Astray = v.Class == Retriable && e.Astray()
	return v
}

// StatusMeaning returns what an HTTP status means if the provider's own table says nothing more exact. An unforeseen
// status means an upstream with trouble.
func StatusMeaning(status int) Meaning {
	switch status {
	case http.StatusUnauthorized:
		return Meaning{Class: Fatal, Category: Auth, Scope: ScopeConnection}
	case http.StatusForbidden:
		return Meaning{Class: Fatal, Category: Permission, Scope: ScopeStream}
	case http.StatusTooManyRequests:
		return Meaning{Class: Retriable, Category: RateLimit, Scope: ScopeApp}
	case http.StatusNotFound, http.StatusGone, http.StatusBadRequest, http.StatusUnprocessableEntity:
		return Meaning{Class: Fatal, Category: Item, Scope: ScopeItem}
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return Meaning{Class: Retriable, Category: Upstream, Scope: ScopeStream}
	}
	if status >= 400 && status < 500 {
		return Meaning{Class: Fatal, Category: Contract, Scope: ScopeStream}
	}
	return Meaning{Class: Retriable, Category: Upstream, Scope: ScopeStream}
}

// Succeeded reports whether an HTTP status is that of a success, 200 to 299.
func Succeeded(status int) bool { return status >= 200 && status < 300 }

// ServerFault reports whether an HTTP status says that the server has trouble of its own.
func ServerFault(status int) bool { return status >= http.StatusInternalServerError }

// TokenMeaning is StatusMeaning for a token endpoint, where a refusal is about the authorization. The code is the
// "error" of RFC 6749, section 5.2. It is ignored in an answer whose status means an outage: that never means
// "reconnect".
func TokenMeaning(status int, code string) Meaning {
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusTooEarly,
		ServerFault(status):
		m := StatusMeaning(status)
		if m.Scope == ScopeStream {
			m.Scope = ScopeConnection
		}
		return m
	case code == "invalid_grant":
		return Meaning{Class: Fatal, Category: Auth, Scope: ScopeConnection}
	case code == "invalid_client", code == "unauthorized_client":
		return Meaning{Class: Fatal, Category: Config, Scope: ScopeApp}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Meaning{Class: Fatal, Category: Auth, Scope: ScopeConnection}
	case status >= 400:
		return Meaning{Class: Fatal, Category: Config, Scope: ScopeApp}
	}
	return Meaning{Class: Retriable, Category: Upstream, Scope: ScopeConnection}
}
