package core

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"
)

var errTries = &Problem{Status: http.StatusTooManyRequests, Title: "Too many tries",
	Detail: "Please wait a few seconds and try again."}

const (
	triesEvery, triesBurst = 2 * time.Second, 10
	forgetAbove            = 10_000 // addresses
)

// tries bounds how often each address may try something: ten at once, then one every two seconds. The zero value is
// ready to use.
type tries struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

func (t *tries) of(address string) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) > forgetAbove { // a full limiter is as good as a new one
		maps.DeleteFunc(t.by, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= triesBurst })
	}
	l, ok := t.by[address]
	if !ok {
		l = rate.NewLimiter(rate.Every(triesEvery), triesBurst)
		if t.by == nil {
			t.by = map[string]*rate.Limiter{}
		}
		t.by[address] = l
	}
	return l
}

// SlowDown returns middleware that bounds how often an address may try passwords and codes.
func SlowDown() echo.MiddlewareFunc {
	var all tries
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !all.of(c.RealIP()).Allow() {
				return errTries
			}
			return next(c)
		}
	}
}
