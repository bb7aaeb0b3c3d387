package core

import (
	"context"
	"net/http"
	"time"
)

// load returns a context with the session that a request's cookie names, or with a new one. moved says that the cookie
// has the name of a server without TLS or of an earlier version: it still names the sessions that began under it, but
// none that began later, because another host of the same domain can set it.
func (s *Sessions) load(ctx context.Context, r *http.Request) (_ context.Context, moved bool, err error) {
	now := s.cookies.Load()
	cookie, err := r.Cookie(now.manager.Cookie.Name)
	if err == nil {
		ctx, err = s.manager.Load(ctx, cookie.Value)
		return ctx, false, err
	}
	if cookie, err = r.Cookie(now.former); err == nil && now.former != "" {
		old, err := s.manager.Load(ctx, cookie.Value)
		if err != nil {
			return nil, false, err
		}
		if s.manager.Token(old) != "" && !s.manager.GetBool(old, boundKey) {
			return old, true, nil
		}
	}
	ctx, err = s.manager.Load(ctx, "")
	return ctx, false, err
}

// writeCookie sets the cookie of a session, or deletes it if expiry is zero. No cache keeps the answer, whatever it is.
func (s *Sessions) writeCookie(ctx context.Context, w http.ResponseWriter, token string, expiry time.Time) {
	s.cookies.Load().manager.WriteSessionCookie(ctx, w, token, expiry)
	w.Header().Set("Cache-Control", "no-store") // in place of the line that scs adds
}

// moveCookie gives a session its cookie under today's name, and deletes the one of the former name.
func (s *Sessions) moveCookie(ctx context.Context, w http.ResponseWriter) {
	now := s.cookies.Load()
	s.writeCookie(ctx, w, s.manager.Token(ctx), s.manager.Deadline(ctx))
	http.SetCookie(w, &http.Cookie{Name: now.former, Path: "/", MaxAge: -1, HttpOnly: true, Secure: true,
		SameSite: http.SameSiteLaxMode})
}
