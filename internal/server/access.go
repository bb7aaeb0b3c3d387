package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
)

// bySession is what calls need that no token is good for.
const bySession accounts.Scope = "session"

// exceptions are the calls that need another right than their method and address tell.
var exceptions = map[string]accounts.Scope{
	"DELETE /api/v1/session": bySession,
	"POST /api/v1/tokens":    bySession, // a token that makes tokens could never be revoked for good
	"GET /api/v1/tokens":     accounts.Operate,
}

// needOf is the right that a call of the API needs, by its method and route: none is without.
func needOf(method, route string) accounts.Scope {
	if need, ok := exceptions[method+" "+route]; ok {
		return need
	}
	switch {
	case strings.HasPrefix(route, "/api/v1/admin/"):
		return accounts.Full
	case method == http.MethodGet || method == http.MethodHead:
		return accounts.Read
	}
	return accounts.Operate
}

// bearer is who calls with a token.
type bearer struct {
	user     accounts.User
	token    accounts.Token
	operator bool // it is the installation's admin token: there is no user
}

type operatorContext struct{}

// isOperator says whether a request carries the installation's admin token.
func isOperator(c echo.Context) bool { return c.Request().Context().Value(operatorContext{}) != nil }

// mayCall lets those through who are signed in, by a session or by a token that is good for the call. A request with a
// token makes no session.
func (s *Server) mayCall(next echo.HandlerFunc) echo.HandlerFunc {
	withSession := s.withSession(s.mustSignIn(next))
	return func(c echo.Context) error {
		secret, ok := bearerOf(c.Request())
		if !ok {
			return withSession(c)
		}
		ctx := c.Request().Context()
		b, err := s.bearer(c.Request(), secret)
		if err == nil {
			err = b.allowed(needOf(c.Request().Method, c.Path()))
		}
		if err != nil {
			return err
		}
		if b.operator {
			ctx = activity.WithActor(context.WithValue(ctx, operatorContext{}, true), activity.Operator)
		} else {
			ctx = as(ctx, b.user)
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// as is a context in which a user acts.
func as(ctx context.Context, u accounts.User) context.Context {
	return activity.WithActor(context.WithValue(ctx, userContext{}, u), activity.Actor{ID: u.ID, Name: u.Name})
}

// bearerOf is the token that a request carries. Other schemes of that header are a reverse proxy's business.
func bearerOf(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

const realm = `Bearer realm="Reprise"`

var errToken = &problem{Status: http.StatusUnauthorized, Title: "Not a valid token", challenge: realm + `, error="invalid_token"`,
	Detail: "The token is unknown, has been revoked, or has expired. Make a new one on the settings page."}

var errOperator = &problem{Status: http.StatusForbidden, Title: "Whose?", challenge: realm + `, error="insufficient_scope"`,
	Detail: "The admin token belongs to no person, so there is nothing of its own to see or change. Use a personal token; each person makes theirs on the settings page."}

var errTries = &problem{Status: http.StatusTooManyRequests, Title: "Too many tries", Detail: "Please wait a few seconds and try again."}

// allowed is nil when the token is good for what a call needs.
func (b bearer) allowed(need accounts.Scope) error {
	switch {
	case need == bySession:
		return &problem{Status: http.StatusForbidden, Title: "Not with a token", challenge: realm + `, error="insufficient_scope"`,
			Detail: "No token is good for this: sign in with name and password."}
	case b.operator && need != accounts.Full:
		return errOperator
	case !b.operator && !b.token.Scope.Covers(need):
		return &problem{Status: http.StatusForbidden, Title: "The token is not good for this", challenge: fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, realm, need),
			Detail: fmt.Sprintf("This call needs a token with the scope %q; this one has %q.", need, b.token.Scope)}
	}
	return nil
}

// bearer returns whose a token is. A personal one is too long to be guessed; the admin token may have been thought up by
// a person, so wrong ones are slowed down.
func (s *Server) bearer(r *http.Request, secret string) (bearer, error) {
	b, err := s.tokenOwner(r.Context(), accounts.HashToken(secret))
	if err == nil || !errors.Is(err, errToken) {
		return b, err
	}
	tries := s.wrongTokens.of(s.echo.IPExtractor(r))
	if tries.Tokens() < 1 {
		return b, errTries
	}
	if s.isAdminToken(secret) {
		return bearer{operator: true}, nil
	}
	tries.Allow()
	return b, errToken
}

// tokenOwner returns whose personal token that is now, or errToken, and keeps that it was used.
func (s *Server) tokenOwner(ctx context.Context, hash string) (b bearer, err error) {
	now := time.Now()
	b.token, err = s.Store.TokenByHash(ctx, hash)
	if errors.Is(err, library.ErrNotFound) || err == nil && b.token.Expired(now) {
		return bearer{}, errToken
	}
	if err != nil {
		return b, err
	}
	if now.Sub(b.token.LastUsedAt) >= time.Minute {
		if err := s.Store.TouchToken(context.WithoutCancel(ctx), b.token.ID, now); err != nil {
			s.Log.Error("use of a token cannot be kept", "err", err)
		}
	}
	b.user, err = s.Store.UserByID(ctx, b.token.User)
	return b, err
}

func (s *Server) isAdminToken(secret string) bool {
	given, right := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(s.AdminToken))
	return s.AdminToken != "" && subtle.ConstantTimeCompare(given[:], right[:]) == 1
}

// forwarded are the headers by which a reverse proxy shows itself: the peer is not who asks then.
var forwarded = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"}

// mayScrape says whether a request may read the metrics: one with the admin token or an administrator's token of that
// scope, of an administrator who is signed in, or from this very machine without a proxy between.
func (s *Server) mayScrape(r *http.Request) bool {
	if secret, ok := bearerOf(r); ok {
		if b, err := s.bearer(r, secret); err == nil && (b.operator || b.token.Scope.Covers(accounts.Full) && b.user.Role == accounts.Admin) {
			return true
		}
	}
	if u, err := s.cookieUser(r.Context(), r); err == nil && u.Role == accounts.Admin {
		return true
	}
	for _, name := range forwarded {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// cookieUser returns whose session a request's cookie names now, or accounts.ErrUnknown.
func (s *Server) cookieUser(ctx context.Context, r *http.Request) (accounts.User, error) {
	cookie, err := r.Cookie(s.sessions.Cookie.Name)
	if err != nil {
		return accounts.User{}, accounts.ErrUnknown
	}
	if ctx, err = s.sessions.Load(ctx, cookie.Value); err != nil {
		return accounts.User{}, err
	}
	return s.sessionUser(ctx, s.sessions.GetInt64(ctx, userKey))
}

// tries bounds how often each address may try something: ten at once, then one every two seconds. The zero value is ready.
type tries struct {
	mu sync.Mutex
	by map[string]*rate.Limiter
}

const triesEvery, triesBurst, forgetAbove = 2 * time.Second, 10, 10_000

func (t *tries) of(address string) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) > forgetAbove {
		maps.DeleteFunc(t.by, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= triesBurst }) // as good as new
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

// slowDown bounds how often one address may try passwords and codes.
func (s *Server) slowDown() echo.MiddlewareFunc {
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
