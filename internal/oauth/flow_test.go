package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/clocktest"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

func request(p *providers.Provider) oauth.Request {
	return oauth.Request{Provider: p, User: user, Session: "alice's browser", RedirectURI: redirect,
		ReturnTo: "/connections"}
}

// begin sends somebody to the provider and returns the query they go there with.
func begin(t *testing.T, f *oauth.Flow, r oauth.Request) url.Values {
	t.Helper()
	to, err := f.Begin(t.Context(), r)
	require.NoError(t, err)
	u, err := url.Parse(to)
	require.NoError(t, err)
	return u.Query()
}

// consent is the provider's answer to somebody who agreed.
func consent(asked url.Values) url.Values {
	return url.Values{"state": {asked.Get("state")}, "code": {"the-code"}}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	up := answers(t, http.StatusOK, nil, "renewed.json")
	store := &memory{}
	f := oauth.NewFlow(store, onLoopback(t))
	r := request(provider(up.URL))
	asked := begin(t, f, r)

	state, challenge := asked.Get("state"), asked.Get("code_challenge")
	require.GreaterOrEqual(t, len(state), 26) // 128 bits and more
	require.Len(t, challenge, 43)
	for _, name := range []string{"state", "code_challenge"} {
		asked.Del(name)
	}
	require.Equal(t, url.Values{"response_type": {"code"}, "client_id": {"reprise"}, "redirect_uri": {redirect},
		"code_challenge_method": {"S256"},
		"scope":                 {"user-read-recently-played playlist-read-private"}, "show_dialog": {"true"}}, asked)

	before := time.Now()
	g, err := f.Complete(t.Context(), r, url.Values{"state": {state}, "code": {"the-code"}})
	require.NoError(t, err)
	require.Len(t, up.calls(), 1)
	form := up.calls()[0]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	require.Equal(t, challenge, base64.RawURLEncoding.EncodeToString(sum[:]))
	form.Del("code_verifier")
	require.Equal(t, url.Values{"grant_type": {"authorization_code"}, "code": {"the-code"},
		"redirect_uri": {redirect}, "client_id": {"reprise"}}, form)

	require.Equal(t, "access-2", g.Credentials["access_token"])
	require.Equal(t, "refresh-2", g.Credentials["refresh_token"])
	require.Equal(t, "/connections", g.ReturnTo)
	require.WithinRange(t, g.AuthorizedAt, before, time.Now())
	require.WithinRange(t, g.ExpiresAt, g.AuthorizedAt.AddDate(0, 6, -3), g.AuthorizedAt.AddDate(0, 6, 0))
}

// TestAPermissionEndsOnADayOfItsMonth: what is given on the last day of a month ends on the last day of a
// month, so that
// nobody reads a date on which it is over already.
func TestAPermissionEndsOnADayOfItsMonth(t *testing.T) {
	t.Parallel()
	text := golden(t, "renewed.json")
	for given, end := range map[string]string{"2000-01-15": "2000-07-15", "2000-08-28": "2001-02-28",
		"2000-08-31": "2001-02-28", "2000-10-31": "2001-04-30",
		"2003-08-30": "2004-02-29", "2000-12-31": "2001-06-30"} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				day, err := time.ParseInLocation(time.DateOnly, given, time.Local)
				require.NoError(t, err)
				time.Sleep(time.Until(day.Add(12 * time.Hour)))
				f := oauth.NewFlow(&memory{}, client(inMemory(
					func(*http.Request) (*http.Response, error) { return answer(text) })))
				r := request(provider("https://accounts.example/token"))
				g, err := f.Complete(t.Context(), r, consent(begin(t, f, r)))
				require.NoError(t, err)
				require.Equal(t, end, g.ExpiresAt.Format(time.DateOnly))
				require.Equal(t, 12, g.ExpiresAt.Hour())
			})
		})
	}
}

