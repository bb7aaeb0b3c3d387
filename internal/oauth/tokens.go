package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// The keys of a token in library.Credentials.
const (
	accessToken  = "access_token"
	refreshToken = "refresh_token"
	tokenEnd     = "token_end" // when to renew the access token, RFC 3339; absent when the provider names no end
)

// early is how long before its end an access token is renewed; one that lasts less than twice as long is renewed at
// half its life.
const early = time.Minute

// CredentialStore keeps connections' credentials.
type CredentialStore interface {
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	// ClaimRenewal gives the caller alone the right to renew the credentials of a connection until a time, in whole
	// milliseconds. If somebody has it, on whichever server, it returns when that ends; otherwise the zero time. It
	// returns library.ErrNotFound if the connection has another generation now.
	ClaimRenewal(ctx context.Context, c library.Connection, until time.Time) (taken time.Time, err error)
	// SaveCredentials ends a claim. It returns library.ErrNotFound if the connection has another generation now, or
	// somebody has claimed the renewal after the claim had ended.
	SaveCredentials(ctx context.Context, c library.Connection, claim time.Time) error
}

// Tokens returns access tokens.
type Tokens struct {
	store  CredentialStore
	client *http.Client
	flight singleflight.Group
	// unsaved are renewed credentials that the store could not take, by flight key: the provider accepts no others
	// any more.
	unsaved sync.Map
}

// renewed is a connection with renewed credentials, and the claim under which they were renewed.
type renewed struct {
	library.Connection
	claim time.Time
}

// NewTokens returns Tokens over a store. client, which must be on a transport.Transport, calls the token endpoint.
func NewTokens(store CredentialStore, client *http.Client) *Tokens {
	return &Tokens{store: store, client: client}
}

var (
	errNoRenewal = errors.New("this permission cannot be renewed")
	// errReplaced wraps context.Canceled: it says nothing about the provider.
	errReplaced = fmt.Errorf("the connection was replaced or removed: %w", context.Canceled)
	// errWaiting wraps it as well.
	errWaiting = fmt.Errorf("another server renews the token: %w", context.Canceled)
)

// renewFor is more than one try may take, so that no answer to a first try is lost.
const renewFor = resilience.CallTimeout + 5*time.Second

// claimFor is how long a renewal is claimed. The call ends before that, also if the database was slow. After a server
// was killed, another one has to wait so long before it may renew.
const claimFor = renewFor + 15*time.Second

// lookAgain is how long to wait before looking whether another server has renewed the token.
const lookAgain = 250 * time.Millisecond

// Fresh returns an access token for the connection, renewed once for all who ask. stale is a token that the provider
// has refused; empty if there is none.
//
// A caller whose connection has been replaced, by a new consent of the same account, gets the new token. If the
// connection was removed, belongs to another account now, or is replaced during the renewal, the error wraps
// context.Canceled.
//
// call is the one that wants the token: a renewal is a request of it.
func (t *Tokens) Fresh(
	ctx context.Context, call resilience.Call, p *providers.Provider, c library.Connection, stale string,
) (string, error) {
	if usable(c.Credentials, stale) {
		return c.Credentials[accessToken], nil
	}
	for {
		mine := false
		result, err, _ := t.flight.Do(flightKey(c), func() (any, error) {
			mine = true
			// The end of the caller must not interrupt a renewal: a rotated token that nobody stored is lost. The
			// limit is for repeated tries, which a stop of the server would wait for.
			kept := context.WithoutCancel(ctx)
			return t.renew(kept, ctx.Done(), call, p, c, stale)
		})
		if errors.Is(err, errWaiting) && ctx.Err() == nil {
			continue // the caller that renewed it has given up
		}
		if met, ok := errors.AsType[*backoff.NotBeforeError](err); ok && met.Met && !mine {
			continue // that was about the run of another caller, which may have been of another stream
		}
		if err != nil {
			return "", err
		}
		// The renewal of a caller that was not refused may have returned the very token that was refused here.
		if token := result.(string); mine || token != stale {
			return token, nil
		}
	}
}

