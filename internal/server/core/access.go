package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/throttle"
	"reprise/internal/words"
)

// tokenStore looks up personal tokens.
type tokenStore interface {
	TokenByHash(ctx context.Context, hash string) (accounts.Token, error)
	TouchToken(ctx context.Context, id int64, at time.Time) error
}

// BySession is the scope of a call that no token is good for.
const BySession accounts.Scope = "session"

// errOpen refuses a token in the address that has more than the scope "read".
var errOpen = &Refusal{Status: http.StatusForbidden, Title: words.New("problem.token.address"), challenge: smallScope,
	Detail: words.New("problem.token.address_text")}

// needOf returns the scope that a call needs which does not say which.
func needOf(method, path string) accounts.Scope {
	switch {
	case strings.HasPrefix(path, "/admin/"):
		return accounts.Full
	case method == http.MethodGet || method == http.MethodHead:
		return accounts.Read
	}
	return accounts.Operate
}

// Access decides who may call the API, read the metrics and follow events, by session or by token.
type Access struct {
	sessions   *Sessions
	store      Store
	adminToken atomic.Pointer[resilience.Secret]
	log        *slog.Logger
	wrong      *wrongTokens
	refused    *throttle.Throttle // bounds the lines of the log
	calls      map[string]access  // by method and route; complete before the first request
}

// access says who may make a call.
type access struct {
	need accounts.Scope
	// byAddress says that a token may be in the address, because the programs that make the call send no headers. It
	// must have the scope "read" only, since addresses are passed on and logged on the way.
	byAddress bool
}

// bearer is the caller that a token names.
type bearer struct {
	user     accounts.User
	token    accounts.Token
	operator bool // the token is the installation's admin token: there is no user
}

type operatorContext struct{}

// isOperator says whether a request carries the installation's admin token.
func isOperator(c echo.Context) bool { return c.Request().Context().Value(operatorContext{}) != nil }

// ByPersonalToken says whether a request carries a personal token.
func (k *Core) ByPersonalToken(c echo.Context) bool {
	_, token := bearerOf(c.Request())
	return token && !isOperator(c)
}

// MayCall is middleware that lets a call through that has a session, or a token with the scope that it needs. A
// request
// with a token makes no session.
func (a *Access) MayCall(next echo.HandlerFunc) echo.HandlerFunc {
	withSession := a.sessions.With(a.sessions.MustSignIn(next))
	return func(c echo.Context) error {
		secret, ok := bearerOf(c.Request())
		open := false
		call := a.calls[c.Request().Method+" "+c.Path()]
		if !ok && call.byAddress {
			secret = c.QueryParam("token")
			open = secret != ""
		}
		if !ok && !open {
			return withSession(c)
		}
		ctx := c.Request().Context()
		b, err := a.bearer(c.Request(), c.RealIP(), secret)
		if err == nil {
			err = b.allowed(cmp.Or(call.need, accounts.Read))
		}
		if err == nil && open && b.token.Scope != accounts.Read {
			err = errOpen
		}
		if err != nil {
			return err
		}
		if b.operator {
			ctx = activity.WithActor(context.WithValue(ctx, operatorContext{}, true), activity.Operator)
		} else {
			ctx = as(ctx, b.user)
		}
		c.SetRequest(c.Request().WithContext(ctx))
		return a.sessions.shared(c, b.user.ID, next)
	}
}

// MustBeAdmin is middleware that lets only administrators and the operator through.
func MustBeAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isOperator(c) && UserOf(c).Role != accounts.Admin {
			return &Refusal{Status: http.StatusForbidden, Title: words.New("problem.admin.title"),
				Detail: words.New("problem.admin.text")}
		}
		return next(c)
	}
}

// Administers reports whether the user of a request is an administrator.
func Administers(c echo.Context) bool { return UserOf(c).Role == accounts.Admin }

// bearerOf returns the token that a request carries. Other schemes of that header are for a reverse proxy.
func bearerOf(r *http.Request) (secret string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

const (
	realm      = `Bearer realm="Reprise"`
	smallScope = realm + `, error="insufficient_scope"`
)

var errToken = &Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.token.title"),
	challenge: realm + `, error="invalid_token"`,
	Detail:    words.New("problem.token.text")}

var errOperator = &Refusal{Status: http.StatusForbidden, Title: words.New("problem.operator.title"),
	Detail: words.New("problem.operator.text"), challenge: smallScope}

// ErrScrape answers a request that may not read the metrics.
var ErrScrape error = &Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.scrape.title"),
	challenge: realm,
	Detail:    words.New("problem.scrape.text")}

// allowed returns nil if the token is good for what a call needs.
func (b bearer) allowed(need accounts.Scope) error {
	switch {
	case need == BySession:
		return &Refusal{Status: http.StatusForbidden, Title: words.New("problem.token.none"),
			challenge: smallScope,
			Detail:    words.New("problem.token.none_text")}
	case b.operator && need != accounts.Full:
		return errOperator
	case !b.operator && !b.token.Scope.Covers(need):
		return &Refusal{Status: http.StatusForbidden, Title: words.New("problem.token.small"),
			challenge: fmt.Sprintf(`%s, scope="%s"`, smallScope, need),
			Detail: words.New("problem.token.small_text", "Need", strconv.Quote(string(need)),
				"Has", strconv.Quote(string(b.token.Scope)))}
	}
	return nil
}