func TestConsentWithClientSecret(t *testing.T) {
	t.Parallel()
	var id, password string
	text := golden(t, "renewed.json")
	up := serves(t, func(w http.ResponseWriter, r *http.Request) {
		id, password, _ = r.BasicAuth()
		say(w, http.StatusOK, nil, text)
	})
	f := oauth.NewFlow(&memory{}, onLoopback(t))
	r := request(provider(up.URL))
	r.Provider.OAuth.ClientSecret, r.Provider.OAuth.Months = secret, 0
	g, err := f.Complete(t.Context(), r, consent(begin(t, f, r)))
	require.NoError(t, err)
	require.Equal(t, []string{"reprise", secret}, []string{id, password})
	require.NotContains(t, up.calls()[0], "client_secret")
	require.NotEmpty(t, up.calls()[0].Get("code_verifier"), "PKCE is for every client")
	require.Zero(t, g.ExpiresAt)
}

func TestEveryConsentHasItsOwnStateAndVerifier(t *testing.T) {
	t.Parallel()
	f := oauth.NewFlow(&memory{}, nil)
	r := request(provider(""))
	one, two := begin(t, f, r), begin(t, f, r)
	require.NotEqual(t, one.Get("state"), two.Get("state"))
	require.NotEqual(t, one.Get("code_challenge"), two.Get("code_challenge"))
}

func TestOnlyFingerprintsAreStored(t *testing.T) {
	t.Parallel()
	store := &memory{}
	asked := begin(t, oauth.NewFlow(store, nil), request(provider("")))
	require.Len(t, store.states, 1)
	for id, s := range store.states {
		require.Equal(t, id, s.ID)
		require.Len(t, s.ID, 64)
		require.Len(t, s.Session, 64)
		require.Equal(t, []any{user, library.ConnectionID("spotify"), "/connections"}, []any{s.User, s.Connection,
			s.ReturnTo})
		all := fmt.Sprintf("%+v", s)
		require.NotContains(t, all, asked.Get("state"))
		require.NotContains(t, all, "alice's browser")
	}
}

func TestStateBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*oauth.Request, url.Values){
		"another session": func(r *oauth.Request, _ url.Values) { r.Session = "mallory's browser" },
		"no session":      func(r *oauth.Request, _ url.Values) { r.Session = "" },
		"another user":    func(r *oauth.Request, _ url.Values) { r.User = 8 },
		"another provider": func(r *oauth.Request, _ url.Values) {
			other := *r.Provider
			other.Name = "youtube"
			r.Provider = &other
		},
		"forged": func(_ *oauth.Request, answer url.Values) {
			answer.Set("state",
				"MALLORYSMALLORYSMALLORYSMA")
		},
		"without state": func(_ *oauth.Request, answer url.Values) { answer.Del("state") },
		"forged refusal": func(_ *oauth.Request, answer url.Values) {
			answer.Set("state", "MALLORYSMALLORYSMALLORYSMA")
			answer.Set("error", "access_denied")
		},
		"another session's refusal": func(r *oauth.Request, answer url.Values) {
			r.Session = "mallory's browser"
			answer.Set("error", "access_denied")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			f := oauth.NewFlow(&memory{}, onLoopback(t))
			r := request(provider(up.URL))
			answer := consent(begin(t, f, r))
			forge(&r, answer)
			g, err := f.Complete(t.Context(), r, answer)
			require.ErrorIs(t, err, oauth.ErrState)
			require.Equal(t, oauth.Grant{}, g)
			require.Empty(t, up.calls(), "the code went to nobody")
		})
	}
}

// TestASetClockSpendsNoCode: a consent that is under way when the clock is put back still counts. One that looks hours
// old doesn't, and the person begins again.
func TestASetClockSpendsNoCode(t *testing.T) {
	t.Parallel()
	for name, d := range clocktest.Moves {
		up, m := answers(t, http.StatusOK, nil, "renewed.json"), &memory{}
		f := oauth.NewFlow(m, onLoopback(t))
		r := request(provider(up.URL))
		asked := begin(t, f, r)
		for id, s := range m.states { // as it is read from the database
			s.CreatedAt = s.CreatedAt.Round(0).Add(-d)
			m.states[id] = s
		}
		_, err := f.Complete(t.Context(), r, consent(asked))
		if d > 0 {
			require.ErrorIs(t, err, oauth.ErrState, name)
			_, err = f.Complete(t.Context(), r, consent(begin(t, f, r)))
		}
		require.NoError(t, err, name)
	}
}

