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
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// The names under which a token stands in providers.Credentials.
const (
	accessToken  = "access_token"
	refreshToken = "refresh_token"
	tokenEnd     = "token_end" // RFC 3339; absent when the provider names none
)

// early is how long before its end an access token is renewed.
const early = time.Minute

// CredentialStore keeps connections' credentials.
type CredentialStore interface {
	Connection(ctx context.Context, user int64, provider string) (providers.Connection, error)
	// SaveCredentials returns providers.ErrNotFound when the connection has moved on to another generation.
	SaveCredentials(context.Context, providers.Connection) error
}

// Tokens hands out access tokens.
type Tokens struct {
	store  CredentialStore
	client *http.Client // for the token endpoint
	flight singleflight.Group
}

// NewTokens returns Tokens over a store.
func NewTokens(store CredentialStore, client *http.Client) *Tokens {
	return &Tokens{store: store, client: client}
}

// Fresh returns an access token for the connection, renewed once for all who ask. stale is a token that the provider
// has refused; empty when there is none.
func (t *Tokens) Fresh(ctx context.Context, p *providers.Provider, c providers.Connection, stale string) (string, error) {
	if usable(c.Credentials, stale) {
		return c.Credentials[accessToken], nil
	}
	result, err, _ := t.flight.Do(fmt.Sprintf("%d/%s/%d", c.User, c.Provider, c.Generation), func() (any, error) {
		// The caller's end must not cut off a renewal: a rotated token that nobody stored is lost. The transport
		// bounds how long it takes.
		return t.renew(context.WithoutCancel(ctx), p, c, stale)
	})
	if err != nil {
		return "", err
	}
	return result.(string), nil
}

func (t *Tokens) renew(ctx context.Context, p *providers.Provider, c providers.Connection, stale string) (string, error) {
	now, err := t.store.Connection(ctx, c.User, c.Provider)
	if err != nil {
		return "", err
	}
	if now.Generation == c.Generation && usable(now.Credentials, stale) {
		return now.Credentials[accessToken], nil // somebody was faster
	}
	if now.Generation == c.Generation {
		c.Credentials = now.Credentials
	}
	ctx = tokenContext(ctx, t.client)
	token, err := config(p.OAuth, "").TokenSource(ctx, &oauth2.Token{RefreshToken: c.Credentials[refreshToken]}).Token()
	if err != nil {
		return "", tokenError(ctx, err)
	}
	c.Credentials = merge(c.Credentials, token)
	if err := t.store.SaveCredentials(ctx, c); err != nil && !errors.Is(err, providers.ErrNotFound) {
		return "", fmt.Errorf("store renewed token: %w", err)
	}
	return token.AccessToken, nil
}

func usable(c providers.Credentials, stale string) bool {
	if c[accessToken] == "" || c[accessToken] == stale {
		return false
	}
	end, err := time.Parse(time.RFC3339, c[tokenEnd])
	return err != nil || time.Until(end) > early
}

// merge puts a token into credentials. A provider that sends no new refresh token means the old one to go on.
func merge(old providers.Credentials, t *oauth2.Token) providers.Credentials {
	c := maps.Clone(old)
	if c == nil {
		c = providers.Credentials{}
	}
	c[accessToken] = t.AccessToken
	if t.RefreshToken != "" {
		c[refreshToken] = t.RefreshToken
	}
	delete(c, tokenEnd)
	if !t.Expiry.IsZero() {
		c[tokenEnd] = t.Expiry.UTC().Format(time.RFC3339)
	}
	return c
}

// Credentials are a token as connections keep it.
func Credentials(t *oauth2.Token) providers.Credentials { return merge(nil, t) }

const tokenEndpoint = "POST token endpoint"

func tokenContext(ctx context.Context, client *http.Client) context.Context {
	return context.WithValue(resilience.WithEndpoint(ctx, tokenEndpoint), oauth2.HTTPClient, client)
}

// tokenError gives what the oauth2 package returns the type that says what it means.
func tokenError(ctx context.Context, err error) error {
	if re, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // an error inside a 2xx
		m := resilience.TokenMeaning(re.Response.StatusCode, re.ErrorCode)
		return &resilience.AnswerError{Endpoint: tokenEndpoint, Status: re.Response.StatusCode, Code: re.ErrorCode,
			Message: resilience.Excerpt(re.ErrorDescription), Meaning: &m}
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		var body struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}
		if !e.HTML && json.Unmarshal(e.Body, &body) == nil {
			e.Code, e.Message = resilience.Excerpt(body.Error), resilience.Excerpt(body.Description)
		}
		m := resilience.TokenMeaning(e.Status, e.Code)
		e.Meaning = &m
		return e
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err // typed by the transport; the URL stays out of it
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &resilience.ContractError{Endpoint: tokenEndpoint, What: resilience.Excerpt(strings.TrimPrefix(err.Error(), "oauth2: "))}
}
