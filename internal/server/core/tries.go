package core

import (
	"cmp"
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

// take counts a try with all of its tolls, or with none and returns a WaitError.
func take(ctx context.Context, from throttle.Limits, tolls ...throttle.Toll) error {
	wait, err := from.Take(ctx, tolls...)
	if err == nil && wait > 0 {
		err = &WaitError{wait}
	}
	return err
}

// ofPasswords bound how fast passwords are guessed. Those who try on a device that is known to the account have a
// limit of their own, so that nobody else's guesses lock them out.
var ofPasswords = struct{ addresses, networks, accounts, devices, all throttle.Limit }{
	throttle.Limit{Name: "sign-in address", Rate: ofAddress}, throttle.Limit{Name: "sign-in network", Rate: ofNetwork},
	throttle.Limit{Name: "sign-in account", Rate: ofAccount}, throttle.Limit{Name: "sign-in device", Rate: ofDevice},
	throttle.Limit{Name: "sign-in", Rate: ofAll}}

// takeGuess counts a try at the account of a name, which need not exist. own is what only wrong ones cost.
func (k *Core) takeGuess(ctx context.Context, name, address, device string) (own throttle.Toll, err error) {
	of := ofPasswords
	if device != "" {
		own = of.devices.Of(device)
		return own, take(ctx, k.limits, own)
	}
	near, far := throttle.Networks(address)
	own = of.accounts.Of(strings.ToLower(strings.TrimSpace(name)))
	return own, take(ctx, k.limits, of.addresses.Of(near), of.networks.Of(far), own, of.all.Of(""))
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
	own, err := k.takeGuess(ctx, name, c.RealIP(), device)
	if err != nil {
		if _, ok := errors.AsType[*WaitError](err); ok {
			k.refusedTry(c, u)
		}
		return accounts.User{}, err
	}
	checked, err := check(ctx, device != "")
	if errors.Is(err, accounts.ErrWrong) {
		k.failedTry(c, u, err)
		return checked, err
	}
	if err := k.limits.GiveBack(context.WithoutCancel(ctx), own); err != nil {
		k.Log.Debug("a try that was right counts as a wrong one", "err", err)
	}
	return checked, err
}

// Visitors returns middleware that limits how often pages without a session are opened by one address, by its network,
// and by everybody together. They guard no secret, only what the pages cost: each server counts its own.
func Visitors() echo.MiddlewareFunc {
	addresses := throttle.Limit{Name: "address", Rate: visitsOfAddress}
	networks := throttle.Limit{Name: "network", Rate: visitsOfNetwork}
	all := throttle.Limit{Name: "all", Rate: visitsOfAll}
	return limited(&throttle.Memory{}, func(near, far string) []throttle.Toll {
		return []throttle.Toll{addresses.Of(near), networks.Of(far), all.Of("")}
	})
}

// SlowDown returns middleware that bounds how often an address and its network may try codes of one kind.
func (k *Core) SlowDown(kind string) echo.MiddlewareFunc {
	addresses := throttle.Limit{Name: kind + " address", Rate: ofAddress}
	networks := throttle.Limit{Name: kind + " network", Rate: ofNetwork}
	return limited(k.limits, func(near, far string) []throttle.Toll {
		return []throttle.Toll{addresses.Of(near), networks.Of(far)}
	})
}

// limited returns middleware that counts requests with the tolls of an address and its network.
func limited(by throttle.Limits, tolls func(near, far string) []throttle.Toll) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := take(c.Request().Context(), by, tolls(throttle.Networks(c.RealIP()))...); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// ofTokens bound how fast the admin token is guessed.
var ofTokens = struct{ addresses, networks, all throttle.Limit }{
	throttle.Limit{Name: "token address", Rate: ofAddress}, throttle.Limit{Name: "token network", Rate: ofNetwork},
	throttle.Limit{Name: "token", Rate: ofNetwork}}

// wrongTokens bounds how fast the admin token is guessed. An address that has sent the right one is not slowed down by
// the guesses of other networks; each server remembers its own.
type wrongTokens struct {
	limits throttle.Limits

	mu    sync.Mutex
	known map[string]bool // addresses that have sent the right one
}

// mostKnown bounds the addresses that are remembered. Only who has the token adds one.
const mostKnown = 100

// try returns nil for the right token, errToken for a wrong one, and a WaitError after too many wrong ones.
func (t *wrongTokens) try(ctx context.Context, address string, right bool) error {
	near, far := throttle.Networks(address)
	tolls := []throttle.Toll{ofTokens.addresses.Of(near), ofTokens.networks.Of(far), ofTokens.all.Of("")}
	if !right {
		return cmp.Or[error](take(ctx, t.limits, tolls...), errToken)
	}
	t.mu.Lock()
	known := t.known[near]
	t.mu.Unlock()
	if known {
		return nil
	}
	if wait, err := t.limits.Wait(ctx, tolls...); err != nil || wait > 0 {
		return cmp.Or[error](err, &WaitError{wait})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= mostKnown {
		clear(t.known)
	}
	t.known[near] = true
	return nil
}
