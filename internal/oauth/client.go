package oauth

import (
	"context"
	"errors"
	"net/http"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// bearer adds a connection's access token to every request. If the provider refuses the token, it is renewed once and
// the request repeated once; a second refusal is the outcome.
type bearer struct {
	base  http.RoundTripper
	token func(ctx context.Context, stale string) (string, error)
}

// Authorize returns the call with a client that adds the connection's access token.
func (t *Tokens) Authorize(call resilience.Call, p *providers.Provider, c library.Connection) resilience.Call {
	return authorize(call, func(ctx context.Context, stale string) (string, error) {
		return t.Fresh(ctx, call, p, c, stale)
	})
}

// AuthorizeGrant is Authorize for an authorization that is not stored yet: its token cannot be renewed.
func AuthorizeGrant(call resilience.Call, credentials library.Credentials) resilience.Call {
	return authorize(call, func(_ context.Context, stale string) (string, error) {
		if stale != "" {
			return "", errNoRenewal
		}
		return credentials[accessToken], nil
	})
}

func authorize(call resilience.Call, token func(context.Context, string) (string, error)) resilience.Call {
	client := *call.Client
	client.Transport = &bearer{base: call.Client.Transport, token: token}
	call.Client = &client
	return call
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	again, err := resilience.RequestOf(req).Copies(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	token, err := b.token(ctx, "")
	if err != nil {
		return nil, err
	}
	out, err := again(nil)
	if err != nil {
		return nil, err
	}
	resp, err := b.send(out, token)
	if refused, ok := errors.AsType[*resilience.AnswerError](err); !ok || !refused.Unauthorized() {
		return resp, err
	}
	token, renewErr := b.token(ctx, token)
	if errors.Is(renewErr, errNoRenewal) {
		return nil, err
	}
	if renewErr != nil {
		return nil, renewErr
	}
	if out, err = again(err); err != nil {
		return nil, err
	}
	return b.send(out, token)
}

// send sends a request with a token.
func (b *bearer) send(req *http.Request, token string) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+token)
	return b.base.RoundTrip(req)
}
