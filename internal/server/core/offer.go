package core

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	challengeKey = "challenge" // in a session: of a passkey, until it was answered
	offerKey     = "offer"     // in a session: whether a passkey is offered

	offerCookie = "reprise_offered"
	offerLife   = 400 * 24 * time.Hour // browsers keep no cookie for longer
)

// KeepChallenge keeps what the browser of a session has to answer with a passkey, in place of what it had to before.
func (s *Sessions) KeepChallenge(ctx context.Context, kept string) {
	s.manager.Put(ctx, challengeKey, kept)
}

// TakeChallenge returns what KeepChallenge kept, once; empty for nothing.
func (s *Sessions) TakeChallenge(ctx context.Context) string {
	return s.manager.PopString(ctx, challengeKey)
}

// offers reports whether a browser in which somebody signs in with a password is to offer a passkey: once.
func (s *Sessions) offers(r *http.Request) bool {
	if r == nil {
		return false
	}
	_, err := r.Cookie(s.cookies.Load().prefix + offerCookie)
	return err != nil
}

// Offers reports whether the session offers a passkey, and notes that the browser has done so.
func (s *Sessions) Offers(c echo.Context) bool {
	if !s.manager.GetBool(c.Request().Context(), offerKey) {
		return false
	}
	if s.offers(c.Request()) {
		prefix := s.cookies.Load().prefix
		c.SetCookie(&http.Cookie{Name: prefix + offerCookie, Value: "yes", Path: "/",
			MaxAge: int(offerLife / time.Second), HttpOnly: true, Secure: prefix != "", SameSite: http.SameSiteLaxMode})
	}
	return true
}

// EndOffer has the session offer no passkey any more.
func (s *Sessions) EndOffer(ctx context.Context) { s.manager.Remove(ctx, offerKey) }
