package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/events"
	"reprise/internal/words"
	"reprise/web/ui"
)

const (
	sessionCookie = "reprise_session"
	hostPrefix    = "__Host-" // browsers take such a cookie only over TLS, and only from the host itself

	sessionLife = 30 * 24 * time.Hour
	userKey     = "user"  // in a session: the ID of the user
	stampKey    = "stamp" // in a session: a fingerprint of the password that it was opened with
	boundKey    = "bound" // in a session: whether only a cookie that is bound to the host may name it
	flashKey    = "flash" // in a session: a sentence for the next page
	undoKey     = "undo"  // in a session: where a form undoes what that sentence tells of, and where it leads back
	wayKey      = "way"   // in a session: how its user came in
	atKey       = "at"    // in a session: when
	issuerKey   = "issuer"
	thereKey    = "there"    // in a session: its name at the issuer
	clientKey   = "client"   // in a session: what this server is called at the issuer
	tokenKey    = "id_token" // in a session: by which the issuer knows whose it is
	grantKey    = "grant"    // in a session: names what the issuer is asked with later
)

// Sessions are the sessions of browsers.
type Sessions struct {
	Setup *setupCode

	manager  *scs.SessionManager // of what sessions hold
	rows     SessionStore
	used     uses
	log      *slog.Logger
	cookies  atomic.Pointer[cookies]
	store    Store
	bus      *events.Bus
	demoUser int64
	shares   shares

	ofIssuer  func() time.Duration // how long sessions last of those who have come from an issuer
	newcomers Newcomers
	named     atomic.Bool            // whether names of accounts open them, by the word of a proxy
	required  atomic.Pointer[string] // who needs a second step
}

// cookies says how sessions are kept in browsers: over TLS otherwise than without.
type cookies struct {
	// manager writes them. All managers share their sessions.
	manager *scs.SessionManager
	prefix  string // of the names of cookies
	former  string // the name of the cookie before there was TLS or the prefix; empty when it is still in use
}

// over says whether browsers reach this server over TLS from now on.
func (s *Sessions) over(tls bool) {
	now := cookies{manager: newManager(s.rows, tls)}
	if tls {
		now.prefix, now.former = hostPrefix, sessionCookie
	}
	s.cookies.Store(&now)
}

func newSessions(o Options) *Sessions {
	return &Sessions{
		Setup: &setupCode{code: o.SetupCode, store: o.Store}, manager: newManager(o.Sessions, false), rows: o.Sessions,
		log: o.Log, store: o.Store, bus: o.Bus, demoUser: o.DemoUser,
	}
}

// newManager does not use scs.New, which starts a goroutine that never ends.
func newManager(sessions SessionStore, tls bool) *scs.SessionManager {
	name := sessionCookie
	if tls {
		name = hostPrefix + sessionCookie
	}
	return &scs.SessionManager{
		Store:    rows{sessions},
		Codec:    scs.GobCodec{},
		Lifetime: sessionLife,
		Cookie: scs.SessionCookie{
			Name:     name,
			Path:     "/",
			Persist:  true,
			HttpOnly: true,
			Secure:   tls,
			SameSite: http.SameSiteLaxMode, // a provider's consent page leads back here, and must find the session
		},
	}
}

// With is middleware that loads the session of a request and stores its changes before the first byte of the answer.
// If they cannot be stored, the answer is that error.
func (s *Sessions) With(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		w, serial := c.Response(), s.bus.Serial()
		w.Header().Add("Vary", "Cookie")
		ctx, moved, err := s.load(c.Request().Context(), c.Request())
		if err != nil {
			return err
		}
		if moved {
			s.moveCookie(ctx, w)
		}
		ctx = context.WithValue(ctx, visitKey{}, &visit{request: c.Request(), address: c.RealIP(),
			loaded: s.manager.Token(ctx), serial: serial})
		c.SetRequest(c.Request().WithContext(ctx))
		writer, headers, stored := w.Writer, w.Header().Clone(), false
		var trouble error
		w.Before(func() {
			if stored {
				return
			}
			stored = true
			if trouble = s.save(ctx, w); trouble != nil {
				w.Writer = discard{}
			}
		})
		defer func() { stored = true }() // an error page that follows does not store the session
		err = next(c)
		switch {
		case trouble != nil:
			w.Writer, w.Committed, w.Size = writer, false, 0
			clear(w.Header())
			maps.Copy(w.Header(), headers)
			return trouble
		case !stored:
			return errors.Join(err, s.save(ctx, w))
		}
		return err
	}
}