// bearer returns the caller that a token names. A personal token is too long to be guessed; the admin token may be a
// word that a person chose, so wrong ones are slowed down.
func (a *Access) bearer(r *http.Request, address, secret string) (bearer, error) {
	b, err := a.byHash(r.Context(), accounts.HashToken(secret))
	if err == nil || !errors.Is(err, errToken) {
		return b, err
	}
	right := a.isAdminToken(secret)
	if err := a.wrong.try(r.Context(), address, right); err != nil {
		_, waits := errors.AsType[*WaitError](err)
		if near, _ := throttle.Networks(address); (waits || errors.Is(err, errToken)) && a.refused.Take(near) == 0 {
			a.log.Warn(logRefused, "address", address)
		}
		return bearer{}, err
	}
	return bearer{operator: true}, nil
}

// byHash returns the owner of a personal token, or errToken, and stores that it was used.
func (a *Access) byHash(ctx context.Context, hash string) (b bearer, err error) {
	now := time.Now()
	b.token, err = a.store.TokenByHash(ctx, hash)
	if errors.Is(err, library.ErrNotFound) || err == nil && b.token.Expired(now) {
		return bearer{}, errToken
	}
	if err != nil {
		return b, err
	}
	if now.Sub(b.token.LastUsedAt) >= time.Minute {
		if err := a.store.TouchToken(context.WithoutCancel(ctx), b.token.ID, now); err != nil {
			a.log.Error("use of a token cannot be stored", "err", err)
		}
	}
	b.user, err = a.store.UserByID(ctx, b.token.User)
	return b, err
}

func (a *Access) isAdminToken(secret string) bool {
	token := *a.adminToken.Load()
	given, right := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(token))
	return token != "" && subtle.ConstantTimeCompare(given[:], right[:]) == 1
}

// forwarded are the headers that reverse proxies add. A request with one of them does not come from its peer.
var forwarded = []string{
	"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via",
}

// MayScrape says whether a request may read the metrics: with the admin token, with an administrator's token of
// full
// scope, with an administrator's session, or from this machine without a proxy in between.
func (a *Access) MayScrape(r *http.Request, address string) bool {
	if secret, ok := bearerOf(r); ok {
		b, err := a.bearer(r, address, secret)
		if err == nil && (b.operator || b.token.Scope.Covers(accounts.Full) && b.user.Role == accounts.Admin) {
			return true
		}
	}
	if u, err := a.sessions.cookieUser(r.Context(), r); err == nil && u.Role == accounts.Admin {
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

// Watcher is a user who follows events.
type Watcher struct {
	User   int64
	Reads  accounts.Choices                             // how
	MayAck bool                                         // whether it may acknowledge notifications
	Ends   string                                       // the ID of the bus event that ends its session or token
	Until  time.Time                                    // when that ends by itself; zero for never
	Still  func(context.Context) (accounts.User, error) // the user whose session or token it is by now
}

// of returns the watcher for a user.
func (w Watcher) of(u accounts.User) Watcher {
	w.User, w.Reads = u.ID, u.Choices
	return w
}

// Watcher returns the user who follows events with the session or the token of a request, or accounts.ErrUnknown.
func (a *Access) Watcher(r *http.Request, address string) (w Watcher, err error) {
	if secret, ok := bearerOf(r); ok {
		return a.tokenWatcher(r, address, secret)
	}
	// the rest of r need not be kept
	cookies := &http.Request{URL: &url.URL{Path: r.URL.Path}, Header: http.Header{"Cookie": r.Header["Cookie"]}}
	w = Watcher{MayAck: true, Still: func(ctx context.Context) (accounts.User, error) {
		return a.sessions.cookieUser(ctx, cookies)
	}}
	ctx, _, err := a.sessions.load(r.Context(), r)
	if err != nil {
		return w, err
	}
	w.Ends, w.Until = a.sessions.Fingerprint(ctx), a.sessions.ends(ctx)
	u, err := w.Still(ctx)
	return w.of(u), err
}

func (a *Access) tokenWatcher(r *http.Request, address, secret string) (Watcher, error) {
	b, err := a.bearer(r, address, secret)
	if err == nil && b.operator {
		err = errOperator
	}
	still := func(ctx context.Context) (accounts.User, error) {
		b, err := a.byHash(ctx, b.token.Hash)
		return b.user, err
	}
	w := Watcher{Ends: EndOf(b.token.ID), MayAck: b.token.Scope.Covers(accounts.Operate), Still: still,
		Until: b.token.ExpiresAt}
	return w.of(b.user), err
}

// EndOf returns the ID of the bus event that says that a token was revoked.
func EndOf(token int64) string { return "token-" + strconv.FormatInt(token, 10) }
