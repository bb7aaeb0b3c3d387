package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/events"
)

const (
	sessionLife = 30 * 24 * time.Hour
	userKey     = "user"  // in a session: the ID of who is signed in
	stampKey    = "stamp" // in a session: a fingerprint of the password that it was opened with
	flashKey    = "flash" // in a session: a sentence for the next page
)

// newSessions is not scs.New: that starts a goroutine which never ends, for a store in memory.
func newSessions(store scs.CtxStore, tls bool) *scs.SessionManager {
	return &scs.SessionManager{
		Store:    store,
		Codec:    scs.GobCodec{},
		Lifetime: sessionLife,
		Cookie: scs.SessionCookie{
			Name:     "reprise_session",
			Path:     "/",
			Persist:  true,
			HttpOnly: true,
			Secure:   tls,
			SameSite: http.SameSiteLaxMode, // a provider's consent page leads back here, and must find the session
		},
	}
}

// withSession loads the session of a request, and keeps what was changed of it before the first byte of the answer goes
// out. Where that cannot be done, the trouble is the answer.
func (s *Server) withSession(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		w := c.Response()
		w.Header().Add("Vary", "Cookie")
		token := ""
		if cookie, err := c.Cookie(s.sessions.Cookie.Name); err == nil {
			token = cookie.Value
		}
		ctx, err := s.sessions.Load(c.Request().Context(), token)
		if err != nil {
			return err
		}
		c.SetRequest(c.Request().WithContext(ctx))
		writer, headers, kept := w.Writer, w.Header().Clone(), false
		var trouble error
		w.Before(func() {
			if kept {
				return
			}
			kept = true
			if trouble = s.keepSession(ctx, w); trouble != nil {
				w.Writer = nowhere{}
			}
		})
		defer func() { kept = true }() // what is answered from here on, to an error or a panic, is the answer
		err = next(c)
		switch {
		case trouble != nil:
			w.Writer, w.Committed, w.Size = writer, false, 0
			clear(w.Header())
			maps.Copy(w.Header(), headers)
			return trouble
		case !kept:
			return errors.Join(err, s.keepSession(ctx, w))
		}
		return err
	}
}

// keepSession stores what was changed of a session, and tells the browser its name.
func (s *Server) keepSession(ctx context.Context, w http.ResponseWriter) error {
	switch s.sessions.Status(ctx) {
	case scs.Modified:
		token, expiry, err := s.sessions.Commit(ctx)
		if err != nil {
			return err
		}
		s.sessions.WriteSessionCookie(ctx, w, token, expiry)
	case scs.Destroyed:
		s.sessions.WriteSessionCookie(ctx, w, "", time.Time{})
	}
	return nil
}

// nowhere takes an answer that is not to be given.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// fingerprint stands for a session where its token must not: in events, and in the state of an OAuth request.
func (s *Server) fingerprint(ctx context.Context) string { return fingerprint(s.sessions.Token(ctx)) }

func fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}

type userContext struct{}

func userOf(c echo.Context) accounts.User {
	u, _ := c.Request().Context().Value(userContext{}).(accounts.User)
	return u
}

// mustSignIn lets only those through who are signed in. A browser is led to where it can do so, and back.
func (s *Server) mustSignIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		u, err := s.signedIn(ctx)
		if errors.Is(err, accounts.ErrUnknown) {
			return s.toSignIn(c)
		}
		if err != nil {
			return err
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		c.SetRequest(c.Request().WithContext(as(ctx, u)))
		return next(c)
	}
}

// signedIn returns whose session it is, or accounts.ErrUnknown.
func (s *Server) signedIn(ctx context.Context) (accounts.User, error) {
	id := s.sessions.GetInt64(ctx, userKey)
	if id == 0 && s.DemoUser != 0 {
		id = s.DemoUser
		if err := s.signIn(ctx, id); err != nil {
			return accounts.User{}, err
		}
	}
	return s.sessionUser(ctx, id)
}

// sessionUser returns whose session it is. One that was opened with a password that has been changed since is nobody's.
func (s *Server) sessionUser(ctx context.Context, id int64) (accounts.User, error) {
	if id == 0 {
		return accounts.User{}, accounts.ErrUnknown
	}
	u, err := s.Store.UserByID(ctx, id)
	if err == nil && s.sessions.GetString(ctx, stampKey) != fingerprint(u.PasswordHash) {
		return accounts.User{}, accounts.ErrUnknown
	}
	return u, err
}

func (s *Server) toSignIn(c echo.Context) error {
	if isAPI(c) {
		return accounts.ErrUnknown
	}
	if s.setup.open() {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	to := "/login"
	if c.Request().Method == http.MethodGet && c.Request().URL.Path != "/" {
		to += "?after=" + url.QueryEscape(c.Request().URL.RequestURI())
	}
	return c.Redirect(http.StatusSeeOther, to)
}

func (s *Server) mustBeAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isOperator(c) && userOf(c).Role != accounts.Admin {
			return &problem{Status: http.StatusForbidden, Title: "Only for administrators", Detail: "Ask the administrator of this server to do this."}
		}
		return next(c)
	}
}

// signIn gives the session to a user, under a new token.
func (s *Server) signIn(ctx context.Context, user int64) error {
	u, err := s.Store.UserByID(ctx, user)
	if err != nil {
		return err
	}
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, userKey, user)
	s.sessions.Put(ctx, stampKey, fingerprint(u.PasswordHash))
	return nil
}

func (s *Server) signOut(c echo.Context) error {
	ctx := c.Request().Context()
	ended := s.fingerprint(ctx)
	if err := s.sessions.Destroy(ctx); err != nil {
		return err
	}
	s.Bus.Publish(userOf(c).ID, events.Event{Type: events.SessionEnd, ID: ended})
	return nil
}

// setupCode is the right to make the first account.
type setupCode struct {
	mu   sync.Mutex
	code string
}

func (c *setupCode) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != ""
}

func (c *setupCode) is(code string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code != "" && fingerprint(c.code) == fingerprint(code) // equal length: takes as long whatever is wrong
}

func (c *setupCode) used() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = ""
}
