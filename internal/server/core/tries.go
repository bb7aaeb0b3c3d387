package core

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/throttle"
	"reprise/internal/words"
)

// These are the rates at which secrets may be tried. See docs/signing-in.md.
var (
	ofAddress = throttle.Rate{Burst: 10, Every: 2 * time.Second}        // an IPv4 address, an IPv6 /64
	ofNetwork = throttle.Rate{Burst: 30, Every: time.Second}            // an IPv4 /24, an IPv6 /48
	ofAccount = throttle.Rate{Burst: 10, Every: time.Minute}            // wrong passwords only
	ofDevice  = throttle.Rate{Burst: 10, Every: time.Minute}            // wrong passwords only
	ofAll     = throttle.Rate{Burst: 50, Every: 100 * time.Millisecond} // all who are not known
)

// Limits for pages that anybody may open. A page with its picture counts as two.
var (
	visitsOfAddress = throttle.Rate{Burst: 20, Every: time.Second}
	visitsOfNetwork = throttle.Rate{Burst: 60, Every: 500 * time.Millisecond}
	visitsOfAll     = throttle.Rate{Burst: 100, Every: 100 * time.Millisecond}
)

// WaitError says that there were too many tries.
type WaitError struct{ Wait time.Duration }

func (e *WaitError) Error() string { return "too many tries" }

// Wait returns the error of a try that has to wait.
func Wait(d time.Duration) error { return &WaitError{d} }

// seconds returns the wait as the header Retry-After has it: in whole seconds, at least 1.
func (e *WaitError) seconds() int { return max(1, int(math.Ceil(e.Wait.Seconds()))) }

// words asks a person to wait.
func (e *WaitError) words() words.Text {
	n := e.seconds()
	if n < 60 {
		return words.New("problem.tries.seconds", "Count", n)
	}
	return words.New("problem.tries.minutes", "Count", (n+59)/60)
}

// toll is a bucket that a try costs.
type toll struct {
	table *throttle.Throttle
	key   string
}

// take counts a try in all buckets, or in none and returns a WaitError.
func take(tolls ...toll) error {
	for i, one := range tolls {
		wait := one.table.Take(one.key)
		if wait == 0 {
			continue
		}
		for _, taken := range tolls[:i] {
			taken.table.GiveBack(taken.key)
		}
		for _, rest := range tolls[i+1:] {
			wait = max(wait, rest.table.Wait(rest.key))
		}
		return &WaitError{wait}
	}
	return nil
}

// tries bounds how fast passwords are guessed. Those who try on a device that is known to the account have a bucket of
// their own, so that nobody else's guesses lock them out.
type tries struct{ addresses, networks, accounts, devices, all *throttle.Throttle }

func newTries() *tries {
	return &tries{addresses: throttle.New(ofAddress), networks: throttle.New(ofNetwork),
		accounts: throttle.New(ofAccount), devices: throttle.New(ofDevice), all: throttle.New(ofAll)}
}

// take counts a try at the account of a name, which need not exist. giveBack takes back what only wrong ones cost.
func (t *tries) take(name, address, device string) (giveBack func(), err error) {
	own := toll{t.devices, device}
	tolls := []toll{own}
	if device == "" {
		near, far := throttle.Networks(address)
		own = toll{t.accounts, strings.ToLower(strings.TrimSpace(name))}
		tolls = []toll{{t.addresses, near}, {t.networks, far}, own, {t.all, ""}}
	}
	return func() { own.table.GiveBack(own.key) }, take(tolls...)
}

// Guess runs check, which compares a typed password with that of the account of a name, unless there were too many
// wrong ones; then it returns a WaitError. check learns whether the browser is known to the account. The answers are
// the same for a name without an account.
func (k *Core) Guess(
	c echo.Context, name string, check func(ctx context.Context, known bool) (accounts.User, error),
) (accounts.User, error) {
	ctx := c.Request().Context()
	u, err := k.store.UserByName(ctx, name)
	if err != nil && !errors.Is(err, accounts.ErrUnknown) {
		return u, err
	}
	device := k.Sessions.device(c.Request(), u)
	giveBack, err := k.tries.take(name, c.RealIP(), device)
	if err != nil {
		k.refusedTry(c, u)
		return accounts.User{}, err
	}
	checked, err := check(ctx, device != "")
	if errors.Is(err, accounts.ErrWrong) {
		k.failedTry(c, u)
	} else {
		giveBack()
	}
	return checked, err
}

// Visitors returns middleware that limits how often pages without a session are opened by one address, by its network,
// and by everybody together.
func Visitors() echo.MiddlewareFunc {
	addresses, networks, all := throttle.New(visitsOfAddress), throttle.New(visitsOfNetwork), throttle.New(visitsOfAll)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			near, far := throttle.Networks(c.RealIP())
			if err := take(toll{addresses, near}, toll{networks, far}, toll{all, ""}); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// SlowDown returns middleware that bounds how often an address and its network may try codes.
func SlowDown() echo.MiddlewareFunc {
	addresses, networks := throttle.New(ofAddress), throttle.New(ofNetwork)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			near, far := throttle.Networks(c.RealIP())
			if err := take(toll{addresses, near}, toll{networks, far}); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// wrongTokens bounds how fast the admin token is guessed. An address that has sent the right one is not slowed down by
// the guesses of other networks.
type wrongTokens struct {
	addresses, networks, all *throttle.Throttle

	mu    sync.Mutex
	known map[string]bool // addresses that have sent the right one
}

// mostKnown bounds the addresses that are remembered. Only who has the token adds one.
const mostKnown = 100

func newWrongTokens() *wrongTokens {
	return &wrongTokens{addresses: throttle.New(ofAddress), networks: throttle.New(ofNetwork),
		all: throttle.New(ofNetwork), known: map[string]bool{}}
}

// try returns nil for the right token, errToken for a wrong one, and a WaitError after too many wrong ones.
func (t *wrongTokens) try(address string, right bool) error {
	near, far := throttle.Networks(address)
	if !right {
		if err := take(toll{t.addresses, near}, toll{t.networks, far}, toll{t.all, ""}); err != nil {
			return err
		}
		return errToken
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[near] {
		return nil
	}
	if wait := max(t.addresses.Wait(near), t.networks.Wait(far), t.all.Wait("")); wait > 0 {
		return &WaitError{wait}
	}
	if len(t.known) >= mostKnown {
		clear(t.known)
	}
	t.known[near] = true
	return nil
}