// save stores what was changed of a session, and sets its cookie.
func (s *Sessions) save(ctx context.Context, w http.ResponseWriter) error {
	switch s.manager.Status(ctx) {
	case scs.Modified:
		token, expiry, err := s.manager.Commit(ctx)
		if err != nil {
			return err
		}
		v := visitOf(ctx)
		if v.user.ID != 0 {
			if err := s.use(ctx, v.user.ID); err != nil {
				return err
			}
		}
		s.writeCookie(ctx, w, token, expiry)
		if v.user.ID != 0 && s.demoUser == 0 {
			s.rememberDevice(w, v.request, v.user)
		}
	case scs.Destroyed:
		s.writeCookie(ctx, w, "", time.Time{})
	}
	return nil
}

// discard is a response writer that drops an answer.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// Fingerprint names the session of ctx where its token must not appear: in events and in the state of an OAuth
// request.
func (s *Sessions) Fingerprint(ctx context.Context) string { return fingerprint(s.manager.Token(ctx)) }

func fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}

// MustSignIn is middleware that lets only signed-in users through. A browser is redirected to the sign-in page, and
// comes back from there.
func (s *Sessions) MustSignIn(next echo.HandlerFunc) echo.HandlerFunc {
	return s.signedIn(s.secondStepFirst(next), s.toSignIn)
}

// MaySignIn is middleware for what everybody may see: it notes whose session it is, if it is somebody's.
func (s *Sessions) MaySignIn(next echo.HandlerFunc) echo.HandlerFunc { return s.signedIn(next, next) }

func (s *Sessions) signedIn(next, stranger echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		u, err := s.User(ctx)
		if errors.Is(err, accounts.ErrUnknown) {
			return stranger(c)
		}
		if err != nil {
			return err
		}
		s.noteUse(ctx, u.ID)
		c.SetRequest(c.Request().WithContext(as(ctx, u)))
		return s.shared(c, u.ID, next)
	}
}

// shared answers a user's request when it is its turn among all of theirs. Only what reads has large answers.
func (s *Sessions) shared(c echo.Context, user int64, next echo.HandlerFunc) error {
	if m := c.Request().Method; m != http.MethodGet && m != http.MethodHead {
		return next(c)
	}
	leave, err := s.shares.enter(c.Request().Context(), user)
	if err != nil {
		return err
	}
	defer leave()
	return next(c)
}

// User returns the signed-in user of a session, or accounts.ErrUnknown.
func (s *Sessions) User(ctx context.Context) (accounts.User, error) {
	if name := proxiedOf(ctx); name != "" {
		return s.proxied(ctx, name)
	}
	id := s.manager.GetInt64(ctx, userKey)
	if id == 0 && s.demoUser != 0 {
		id = s.demoUser
		if err := s.SignIn(ctx, id, accounts.Arrival{}); err != nil {
			return accounts.User{}, err
		}
	}
	return s.userByID(ctx, id, visitOf(ctx).path())
}

// userByID returns the user of a session, or accounts.ErrUnknown when the password has changed since it was opened,
// when it is over by now, or when a proxy has to say whose it is, and doesn't.
func (s *Sessions) userByID(ctx context.Context, id int64, path string) (accounts.User, error) {
	if id == 0 {
		return accounts.User{}, accounts.ErrUnknown
	}
	u, err := s.store.UserByID(ctx, id)
	if err == nil && s.manager.GetString(ctx, stampKey) != fingerprint(u.PasswordHash) {
		return accounts.User{}, accounts.ErrUnknown
	}
	if err == nil && time.Now().After(s.ends(ctx)) { // the setting has changed since
		return accounts.User{}, accounts.ErrUnknown
	}
	byProxy := accounts.Way(s.manager.GetString(ctx, wayKey)) == accounts.ByProxy
	if err == nil && byProxy && !vouched(ctx, u, path) {
		return accounts.User{}, accounts.ErrUnknown
	}
	return u, err
}

