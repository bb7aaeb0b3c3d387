package oauth_test

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const lastfmRedirect = "http://127.0.0.1:8420/connect/lastfm/callback"

// ownWay is a provider with a way of its own, and how many tokens were exchanged there.
type ownWay struct {
	*providers.Provider
	exchanged atomic.Int64
	failure   error
}

func newOwnWay() *ownWay {
	w := &ownWay{}
	w.Provider = &providers.Provider{Description: providers.Description{Name: "lastfm", DisplayName: "Last.fm",
		Settings:     []providers.Setting{{Name: "client_id", Required: true}, {Name: "client_secret", Required: true}},
		Registration: &providers.Registration{Page: "https://last.example/api"}}}
	w.Provider.SignIn = &providers.SignIn{
		AuthURL: func(callback string) (string, error) {
			return "https://last.example/auth?" + url.Values{"key": {"k"}, "cb": {callback}}.Encode(), nil
		},
		Token: "token",
		Exchange: func(_ context.Context, _ resilience.Call, token string) (library.Credentials, error) {
			w.exchanged.Add(1)
			if w.failure != nil {
				return nil, w.failure
			}
			return library.Credentials{"session_key": "key for " + token}, nil
		},
		Ready: true,
	}
	return w
}

func (w *ownWay) request() oauth.Request {
	return oauth.Request{Provider: w.Provider, User: user, Session: "alice's browser", RedirectURI: lastfmRedirect,
		ReturnTo: "/connections"}
}

// comesBack sends somebody to the provider's page and returns the query with which they come back, without a token.
func comesBack(t *testing.T, f *oauth.Flow, r oauth.Request) url.Values {
	t.Helper()
	cb, err := url.Parse(begin(t, f, r).Get("cb"))
	require.NoError(t, err)
	answer := cb.Query()
	cb.RawQuery = ""
	require.Equal(t, lastfmRedirect, cb.String())
	require.GreaterOrEqual(t, len(answer.Get("state")), 26) // 128 bits and more
	return answer
}

func TestSignInOfAProvidersOwn(t *testing.T) {
	t.Parallel()
	w := newOwnWay()
	f := oauth.NewFlow(&memory{}, nil)
	answer := comesBack(t, f, w.request())
	answer.Set("token", "the-token")
	before := time.Now()
	g, err := f.Complete(t.Context(), w.request(), answer)
	require.NoError(t, err)
	require.Equal(t, library.Credentials{"session_key": "key for the-token"}, g.Credentials)
	require.Equal(t, "/connections", g.ReturnTo)
	require.WithinRange(t, g.AuthorizedAt, before, time.Now())
	require.Zero(t, g.ExpiresAt, "it lasts until it is taken back")
	_, err = f.Complete(t.Context(), w.request(), answer)
	require.ErrorIs(t, err, oauth.ErrState, "the state serves once")
	require.EqualValues(t, 1, w.exchanged.Load())
}

func TestSignInBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*oauth.Request, url.Values){
		"another session": func(r *oauth.Request, _ url.Values) { r.Session = "mallory's browser" },
		"another user":    func(r *oauth.Request, _ url.Values) { r.User = 8 },
		"another provider": func(r *oauth.Request, _ url.Values) {
			other := *r.Provider
			other.Name = "librefm"
			r.Provider = &other
		},
		"forged": func(_ *oauth.Request, answer url.Values) {
			answer.Set("state",
				"MALLORYSMALLORYSMALLORYSMA")
		},
		"without state": func(_ *oauth.Request, answer url.Values) { answer.Del("state") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOwnWay()
			f := oauth.NewFlow(&memory{}, nil)
			r := w.request()
			answer := comesBack(t, f, r)
			answer.Set("token", "mallory's token")
			forge(&r, answer)
			g, err := f.Complete(t.Context(), r, answer)
			require.ErrorIs(t, err, oauth.ErrState)
			require.Equal(t, oauth.Grant{}, g)
			require.Zero(t, w.exchanged.Load(), "somebody else's token is not taken")
		})
	}
}

func TestSignInServesTenMinutes(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]error{10 * time.Minute: nil, 10*time.Minute +
		time.Millisecond: oauth.ErrState} {
		synctest.Test(t, func(t *testing.T) {
			w := newOwnWay()
			f := oauth.NewFlow(&memory{}, nil)
			answer := comesBack(t, f, w.request())
			answer.Set("token", "the-token")
			time.Sleep(after)
			_, err := f.Complete(t.Context(), w.request(), answer)
			require.ErrorIs(t, err, want)
		})
	}
}

func TestSignInRefused(t *testing.T) {
	t.Parallel()
	w := newOwnWay()
	f := oauth.NewFlow(&memory{}, nil)
	g, err := f.Complete(t.Context(), w.request(), comesBack(t, f, w.request()))
	require.ErrorIs(t, err, oauth.ErrRefused, "back without a token")
	require.Equal(t, oauth.Grant{Connection: "lastfm", ReturnTo: "/connections"}, g)
	require.Zero(t, w.exchanged.Load())

	w.failure = errors.New("not now")
	answer := comesBack(t, f, w.request())
	answer.Set("token", "the-token")
	g, err = f.Complete(t.Context(), w.request(), answer)
	require.ErrorIs(t, err, w.failure)
	require.Equal(t, oauth.Grant{Connection: "lastfm", ReturnTo: "/connections"}, g)
}

func TestSignInWithoutItsSettings(t *testing.T) {
	t.Parallel()
	w := newOwnWay()
	w.SignIn.Ready = false
	store := &memory{}
	to, err := oauth.NewFlow(store, nil).Begin(t.Context(), w.request())
	missing, ok := errors.AsType[*resilience.SettingError](err)
	require.True(t, ok)
	require.Equal(t, "providers.lastfm.client_id", missing.Setting)
	require.Equal(t, "It's missing. You get it at https://last.example/api.", missing.Problem.String())
	require.Empty(t, to)
	require.Empty(t, store.states)
}
