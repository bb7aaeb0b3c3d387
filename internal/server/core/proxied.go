package core

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/words"
)

type proxiedContext struct{}

// WithProxied returns the context of a request whose sender a trusted reverse proxy has named.
func WithProxied(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, proxiedContext{}, name)
}

// proxiedOf returns what WithProxied noted; empty if no proxy said anything.
func proxiedOf(ctx context.Context) string {
	name, _ := ctx.Value(proxiedContext{}).(string)
	return name
}

// Newcomers makes an account for somebody whom a trusted reverse proxy has named, or returns accounts.ErrUnknown where
// only those come in who have one.
type Newcomers func(ctx context.Context, name string) (accounts.User, error)

// Welcome says what becomes of people without an account whom a proxy has named. Call it before the first request.
func (s *Sessions) Welcome(n Newcomers) { s.newcomers = n }

// NamedByProxy says whether a proxy opens accounts by their names from now on. Then only administrators give names.
func (s *Sessions) NamedByProxy(on bool) { s.named.Store(on) }

// MayRename returns nil if people may choose another name for their own account.
func (s *Sessions) MayRename(u accounts.User) error {
	if s.named.Load() && u.Role != accounts.Admin {
		return Check(words.New("proxied.rename"))
	}
	return nil
}

// Full returns the signed-in user of a session who doesn't have to set up a second step first, or accounts.ErrUnknown.
func (s *Sessions) Full(ctx context.Context) (accounts.User, error) {
	u, err := s.User(ctx)
	if err == nil && s.hindered(ctx, u) {
		return accounts.User{}, accounts.ErrUnknown
	}
	return u, err
}

// proxied returns the user whom a proxy has named. The session becomes theirs, whoever had it before.
func (s *Sessions) proxied(ctx context.Context, name string) (accounts.User, error) {
	if open, err := s.Setup.Open(ctx); err != nil || open { // the first account is made with the server's code
		return accounts.User{}, cmp.Or(err, accounts.ErrUnknown)
	}
	has, hasErr := s.userByID(ctx, s.manager.GetInt64(ctx, userKey), visitOf(ctx).path())
	u, err := s.store.UserByName(ctx, name)
	if errors.Is(err, accounts.ErrUnknown) && hasErr == nil { // somebody of another name, who has signed in here
		return has, nil
	}
	if errors.Is(err, accounts.ErrUnknown) && s.newcomers != nil {
		u, err = s.newcomers(ctx, name)
	}
	switch {
	case errors.Is(err, accounts.ErrUnknown):
		return accounts.User{}, &Refusal{Status: http.StatusForbidden, Title: words.New("proxied.unknown"),
			Detail: words.New("proxied.unknown_text", "Name", name)}
	case err != nil:
		return accounts.User{}, err
	}
	if hasErr == nil && has.ID == u.ID {
		return has, nil
	}
	// A proxy asks nobody again. Who has no password here has nothing else to show.
	by := accounts.Arrival{Way: accounts.ByProxy, Silent: u.PasswordHash != ""}
	if err := s.SignIn(ctx, u.ID, by); err != nil {
		return accounts.User{}, err
	}
	s.arrived(ctx, u, accounts.ByProxy)
	return u, nil
}

// proxiedLife is how long a session lasts that began with the word of a proxy. The next page begins another.
const proxiedLife = 24 * time.Hour

// vouched reports whether a proxy says that a user has sent a request for a path. Calls of the API, which pages make as
// well, pass it without a word: for them its last one is enough.
func vouched(ctx context.Context, u accounts.User, path string) bool {
	if strings.HasPrefix(path, apiPrefix) {
		return true
	}
	return accounts.NameKey(proxiedOf(ctx)) == accounts.NameKey(u.Name)
}

// apiPrefix begins the paths of the API. No proxy names who calls it: it may let such calls through unasked.
const apiPrefix = "/api/"
