package resilience

import "time"

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
