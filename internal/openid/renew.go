package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/resilience"
)

// ErrOver says that an issuer doesn't vouch for somebody any more.
var ErrOver = errors.New("the issuer doesn't vouch for this person any more")

// ErrOther says that an answer is about another subject.
var ErrOther = errors.New("another subject")

// over are the refusals that are about somebody, and not about this client or a bad moment (RFC 6749, section 5.2, and
// OpenID Connect Core, section 3.1.2.6).
var over = []string{"invalid_grant", "access_denied", "login_required", "consent_required", "interaction_required",
	"account_selection_required"}

// Renew asks whether an issuer still vouches for somebody, and what it says of them now. keep stores the grant for the
// next question, before anything else is asked. Claims that are not Grouped say nothing about groups. The error is
// ErrOver, also ErrOther where it's because of another subject, ErrOff for a grant of another issuer or client,
// ErrBroken, a RefusedError, a DownError, or keep's.
func (i *Issuer) Renew(ctx context.Context, g accounts.Grant, keep func(accounts.Grant) error) (c Claims, err error) {
	ctx, cancel := i.asking(ctx)
	defer cancel()
	at, s, err := i.find(ctx)
	if err != nil {
		return c, err
	}
	if g.Issuer != s.Issuer || g.ClientID != s.ClientID {
		return c, ErrOff
	}
	token, err := at.flow(s, "").TokenSource(ctx, &oauth2.Token{RefreshToken: g.Token, Expiry: time.Unix(1, 0)}).Token()
	if refused := refusal(err); refused != nil && slices.Contains(over, refused.Code) {
		return c, fmt.Errorf("%w: %w", ErrOver, refused)
	} else if refused != nil {
		return c, refused
	}
	if err != nil {
		return c, &DownError{hostOf(s.Issuer), err}
	}
	if token.RefreshToken != g.Token {
		g.Token = token.RefreshToken
		if err := keep(g); err != nil {
			return c, err
		}
	}
	c = Claims{Issuer: g.Issuer, Subject: g.Subject, All: map[string]any{}}
	if raw, whole := token.Extra("id_token").(string); whole {
		var nonce string
		if c, nonce, err = at.signed(ctx, s, token, raw); err != nil {
			return Claims{}, err
		}
		if nonce != "" && subtle.ConstantTimeCompare([]byte(nonce), []byte(g.Nonce)) != 1 {
			return Claims{}, fmt.Errorf("%w: another nonce", ErrBroken)
		}
		if c.Subject != g.Subject {
			return Claims{}, fmt.Errorf("%w: %w", ErrOver, ErrOther)
		}
	}
	_, err = at.more(ctx, s, token, &c)
	status := 0
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		status = e.Status
	}
	switch {
	case errors.Is(err, ErrOther):
		return Claims{}, fmt.Errorf("%w: %w", ErrOver, ErrOther)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Claims{}, fmt.Errorf("%w: UserInfo answered with %d", ErrOver, status)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests: // about this person, too
		return Claims{}, fmt.Errorf("UserInfo answered with %d", status)
	case err != nil:
		return Claims{}, err
	}
	c.Grouped = c.Grouped || g.Told // some leave the claim out where it's empty; a later ID token may anyway
	return c, nil
}