// TestAStrangerSpendsNoState has somebody else's browser open the link with the answer first.
func TestAStrangerSpendsNoState(t *testing.T) {
	t.Parallel()
	for name, stranger := range map[string]func(*oauth.Request, url.Values){
		"another session": func(r *oauth.Request, _ url.Values) { r.Session = "mallory's browser" },
		"no session":      func(r *oauth.Request, _ url.Values) { r.Session = "" },
		"another person":  func(r *oauth.Request, _ url.Values) { r.User = 8 },
		"another session's refusal": func(r *oauth.Request, answer url.Values) {
			r.Session = "mallory's browser"
			answer.Set("error", "access_denied")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			f := oauth.NewFlow(&memory{}, onLoopback(t))
			r := request(provider(up.URL))
			asked := begin(t, f, r)
			theirs, answer := r, consent(asked)
			stranger(&theirs, answer)
			_, err := f.Complete(t.Context(), theirs, answer)
			require.ErrorIs(t, err, oauth.ErrState)
			g, err := f.Complete(t.Context(), r, consent(asked))
			require.NoError(t, err, "the rightful browser goes on")
			require.Equal(t, "access-2", g.Credentials["access_token"])
			require.Len(t, up.calls(), 1)
		})
	}
}

func TestStateServesOnce(t *testing.T) {
	t.Parallel()
	up := answers(t, http.StatusOK, nil, "renewed.json")
	f := oauth.NewFlow(&memory{}, onLoopback(t))
	r := request(provider(up.URL))
	answer := consent(begin(t, f, r))
	var good, refused atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch _, err := f.Complete(t.Context(), r, answer); {
			case err == nil:
				good.Add(1)
			case errors.Is(err, oauth.ErrState):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{1, 19}, []int64{good.Load(), refused.Load()})
	require.Len(t, up.calls(), 1)
}

func TestStateServesTenMinutes(t *testing.T) {
	t.Parallel()
	text := golden(t, "renewed.json")
	for _, tt := range []struct {
		after time.Duration
		want  error
	}{{0, nil}, {10 * time.Minute, nil}, {10*time.Minute + time.Millisecond, oauth.ErrState}, {24 * time.Hour,
		oauth.ErrState}} {
		t.Run(tt.after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := oauth.NewFlow(&memory{}, client(inMemory(
					func(*http.Request) (*http.Response, error) { return answer(text) })))
				r := request(provider("https://accounts.example/token"))
				given := consent(begin(t, f, r))
				time.Sleep(tt.after)
				_, err := f.Complete(t.Context(), r, given)
				require.ErrorIs(t, err, tt.want)
			})
		})
	}
}

func TestConsentRefused(t *testing.T) {
	t.Parallel()
	up := answers(t, http.StatusOK, nil, "renewed.json")
	f := oauth.NewFlow(&memory{}, onLoopback(t))
	r := request(provider(up.URL))
	answer := url.Values{"state": {begin(t, f, r).Get("state")}, "error": {"access_denied"}}
	g, err := f.Complete(t.Context(), r, answer)
	require.ErrorIs(t, err, oauth.ErrRefused)
	require.Equal(t, oauth.Grant{Connection: "spotify", ReturnTo: "/connections"}, g)
	_, err = f.Complete(t.Context(), r, answer)
	require.ErrorIs(t, err, oauth.ErrState, "a refusal uses the state up")
	require.Empty(t, up.calls())
}

func TestAuthorizationPageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		answer   url.Values
		class    resilience.Class
		category resilience.Category
		scope    resilience.Scope
	}{
		{"invalid_scope", nil, resilience.Fatal, resilience.Config, resilience.ScopeApp},
		{"invalid_request", nil, resilience.Fatal, resilience.Config, resilience.ScopeApp},
		{"unauthorized_client", nil, resilience.Fatal, resilience.Config, resilience.ScopeApp},
		{"unsupported_response_type", nil, resilience.Fatal, resilience.Config, resilience.ScopeApp},
		{"server_error", nil, resilience.Retriable, resilience.Upstream, resilience.ScopeConnection},
		{"temporarily_unavailable", nil, resilience.Retriable, resilience.Upstream, resilience.ScopeConnection},
		{"no code and no error", url.Values{}, resilience.Retriable, resilience.Contract, resilience.ScopeStream},
		{"empty code", url.Values{"code": {""}}, resilience.Retriable, resilience.Contract, resilience.ScopeStream},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			f := oauth.NewFlow(&memory{}, onLoopback(t))
			r := request(provider(up.URL))
			asked := begin(t, f, r)
			if tt.answer == nil {
				tt.answer = url.Values{"error": {tt.name}, "error_description": {"in the provider's words"}}
			}
			tt.answer.Set("state", asked.Get("state"))
			g, err := f.Complete(t.Context(), r, tt.answer)
			requireMeans(t, tt.class, tt.category, tt.scope, err)
			require.Equal(t, oauth.Grant{Connection: "spotify", ReturnTo: "/connections"}, g)
			require.Empty(t, up.calls())
			if tt.answer.Has("error") {
				require.ErrorContains(t, err, tt.name)
				require.ErrorContains(t, err, "in the provider's words")
			}
		})
	}
}

func TestCodeRefused(t *testing.T) {
	t.Parallel()
	var verifier string
	up := serves(t, func(w http.ResponseWriter, r *http.Request) {
		verifier = r.PostFormValue("code_verifier")
		say(w, http.StatusBadRequest, nil, fmt.Sprintf(
			`{"error":"invalid_grant","error_description":"code %s with %s and %s: Invalid authorization code"}`,
			r.PostFormValue("code"), verifier, secret))
	})
	f := oauth.NewFlow(&memory{}, onLoopback(t))
	r := request(provider(up.URL))
	r.Provider.OAuth.ClientSecret = secret
	g, err := f.Complete(t.Context(), r, consent(begin(t, f, r)))
	requireMeans(t, resilience.Fatal, resilience.Auth, resilience.ScopeConnection, err)
	require.Equal(t, oauth.Grant{Connection: "spotify", ReturnTo: "/connections"}, g)
	require.ErrorContains(t, err, "Invalid authorization code")
	require.NotEmpty(t, verifier)
	requireNoSecret(t, err, "the-code", verifier, secret)
}

func TestMissingClientID(t *testing.T) {
	t.Parallel()
	store := &memory{}
	r := request(provider(""))
	r.Provider.OAuth.ClientID = ""
	to, err := oauth.NewFlow(store, nil).Begin(t.Context(), r)
	missing, ok := errors.AsType[*resilience.SettingError](err)
	require.True(t, ok)
	require.Equal(t, "providers.spotify.client_id", missing.Setting)
	require.Equal(t, "It's missing. You get it at https://spotify.example/apps.", missing.Problem.String())
	require.Empty(t, to)
	require.Empty(t, store.states)
}

func TestStateStoreBroken(t *testing.T) {
	t.Parallel()
	full := &resilience.LocalError{Problem: words.Plain("The disk is full."), Err: errors.New("disk full")}
	store := &memory{}
	f := oauth.NewFlow(store, nil)
	r := request(provider(""))
	answer := consent(begin(t, f, r))
	store.set(nil, full)
	to, err := f.Begin(t.Context(), r)
	require.ErrorIs(t, err, full)
	require.Empty(t, to, "nobody is sent away who could not come back")
	_, err = f.Complete(t.Context(), r, answer)
	require.ErrorIs(t, err, full)
	require.NotErrorIs(t, err, oauth.ErrState)
}