func flightKey(c library.Connection) string {
	return fmt.Sprintf("%d/%s/%d", c.User, c.ID, c.Generation)
}

// renew renews a token. gone ends the wait for another server that is at it, but no renewal.
func (t *Tokens) renew(ctx context.Context, gone <-chan struct{}, call resilience.Call, p *providers.Provider,
	c library.Connection, stale string) (token string, err error) {
	var claim time.Time // zero until the renewal is this server's
	asked := false
	defer func() {
		if !asked {
			t.give(ctx, c, claim)
		}
	}()
	for {
		now, err := t.current(ctx, c)
		if err != nil {
			return "", err
		}
		if now.Generation != c.Generation {
			return t.Fresh(ctx, call, p, now, stale) // a flight of its own
		}
		c = now
		old := now.Credentials[refreshToken]
		switch {
		case usable(now.Credentials, stale):
			return now.Credentials[accessToken], nil // somebody was faster
		case old == "":
			if token := now.Credentials[accessToken]; token != stale {
				return token, nil // whether it has ended is the provider's to say
			}
			return "", errNoRenewal
		case !claim.IsZero():
			asked = true
			return t.ask(ctx, call, p, renewed{now, claim})
		}
		if claim, err = t.claim(ctx, gone, now); err != nil {
			return "", err
		}
	}
}

// claim claims the renewal of a connection's token. It returns the zero time after it has waited for somebody else.
func (t *Tokens) claim(ctx context.Context, gone <-chan struct{}, c library.Connection) (claim time.Time, err error) {
	until := time.Now().Add(claimFor).Truncate(time.Millisecond)
	taken, err := t.store.ClaimRenewal(ctx, c, until)
	if errors.Is(err, library.ErrNotFound) {
		return claim, errReplaced
	}
	if err != nil || taken.IsZero() {
		return until, err
	}
	select {
	case <-gone:
		return claim, errWaiting
	case <-time.After(min(lookAgain, time.Until(taken)+time.Millisecond)):
		return claim, nil
	}
}

// give ends a claim without a renewal. If that fails, it ends by itself.
func (t *Tokens) give(ctx context.Context, c library.Connection, claim time.Time) {
	if !claim.IsZero() {
		_ = t.store.SaveCredentials(ctx, c, claim)
	}
}

// ask has the provider renew a token, and stores it.
func (t *Tokens) ask(ctx context.Context, call resilience.Call, p *providers.Provider, c renewed) (string, error) {
	call.Client = t.client
	old := c.Credentials[refreshToken]
	secrets := []string{old, p.OAuth.ClientSecret}
	// Repeated tries end in time: a server that stops would wait for them, and another one may renew after the claim.
	asking, cancel := context.WithDeadline(ctx, c.claim.Add(renewFor-claimFor))
	defer cancel()
	source := config(p.OAuth, "").TokenSource(through(asking, call, secrets...), &oauth2.Token{RefreshToken: old})
	token, err := source.Token()
	if err != nil {
		t.give(ctx, c.Connection, c.claim)
		return "", tokenError(err, secrets...)
	}
	c.Credentials = merge(c.Credentials, token)
	err = t.save(ctx, c)
	if errors.Is(err, library.ErrNotFound) { // replaced while the provider answered, or the claim has ended
		return "", errReplaced
	}
	return token.AccessToken, err
}

// current returns the stored connection, which may be of a later generation than c, of the same account.
func (t *Tokens) current(ctx context.Context, c library.Connection) (library.Connection, error) {
	if kept, ok := t.unsaved.Load(flightKey(c)); ok {
		c := kept.(renewed)
		if err := t.save(ctx, c); !errors.Is(err, library.ErrNotFound) {
			return c.Connection, err
		}
	}
	now, err := t.store.Connection(ctx, c.User, c.ID)
	if errors.Is(err, library.ErrNotFound) || err == nil && now.Generation != c.Generation &&
		now.AccountID != c.AccountID {
		return now, errReplaced
	}
	return now, err
}