// cookieUser returns the user whose session a request's cookie names, or accounts.ErrUnknown.
func (s *Sessions) cookieUser(ctx context.Context, r *http.Request) (accounts.User, error) {
	ctx, _, err := s.load(ctx, r)
	if err != nil {
		return accounts.User{}, err
	}
	u, err := s.userByID(ctx, s.manager.GetInt64(ctx, userKey), r.URL.Path)
	if err == nil && s.hindered(ctx, u) {
		return accounts.User{}, accounts.ErrUnknown
	}
	return u, err
}

func (s *Sessions) toSignIn(c echo.Context) error {
	if isAPI(c) {
		return accounts.ErrUnknown
	}
	if method := c.Request().Method; method != http.MethodGet && method != http.MethodHead &&
		strings.HasSuffix(c.Path(), "*") { // none of our forms; a program would take the sign-in page for success
		return echo.ErrNotFound
	}
	if open, err := s.Setup.Open(c.Request().Context()); err != nil {
		return err
	} else if open {
		return c.Redirect(http.StatusSeeOther, "/setup")
	}
	to := "/login"
	if c.Request().Method == http.MethodGet && c.Request().URL.Path != "/" {
		to += "?after=" + url.QueryEscape(c.Request().URL.RequestURI())
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// SignIn gives the session to a user, under a new token, and notes how they came. It shows who they are unless nobody
// was asked.
func (s *Sessions) SignIn(ctx context.Context, user int64, by accounts.Arrival) error {
	u, err := s.store.UserByID(ctx, user)
	if err != nil {
		return err
	}
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	s.manager.Put(ctx, userKey, user)
	s.manager.Put(ctx, stampKey, fingerprint(u.PasswordHash))
	s.manager.Put(ctx, boundKey, s.cookies.Load().former != "")
	if s.manager.Remove(ctx, provedKey); !by.Silent {
		s.prove(ctx)
	}
	s.manager.Put(ctx, mustKey, by.Way == accounts.ByPassword)
	s.manager.Put(ctx, offerKey, (by.Way == accounts.ByPassword || by.Way == accounts.ByCode) &&
		s.offers(visitOf(ctx).request))
	for key, value := range map[string]string{wayKey: string(by.Way), issuerKey: by.Issuer, clientKey: by.Client,
		thereKey: by.There, tokenKey: by.Token, grantKey: by.Grant} {
		s.manager.Put(ctx, key, value)
	}
	if by.At.IsZero() {
		by.At = time.Now()
	}
	s.manager.Put(ctx, atKey, by.At.Unix())
	s.manager.SetDeadline(ctx, by.At.Add(s.life(by.Way)).UTC())
	visitOf(ctx).user = u
	if code := words.From(ctx).Code(); code != u.BrowserLanguage {
		if err := s.store.SetBrowserLanguage(ctx, user, code); err != nil { // they are signed in nevertheless
			s.log.Error("language of the browser cannot be stored", "user_id", user, "err", err)
		}
	}
	return nil
}

// Arrival says how the user of a session came in. It isn't silent: with it, who shows who they are goes on.
func (s *Sessions) Arrival(ctx context.Context) accounts.Arrival {
	return accounts.Arrival{Way: accounts.Way(s.manager.GetString(ctx, wayKey)),
		Issuer: s.manager.GetString(ctx, issuerKey), Client: s.manager.GetString(ctx, clientKey),
		There: s.manager.GetString(ctx, thereKey), Token: s.manager.GetString(ctx, tokenKey),
		Grant: s.manager.GetString(ctx, grantKey), At: s.signedInAt(ctx)}
}

// EndOfIssuers has sessions of those who have come from an issuer end after a time, also those that go on.
func (s *Sessions) EndOfIssuers(after func() time.Duration) { s.ofIssuer = after }

// life is how long a session lasts that began in a way.
func (s *Sessions) life(by accounts.Way) time.Duration {
	switch by {
	case accounts.ByProxy:
		return proxiedLife
	case accounts.ByIssuer:
		if s.ofIssuer != nil {
			return min(sessionLife, s.ofIssuer())
		}
	}
	return sessionLife
}

// ends returns when the session of ctx ends by itself, as the settings are now.
func (s *Sessions) ends(ctx context.Context) time.Time {
	deadline := s.manager.Deadline(ctx)
	if accounts.Way(s.manager.GetString(ctx, wayKey)) != accounts.ByIssuer {
		return deadline
	}
	if end := s.signedInAt(ctx).Add(s.life(accounts.ByIssuer)); end.Before(deadline) {
		return end
	}
	return deadline
}

// signedInAt returns when the user of a session came in.
func (s *Sessions) signedInAt(ctx context.Context) time.Time {
	if at := s.manager.GetInt64(ctx, atKey); at > 0 {
		return time.Unix(at, 0)
	}
	return s.manager.Deadline(ctx).Add(-sessionLife) // it began before that was noted
}

// SignOut ends the session and the streams that were opened with it.
func (s *Sessions) SignOut(c echo.Context) error {
	ctx := c.Request().Context()
	ended := s.Fingerprint(ctx)
	if err := s.manager.Destroy(ctx); err != nil {
		return err
	}
	s.bus.Publish(UserOf(c).ID, events.Event{Type: events.SessionEnd, ID: ended})
	return nil
}

// Recheck has the open streams of a user ask whether their session or token is still good, and end if it is not. Call
// it after every change of a password or a role, and after an account or sessions were removed.
func (s *Sessions) Recheck(user int64) { s.bus.Publish(user, events.Event{Type: events.Access}) }

// Flash keeps a sentence for the next page that the session shows.
func (s *Sessions) Flash(ctx context.Context, said words.Text) {
	b, err := said.MarshalJSON()
	if err != nil {
		s.log.Error("a sentence cannot be kept", "err", err)
		return
	}
	s.manager.Put(ctx, flashKey, string(b))
}

// popFlash returns the sentence that Flash kept, once; zero for none.
func (s *Sessions) popFlash(ctx context.Context) (said words.Text) {
	if kept := s.manager.PopString(ctx, flashKey); kept != "" && said.UnmarshalJSON([]byte(kept)) != nil {
		return words.Plain(kept) // by an earlier version
	}
	return said
}

// offerUndo keeps the button that undoes what the next sentence of Flash tells of, and then leads back to a page.
func (s *Sessions) offerUndo(ctx context.Context, undo, back string) {
	s.manager.Put(ctx, undoKey, undo+" "+back)
}

// popUndo returns the button that offerUndo kept, once; nil for none.
func (s *Sessions) popUndo(ctx context.Context) *ui.Action {
	undo, back, kept := strings.Cut(s.manager.PopString(ctx, undoKey), " ")
	if !kept {
		return nil
	}
	return &ui.Action{ID: "undo", Label: words.T(ctx, "corrections.undo"), Post: undo,
		Fields: []ui.Hidden{{Name: "to", Value: back}}}
}

type userContext struct{}

// as returns a context in which u acts, and reads.
func as(ctx context.Context, u accounts.User) context.Context {
	ctx = context.WithValue(u.Reader(ctx), userContext{}, u)
	return activity.WithActor(ctx, activity.Actor{ID: u.ID, Name: u.Name})
}

// UserOf returns the user who makes a request; zero for the operator and on pages that need no session.
func UserOf(c echo.Context) accounts.User {
	u, _ := c.Request().Context().Value(userContext{}).(accounts.User)
	return u
}
