package resilience

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Class is the coarse half of a verdict.
type Class uint8

// The classes. OK and Canceled are no failures; the other two are the only kinds of failure there are.
const (
	OK        Class = iota // the call did what it should
	Canceled               // we stopped it ourselves; nothing is learned
	Retriable              // passes by itself
	Fatal                  // needs a person
)

var classNames = [...]string{"ok", "canceled", "retriable", "fatal"}

func (c Class) String() string { return classNames[c] }

// Category says why a call failed.
type Category uint8

// The categories of product and metrics; None belongs to OK and Canceled.
const (
	None Category = iota
	Auth
	Permission
	Config
	RateLimit
	Quota
	Upstream
	Network
	Contract
	Item
	CircuitOpen
	Unknown
)

var categoryNames = [...]string{"", "auth", "permission", "config", "rate_limit", "quota", "upstream", "network",
	"contract", "item", "circuit_open", "unknown"}

func (c Category) String() string { return categoryNames[c] }

// Categories are the names of all categories of failures.
func Categories() []string { return categoryNames[1:] }

// ParseCategory is the inverse of String; an unknown name is Unknown.
func ParseCategory(name string) Category {
	for i, n := range categoryNames {
		if n == name {
			return Category(i)
		}
	}
	return Unknown
}

// Scope says what a failure is about, and so what has to wait or stop.
type Scope uint8

// The scopes, from the smallest to the largest.
const (
	ScopeNone       Scope = iota
	ScopeItem             // one object of a stream
	ScopeStream           // one stream of a connection
	ScopeConnection       // one user's link to one provider
	ScopeKey              // one API key of the installation
	ScopeApp              // the installation's registration with the provider, shared by its users
	ScopeEndpoint         // one endpoint of an upstream
)

var scopeNames = [...]string{"", "item", "stream", "connection", "key", "app", "endpoint"}

func (s Scope) String() string { return scopeNames[s] }

// Meaning is what a row of a provider's table says about an answer.
type Meaning struct {
	Class    Class
	Category Category
	Scope    Scope
	// FatalAfter makes a retriable failure fatal (as Contract) if it was the outcome this many times in a row; 0
	// means never.
	FatalAfter uint8
	// Hold is the wait that the provider's documentation asks for after this answer, if the answer itself names none;
	// 0 means none.
	Hold time.Duration
	// HoldMax makes Hold double with each such answer in a row, up to this; 0 keeps it as it is.
	HoldMax time.Duration
	// Advice is what a person should do about it; nil if what is usual for the category will do.
	Advice Cause
	// ForAdmin is what the administrator has to do about one person's connection, if the person cannot mend it; Advice
	// then tells the person so. Nil if the person can, or if Scope says it already.
	ForAdmin Cause
}

// Verdict is what an outcome means. The zero Verdict is OK.
type Verdict struct {
	Class      Class
	Category   Category
	Scope      Scope
	FatalAfter uint8
	// FirstDelay replaces the base of the backoff when it is shorter; 0 means the usual one.
	FirstDelay time.Duration
	// NotBefore is the instant before which the upstream does not want to be asked again; zero if it named none.
	NotBefore time.Time
	// Hold and HoldMax are set when NotBefore comes from the provider's documentation and grows; see [Meaning].
	Hold, HoldMax time.Duration
	// ForAdmin says that only the administrator can mend it, although it is about one connection; see [Meaning].
	ForAdmin bool
	// Astray says that something answered that does not speak the service's protocol, and Mendable that the address is
	// somebody's to correct: the administrator's with ForAdmin, else the person's.
	Astray, Mendable bool
	// BadWait says that the upstream named a wait that cannot be used (see [After]).
	BadWait bool
}

// EndOfWait returns the end of the dictated wait after the nth such failure in a row, from 1; zero without one.
func (v Verdict) EndOfWait(n int, now time.Time) time.Time {
	if v.HoldMax == 0 {
		return v.NotBefore
	}
	wait := v.Hold
	for i := 1; i < n && wait < v.HoldMax; i++ {
		wait *= 2
	}
	return now.Add(min(wait, v.HoldMax))
}

// Failed reports whether the verdict is a failure, of either class.
func (v Verdict) Failed() bool { return v.Class >= Retriable }

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