// save stores renewed credentials, or keeps them until the store takes them.
func (t *Tokens) save(ctx context.Context, c renewed) error {
	err := t.store.SaveCredentials(ctx, c.Connection, c.claim)
	if err == nil || errors.Is(err, library.ErrNotFound) {
		t.unsaved.Delete(flightKey(c.Connection))
		return err
	}
	t.unsaved.Store(flightKey(c.Connection), c)
	return fmt.Errorf("store renewed token: %w", err)
}

func usable(c library.Credentials, stale string) bool {
	if c[accessToken] == "" || c[accessToken] == stale {
		return false
	}
	end, err := time.Parse(time.RFC3339, c[tokenEnd])
	return err != nil || time.Until(end) > 0
}

// merge adds a token to credentials. A provider that sends no new refresh token means the old one to remain valid.
func merge(old library.Credentials, t *oauth2.Token) library.Credentials {
	c := maps.Clone(old)
	if c == nil {
		c = library.Credentials{}
	}
	c[accessToken] = t.AccessToken
	if t.RefreshToken != "" {
		c[refreshToken] = t.RefreshToken
	}
	if granted, _ := t.Extra("scope").(string); granted != "" {
		c[providers.ScopeField] = granted
	}
	delete(c, tokenEnd)
	if life := time.Until(t.Expiry); life > 0 { // zero or negative: some servers' way to name none
		c[tokenEnd] = t.Expiry.Add(-min(early, life/2)).UTC().Format(time.RFC3339Nano)
	}
	return c
}

// Credentials returns a token as connections store it.
func Credentials(t *oauth2.Token) library.Credentials { return merge(nil, t) }

// through returns a context in which the oauth2 package sends its requests as parts of the call: it takes its client
// from there and nowhere else. Some servers repeat what they were sent: the secrets don't appear in an error's text.
func through(ctx context.Context, call resilience.Call, secrets ...string) context.Context {
	endpoint := resilience.Endpoint{Name: providers.TokenEndpoint,
		Reader: resilience.Reader{Explain: func(e *resilience.AnswerError) { explain(e, secrets) }}}
	client := *call.Client
	client.Transport = call.Transport(endpoint)
	return context.WithValue(ctx, oauth2.HTTPClient, &client)
}

// explain reads the error in the body of an answer of a token endpoint.
func explain(e *resilience.AnswerError, secrets []string) {
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if e.HTML || json.Unmarshal(e.Body, &body) != nil {
		body.Error, body.Description = "", ""
	}
	e.Code, e.Message = excerpt(body.Error, secrets), excerpt(body.Description, secrets)
	e.Meaning = meaning(e.Status, body.Error)
}

// tokenError returns the error of the oauth2 package as one of package resilience.
func tokenError(err error, secrets ...string) error {
	if re, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // an error inside a 2xx, or a redirect
		return &resilience.AnswerError{Endpoint: providers.TokenEndpoint, Status: re.Response.StatusCode,
			Code: excerpt(re.ErrorCode, secrets), Message: excerpt(re.ErrorDescription, secrets),
			Meaning: meaning(re.Response.StatusCode, re.ErrorCode)}
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		return e
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err // typed by the transport; the URL stays out of it
	}
	return &resilience.ContractError{Endpoint: providers.TokenEndpoint,
		What: excerpt(strings.TrimPrefix(err.Error(), "oauth2: "), secrets)}
}

// excerpt shortens a server's words, without the secrets that it may have repeated.
func excerpt(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, resilience.Secret(s).String())
		}
	}
	return resilience.Excerpt(text)
}

// meaning is TokenMeaning, with the two codes by which a server reports trouble of its own (RFC 6749, section
// 4.1.2.1), whatever their status.
func meaning(status int, code string) *resilience.Meaning {
	switch code {
	case "server_error":
		status = http.StatusInternalServerError
	case "temporarily_unavailable":
		status = http.StatusServiceUnavailable
	}
	m := resilience.TokenMeaning(status, code)
	return &m
}
