package oauth

import (
	"context"
	"errors"
	"io"
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

// Client returns a client that calls the provider for the connection, on the transport of base.
func (t *Tokens) Client(base *http.Client, p *providers.Provider, c library.Connection) *http.Client {
	client := *base
	client.Transport = &bearer{base: base.Transport, token: func(ctx context.Context, stale string) (string, error) {
		return t.Fresh(ctx, p, c, stale)
	}}
	return &client
}

// GrantClient is Client for an authorization that is not stored yet: its token cannot be renewed.
func GrantClient(base *http.Client, credentials library.Credentials) *http.Client {
	client := *base
	client.Transport = &bearer{base: base.Transport, token: func(_ context.Context, stale string) (string, error) {
		if stale != "" {
			return "", errNoRenewal
		}
		return credentials[accessToken], nil
	}}
	return &client
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := resilience.Replay(req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	token, err := b.token(ctx, "")
	if err != nil {
		return nil, err
	}
	resp, err := b.send(ctx, req, body, token)
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
	return b.send(resilience.OnceMore(ctx, err), req, body, token)
}

func (b *bearer) send(
	ctx context.Context, req *http.Request, body func() (io.ReadCloser, error), token string,
) (*http.Response, error) {
	out := req.Clone(ctx)
	if body != nil {
		var err error
		if out.Body, err = body(); err != nil {
			return nil, err
		}
		out.GetBody = body
	}
	out.Header.Set("Authorization", "Bearer "+token)
	return b.base.RoundTrip(out)
}
