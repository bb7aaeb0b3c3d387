// Package openid asks an issuer of OpenID Connect who somebody is: the authorization code flow with PKCE, where state
// and nonce are used once, by the browser that began. It keeps nothing but what the issuer says of itself.
package openid

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/config"
	"reprise/internal/resilience"
)

var (
	// ErrOff says that no issuer is set up.
	ErrOff = errors.New("there is no issuer")
	// ErrStale says that an answer comes too late, twice, or to a browser that has not begun.
	ErrStale = errors.New("nobody has begun this, or too long ago")
	// ErrBroken says that an answer does not fit to what was begun: it is forged, or a clock is wrong.
	ErrBroken = errors.New("the answer of the issuer does not fit")
)

// DownError says that an issuer can't be asked, or answers nonsense.
type DownError struct {
	Host string
	Err  error
}

func (e *DownError) Error() string { return e.Host + " cannot be asked: " + e.Err.Error() }
func (e *DownError) Unwrap() error { return e.Err }

// RefusedError is what an issuer says in place of who somebody is: a code of RFC 6749 or of OpenID Connect, and perhaps
// its own words, which nobody should trust.
type RefusedError struct{ Code, Text string }

func (e *RefusedError) Error() string { return "the issuer refused: " + e.Code }

const (
	// askWithin is how long an issuer may take to answer each question.
	askWithin = 15 * time.Second
	// lookAgain is after how long the issuer is asked again what it says of itself.
	lookAgain = 6 * time.Hour
	// upFor is how long an issuer that has answered counts as up: before people are sent there later than that, it is
	// asked once more, and has upWithin to answer.
	upFor    = time.Minute
	upWithin = 5 * time.Second
	// PendingFor is how long people may take at the issuer.
	PendingFor = 10 * time.Minute
)

// Pending is what the browser of somebody who is at the issuer has to come back with. It stays in the server's session.
type Pending struct {
	State, Nonce, Verifier string
	Issuer, ClientID       string // as they were when it was begun
	Until                  time.Time
	Again                  bool // whether the issuer had to ask somebody who is signed in there, too
}

// begun is when somebody went to the issuer, less what two clocks may differ.
func (p Pending) begun() time.Time { return p.Until.Add(-PendingFor - 2*time.Minute) }

// Issuer is where people sign in. It is safe for concurrent use.
type Issuer struct {
	Slot   string // its place among the settings and in addresses: one of config.Slots
	client *http.Client

	mu    sync.Mutex
	now   config.Issuer
	found *found // what the issuer said of itself; nil before it was asked
}

// found is an issuer that was asked.
type found struct {
	*oidc.Provider
	at     time.Time // when it said so
	tried  time.Time // when it was asked last
	signOf string    // where sessions end; empty if it offers that nowhere
	named  bool      // its answers name it (RFC 9207)
	posts  bool      // it takes a client's secret in the body only
}

// configure changes the settings. Who is at the issuer meanwhile has to begin again.
func (i *Issuer) configure(s config.Issuer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.Issuer != i.now.Issuer {
		i.found = nil
	}
	i.now = s
}

// Settings returns the settings.
func (i *Issuer) Settings() config.Issuer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// Called returns what people call the issuer; empty without one.
func (i *Issuer) Called() string {
	s := i.Settings()
	return cmp.Or(s.Button, hostOf(s.Issuer))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// find returns the issuer of the settings, with them. It asks once, and again after a while; what the issuer said
// before is better than nothing.
func (i *Issuer) find(ctx context.Context) (*found, config.Issuer, error) {
	s, at := i.known()
	if at != nil && time.Since(at.tried) < lookAgain {
		return at, s, nil
	}
	now, err := ask(ctx, s)
	if _, down := errors.AsType[*DownError](err); down && at != nil {
		old := *at
		old.tried, now, err = time.Now(), &old, nil
	}
	if err != nil {
		return nil, s, err
	}
	i.keep(s, now)
	return now, s, nil
}

// findUp is find for those who send people to the issuer: it has to have answered a moment ago.
func (i *Issuer) findUp(ctx context.Context) (*found, config.Issuer, error) {
	s, at := i.known()
	if at != nil && time.Since(at.at) < upFor {
		return at, s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	at, err := ask(ctx, s)
	if err != nil {
		return nil, s, err
	}
	i.keep(s, at)
	return at, s, nil
}

// known returns the settings, and what was found with them; nil for nothing, or if the issuer is off.
func (i *Issuer) known() (config.Issuer, *found) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.now.On() {
		return i.now, nil
	}
	return i.now, i.found
}

// keep keeps what was found with settings, unless they have changed meanwhile.
func (i *Issuer) keep(s config.Issuer, at *found) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now.Issuer == s.Issuer {
		i.found = at
	}
}

// ask asks an issuer what it says of itself. The error is ErrOff or a DownError.
func ask(ctx context.Context, s config.Issuer) (*found, error) {
	if !s.On() {
		return nil, ErrOff
	}
	p, err := oidc.NewProvider(ctx, s.Issuer)
	if err != nil {
		return nil, &DownError{hostOf(s.Issuer), err}
	}
	var said struct {
		End   string `json:"end_session_endpoint"`
		Named bool   `json:"authorization_response_iss_parameter_supported"`
		// How a client shows its secret; client_secret_basic if it doesn't say.
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&said); err != nil {
		return nil, &DownError{hostOf(s.Issuer), err}
	}
	now := time.Now()
	return &found{Provider: p, at: now, tried: now, signOf: said.End, named: said.Named,
		posts: len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic")}, nil
}

// asking returns a context in which the issuer is asked.
func (i *Issuer) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(ctx, i.client), askWithin)
}

