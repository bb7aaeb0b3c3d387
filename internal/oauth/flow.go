package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const authorizationPage = "authorization page"

// stateLife is how long a person has to consent at the provider.
const stateLife = 10 * time.Minute

var (
	// ErrState reports that the answer does not belong to a request of this browser, came too late, or came twice.
	ErrState = errors.New("this answer does not belong to a request that is still open")
	// ErrRefused reports that the person did not consent.
	ErrRefused = errors.New("the permission was not given")
)

// State is what is stored between Begin and Complete.
type State struct {
	ID         string // fingerprint of the state parameter
	Session    string // fingerprint of the browser's session
	User       int64
	Connection library.ConnectionID
	Verifier   string // PKCE; a secret; empty where the provider has a way of its own
	ReturnTo   string // path of the page that the person came from
	CreatedAt  time.Time
}

// StateStore keeps states.
type StateStore interface {
	SaveState(context.Context, State) error
	// TakeState returns the state with the ID, Session and User of asked and removes it, so that it serves once;
	// library.ErrNotFound if there is none. A state of another browser or person stays: a person who opens somebody's
	// link must not spend it.
	TakeState(ctx context.Context, asked State) (State, error)
}

// Flow asks people for their consent.
type Flow struct {
	states StateStore
	client *http.Client
}

// NewFlow returns a Flow that exchanges codes with client, which must be on a transport.Transport.
func NewFlow(states StateStore, client *http.Client) *Flow {
	return &Flow{states: states, client: client}
}

// Request is a person's request to connect a provider.
type Request struct {
	Provider *providers.Provider
	// Connection is the one to make or renew; empty for the first to the provider. Complete reads it from the state.
	Connection  library.ConnectionID
	User        int64
	Session     string // any text that identifies the browser's session
	RedirectURI string
	ReturnTo    string
	Further     []providers.Permission // permissions to ask for
}

// Begin returns the address at the provider that the person's browser has to open.
func (f *Flow) Begin(ctx context.Context, r Request) (string, error) {
	if !r.Provider.Registered() {
		settings, page := r.Provider.ToRegister()
		return "", &resilience.SettingError{Setting: settings[0], Problem: words.New("field.missing", "Page", page)}
	}
	state := rand.Text()
	s := State{ID: fingerprint(state), Session: fingerprint(r.Session), User: r.User,
		Connection: cmp.Or(r.Connection, library.ConnectionID(r.Provider.Name)),
		ReturnTo:   r.ReturnTo, CreatedAt: time.Now()}
	if r.Provider.OAuth != nil {
		s.Verifier = oauth2.GenerateVerifier()
	}
	if err := f.states.SaveState(ctx, s); err != nil {
		return "", err
	}
	if r.Provider.SignIn != nil {
		return r.Provider.SignIn.AuthURL(r.RedirectURI + "?" + url.Values{"state": {state}}.Encode())
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(s.Verifier)}
	for name, value := range r.Provider.OAuth.AuthParams {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	asked := config(r.Provider.OAuth, r.RedirectURI)
	for _, p := range r.Further {
		asked.Scopes = slices.Concat(asked.Scopes, r.Provider.OAuth.Further[p])
	}
	return asked.AuthCodeURL(state, options...), nil
}

// Grant is a new authorization. It has not been proved yet.
type Grant struct {
	Connection   library.ConnectionID // for which it was asked
	Credentials  library.Credentials
	AuthorizedAt time.Time
	ExpiresAt    time.Time // zero when it does not end by itself
	ReturnTo     string
}

// Complete turns the provider's answer, the query of the callback, into a Grant. It returns ErrState, ErrRefused, or
// the failure of the token endpoint. ReturnTo is set if the state was valid.
func (f *Flow) Complete(ctx context.Context, r Request, answer url.Values) (Grant, error) {
	s, err := f.states.TakeState(ctx, State{ID: fingerprint(answer.Get("state")), Session: fingerprint(r.Session),
		User: r.User})
	if errors.Is(err, library.ErrNotFound) {
		return Grant{}, ErrState
	}
	if err != nil {
		return Grant{}, err
	}
	if s.Connection.Provider() != r.Provider.Name || time.Since(s.CreatedAt) > stateLife {
		return Grant{}, ErrState
	}
	g := Grant{Connection: s.Connection, ReturnTo: s.ReturnTo}
	if r.Provider.SignIn != nil {
		err = f.signIn(ctx, r, answer, &g)
	} else {
		err = f.exchange(ctx, r, s, answer, &g)
	}
	return g, err
}

// call returns the call that completes a request, for which its person waits.
func (f *Flow) call(r Request) resilience.Call {
	return resilience.Call{Client: f.client, User: r.User, Provider: r.Provider.Name, Eager: true}
}

// signIn completes a provider's own way: there, no token means no consent.
func (f *Flow) signIn(ctx context.Context, r Request, answer url.Values, g *Grant) error {
	token := answer.Get(r.Provider.SignIn.Token)
	if token == "" {
		return ErrRefused
	}
	now := time.Now()
	credentials, err := r.Provider.SignIn.Exchange(ctx, f.call(r), token)
	if err != nil {
		return err
	}
	g.Credentials, g.AuthorizedAt = credentials, now
	return nil
}

// exchange completes the authorization code flow.
func (f *Flow) exchange(ctx context.Context, r Request, s State, answer url.Values, g *Grant) error {
	if code := answer.Get("error"); code != "" {
		if code == "access_denied" {
			return ErrRefused
		}
		return &resilience.AnswerError{Endpoint: authorizationPage, Status: http.StatusBadRequest,
			Code:    resilience.Excerpt(code),
			Message: resilience.Excerpt(answer.Get("error_description")), Meaning: meaning(http.StatusBadRequest, code)}
	}
	code := answer.Get("code")
	if code == "" {
		return &resilience.ContractError{Endpoint: authorizationPage, What: "neither a code nor an error"}
	}
	now, call := time.Now(), f.call(r)
	secrets := []string{code, s.Verifier, r.Provider.OAuth.ClientSecret}
	call.Effect = resilience.Read // a code that was taken before a server failed is refused then, which is no worse
	token, err := config(r.Provider.OAuth, r.RedirectURI).Exchange(through(ctx, call, secrets...), code,
		oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return tokenError(err, secrets...)
	}
	g.Credentials, g.AuthorizedAt = merge(nil, token), now
	if months := r.Provider.OAuth.Months; months > 0 {
		g.ExpiresAt = monthsAfter(now, months)
	}
	return nil
}

// monthsAfter returns the same day so many months later, or the last day of that month if it has no such day: half a
// year after 31 August is the end of February, not the beginning of March.
func monthsAfter(t time.Time, months int) time.Time {
	then := t.AddDate(0, months, 0)
	if then.Day() != t.Day() { // AddDate went on into the month after
		then = then.AddDate(0, 0, -then.Day())
	}
	return then
}

func config(o *providers.OAuth, redirect string) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if o.ClientSecret != "" {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: redirect, Scopes: o.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: o.AuthURL, TokenURL: o.TokenURL, AuthStyle: style}}
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