func (f *found) flow(s config.Issuer, back string) *oauth2.Config {
	at := f.Endpoint()
	if at.AuthStyle = oauth2.AuthStyleInHeader; f.posts || s.ClientSecret == "" {
		at.AuthStyle = oauth2.AuthStyleInParams // a guess would use up the code
	}
	return &oauth2.Config{ClientID: s.ClientID, ClientSecret: string(s.ClientSecret), Endpoint: at,
		RedirectURL: back, Scopes: s.Scopes}
}

// Begin returns the address at the issuer to which a browser goes, and what it has to come back with, to back. again
// has the issuer ask somebody who is signed in there, too. The error is ErrOff or a DownError: the browser would only
// say that it can't reach the issuer.
func (i *Issuer) Begin(ctx context.Context, back string, again bool) (to string, p Pending, err error) {
	ctx, cancel := i.asking(ctx)
	defer cancel()
	at, s, err := i.findUp(ctx)
	if err != nil {
		return "", p, err
	}
	p = Pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Issuer: s.Issuer,
		ClientID: s.ClientID, Until: time.Now().Add(PendingFor), Again: again}
	options := []oauth2.AuthCodeOption{oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier)}
	if again {
		// max_age has the issuer say when somebody was asked. 0 would say the same as the prompt, but some refuse it.
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"),
			oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(PendingFor.Seconds()))))
	}
	return at.flow(s, back).AuthCodeURL(p.State, options...), p, nil
}

// Finish returns who came back with an answer of the issuer. The error is ErrOff, ErrStale, ErrBroken, a RefusedError
// or a DownError.
func (i *Issuer) Finish(ctx context.Context, back string, p Pending, answer url.Values) (c Claims, err error) {
	if subtle.ConstantTimeCompare([]byte(p.State), []byte(answer.Get("state"))) != 1 || p.State == "" ||
		time.Now().After(p.Until) {
		return c, ErrStale
	}
	ctx, cancel := i.asking(ctx)
	defer cancel()
	at, s, err := i.find(ctx)
	if err != nil {
		return c, err
	}
	if p.Issuer != s.Issuer || p.ClientID != s.ClientID { // the settings have changed meanwhile
		return c, ErrStale
	}
	if from := answer.Get("iss"); from != s.Issuer && (from != "" || at.named) { // another issuer's answer
		return c, ErrBroken
	}
	if code := answer.Get("error"); code != "" {
		return c, &RefusedError{code, answer.Get("error_description")}
	}
	token, err := at.flow(s, back).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(p.Verifier))
	if refused := refusal(err); refused != nil {
		return c, refused
	}
	if err != nil {
		return c, &DownError{hostOf(s.Issuer), err}
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return c, fmt.Errorf("%w: there is no ID token", ErrBroken)
	}
	c, nonce, err := at.signed(ctx, s, token, raw)
	asked, told := justAsked(c.All), false
	switch {
	case err != nil:
	case subtle.ConstantTimeCompare([]byte(nonce), []byte(p.Nonce)) != 1:
		err = fmt.Errorf("%w: another nonce", ErrBroken)
	case p.Again && askedBefore(c.All, p.begun()):
		err = fmt.Errorf("%w: nobody was asked", ErrBroken)
	default:
		told, err = at.more(ctx, s, token, &c)
	}
	if err != nil {
		return Claims{}, err
	}
	c.Asked = p.Again || asked
	if s.Rechecks() && token.RefreshToken != "" {
		c.Grant = accounts.Grant{Issuer: s.Issuer, ClientID: s.ClientID, Subject: c.Subject, Nonce: p.Nonce,
			Token: token.RefreshToken, Told: told}
	}
	return c, nil
}

// refusal returns what an issuer says in an answer that is no success; nil if that is nothing of OAuth.
func refusal(err error) *RefusedError {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	if !ok || e.Status < 400 || e.Status >= 500 || e.Status == http.StatusTooManyRequests {
		return nil
	}
	var said struct {
		Code string `json:"error"`
		Text string `json:"error_description"`
	}
	if json.Unmarshal(e.Body, &said) != nil || said.Code == "" {
		return nil
	}
	return &RefusedError{said.Code, said.Text}
}

// SignOut returns where somebody's session at the issuer ends, so that the browser comes back to back; empty if it
// offers that nowhere, or is down.
func (i *Issuer) SignOut(ctx context.Context, token, back string) string {
	ctx, cancel := i.asking(ctx)
	defer cancel()
	at, s, err := i.findUp(ctx)
	if err != nil || at.signOf == "" {
		return ""
	}
	to, err := url.Parse(at.signOf)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		return ""
	}
	q := to.Query()
	q.Set("client_id", s.ClientID)
	q.Set("post_logout_redirect_uri", back)
	if token != "" {
		q.Set("id_token_hint", token)
	}
	to.RawQuery = q.Encode()
	return to.String()
}

// SignedOut is what an issuer tells when somebody signed out there: who, or which of their sessions, or both.
type SignedOut struct{ Issuer, Subject, Session string }

// SignedOut reads what an issuer sends through the back channel. The error is ErrOff, ErrBroken or a DownError.
func (i *Issuer) SignedOut(ctx context.Context, token string) (out SignedOut, err error) {
	ctx, cancel := i.asking(ctx)
	defer cancel()
	at, s, err := i.find(ctx)
	if err != nil {
		return out, err
	}
	said, err := at.Verifier(&oidc.Config{ClientID: s.ClientID}).VerifyLogout(ctx, token)
	if err != nil {
		return out, errors.Join(ErrBroken, err)
	}
	return SignedOut{said.Issuer, said.Subject, said.SessionID}, nil
}
