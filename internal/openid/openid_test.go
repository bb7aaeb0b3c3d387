package openid_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/openid"
	"reprise/internal/openid/openidtest"
	"reprise/internal/resilience/transport"
)

const back = "https://music.example.org/sign-in/oidc/callback"

// of returns a client of an issuer that asks as the program does.
func of(far *openidtest.Issuer) *openid.Issuers {
	client := transport.NewClient(&transport.Transport{Base: http.DefaultTransport, Log: slog.New(slog.DiscardHandler)})
	return openid.New(client, settingsOf(far))
}

func settingsOf(far *openidtest.Issuer) config.OpenID {
	return config.OpenID{Issuers: [3]config.Issuer{{Issuer: far.URL, ClientID: openidtest.ClientID,
		ClientSecret: openidtest.Secret, Scopes: []string{"openid", "profile"}, GroupsClaim: "groups"}}}
}

// visit returns what comes of a whole visit at the issuer.
func visit(t *testing.T, far *openidtest.Issuer, change func(*openid.Pending, url.Values)) (openid.Claims, error) {
	t.Helper()
	i := of(far).At("oidc")
	to, pending, err := i.Begin(t.Context(), back, false)
	require.NoError(t, err)
	came, err := url.Parse(far.Allow(to))
	require.NoError(t, err)
	answer := came.Query()
	if change != nil {
		change(&pending, answer)
	}
	return i.Finish(t.Context(), back, pending, answer)
}

// What an issuer says may be in the ID token or where it tells more, and groups a list or a single text.
func TestClaimsMayBeAnywhere(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	far.Claims = map[string]any{"name": "Bea B.", "groups": []any{"music", 7, "admins"}, "sid": "one"}
	c, err := visit(t, far, nil)
	require.NoError(t, err)
	require.Equal(t, []any{far.URL, far.Subject, "Bea B.", "one"}, []any{c.Issuer, c.Subject, c.Name, c.Session})
	require.Equal(t, []string{"music", "admins"}, c.Groups)
	require.True(t, c.In("admins"))

	far.Claims, far.Info = nil, map[string]any{"preferred_username": "bea", "groups": "music"}
	c, err = visit(t, far, nil)
	require.NoError(t, err)
	require.Equal(t, "bea", c.Name)
	require.Equal(t, []string{"music"}, c.Groups)

	far.Claims = map[string]any{"groups": []string{"signed"}} // what is signed counts more
	c, err = visit(t, far, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"signed"}, c.Groups)

	far.Claims, far.Info = nil, nil
	c, err = visit(t, far, nil)
	require.NoError(t, err)
	require.False(t, c.Grouped)
	require.Equal(t, far.Subject, c.Called())
}

// Who has to show once more who they are is asked at the issuer, in a way that each understands.
func TestTheIssuerAsksAgain(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	again := func(asked any) error {
		i := of(far).At("oidc")
		to, pending, err := i.Begin(t.Context(), back, true)
		require.NoError(t, err)
		at, err := url.Parse(to)
		require.NoError(t, err)
		require.Equal(t, []string{"login", "600"}, []string{at.Query().Get("prompt"), at.Query().Get("max_age")})
		far.Claims = map[string]any{"auth_time": asked}
		came, err := url.Parse(far.Allow(to))
		require.NoError(t, err)
		_, err = i.Finish(t.Context(), back, pending, came.Query())
		return err
	}
	require.NoError(t, again(time.Now().Unix()))
	require.NoError(t, again(0)) // it doesn't know: Glewlwyd says so
	require.ErrorIs(t, again(time.Now().Add(-time.Hour).Unix()), openid.ErrBroken)
}

// Nothing of this lets anybody in.
func TestForgedAnswersAreRefused(t *testing.T) {
	t.Parallel()
	other := openidtest.New(t)
	claim := func(name string, value any) func(*openidtest.Issuer) {
		return func(i *openidtest.Issuer) { i.Claims = map[string]any{name: value} }
	}
	for name, far := range map[string]func(*openidtest.Issuer){
		"another nonce":         claim("nonce", "of another visit"),
		"no nonce":              claim("nonce", ""),
		"another audience":      claim("aud", "another program"),
		"another issuer":        claim("iss", other.URL),
		"an old token":          claim("exp", time.Now().Add(-time.Hour).Unix()),
		"no subject":            claim("sub", ""),
		"somebody else's facts": func(i *openidtest.Issuer) { i.Info = map[string]any{"sub": "another"} },
		"no signature":          func(i *openidtest.Issuer) { i.Forge = i.Unsigned },
		"another key":           func(i *openidtest.Issuer) { i.Forge = i.SignAs },
		"no token":              func(i *openidtest.Issuer) { i.Forge = func(map[string]any) string { return "" } },
		"a mixed-up issuer":     func(i *openidtest.Issuer) { i.Says = url.Values{"iss": {other.URL}} },
		"an unnamed issuer":     func(i *openidtest.Issuer) { i.Says = url.Values{"iss": nil} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := openidtest.New(t)
			far(issuer)
			c, err := visit(t, issuer, nil)
			require.ErrorIs(t, err, openid.ErrBroken)
			require.Empty(t, c.Subject)
		})
	}
	for name, change := range map[string]func(*openid.Pending, url.Values){
		"another state":  func(_ *openid.Pending, answer url.Values) { answer.Set("state", "of another browser") },
		"no state":       func(p *openid.Pending, answer url.Values) { p.State = ""; answer.Del("state") },
		"other settings": func(p *openid.Pending, _ url.Values) { p.Issuer = "https://before.example.org" },
		"too late":       func(p *openid.Pending, _ url.Values) { p.Until = time.Now().Add(-time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := visit(t, openidtest.New(t), change)
			require.ErrorIs(t, err, openid.ErrStale)
		})
	}
}

// A code is good for the browser whose verifier fits, and once.
func TestACodeIsGoodOnce(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	_, err := visit(t, far, func(p *openid.Pending, _ url.Values) { p.Verifier += "x" })
	refused, ok := errors.AsType[*openid.RefusedError](err)
	require.True(t, ok, err)
	require.Equal(t, "invalid_grant", refused.Code)

	i := of(far).At("oidc")
	to, pending, err := i.Begin(t.Context(), back, false)
	require.NoError(t, err)
	came, err := url.Parse(far.Allow(to))
	require.NoError(t, err)
	_, err = i.Finish(t.Context(), back, pending, came.Query())
	require.NoError(t, err)
	_, err = i.Finish(t.Context(), back, pending, came.Query())
	_, ok = errors.AsType[*openid.RefusedError](err)
	require.True(t, ok, err)

	_, err = visit(t, far, func(_ *openid.Pending, answer url.Values) { answer.Set("error", "access_denied") })
	refused, ok = errors.AsType[*openid.RefusedError](err)
	require.True(t, ok, err)
	require.Equal(t, "access_denied", refused.Code)
}

// While the issuer is down, that is what people learn; what it said of itself before is kept.
func TestAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	far.Down = true
	all := of(far)
	i := all.At("oidc")
	_, _, err := i.Begin(t.Context(), back, false)
	down, ok := errors.AsType[*openid.DownError](err)
	require.True(t, ok, err)
	require.Equal(t, i.Called(), down.Host)
	far.Down = false
	to, pending, err := i.Begin(t.Context(), back, true)
	require.NoError(t, err)
	require.Contains(t, to, "prompt=login")
	came, err := url.Parse(far.Allow(to))
	require.NoError(t, err)
	far.Down = true
	_, _, err = i.Begin(t.Context(), back, false)
	require.NoError(t, err, "it has answered a moment ago")
	_, err = i.Finish(t.Context(), back, pending, came.Query())
	_, ok = errors.AsType[*openid.DownError](err)
	require.True(t, ok, err)

	all.Configure(config.OpenID{})
	_, _, err = i.Begin(t.Context(), back, false)
	require.ErrorIs(t, err, openid.ErrOff)
}

// direct is an issuer that is reached without a network, so that time can pass.
type direct struct {
	*openidtest.Issuer
	silent bool // it never answers
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	d.Config.Handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// Nobody is sent to an issuer that has gone down since it was asked, neither to sign in nor to sign out; who is on the
// way, and whose session is renewed, get on with what it said before.
func TestAnIssuerThatGoesDown(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	far.SignOut = true
	synctest.Test(t, func(t *testing.T) {
		d := &direct{Issuer: far}
		i := openid.New(&http.Client{Transport: d}, settingsOf(far)).At("oidc")
		to, pending, err := i.Begin(t.Context(), back, false)
		require.NoError(t, err)
		require.NotEmpty(t, i.SignOut(t.Context(), "token", back))
		for _, silent := range []bool{false, true} {
			time.Sleep(2 * time.Minute)
			far.Down, d.silent = true, silent
			for range 2 {
				before := time.Now()
				_, _, err = i.Begin(t.Context(), back, false)
				_, down := errors.AsType[*openid.DownError](err)
				require.True(t, down, err)
				require.Empty(t, i.SignOut(t.Context(), "token", back))
				require.LessOrEqual(t, time.Since(before), 10*time.Second, "nobody waits for long")
			}
			far.Down, d.silent = false, false
			came, err := url.Parse(far.Allow(to))
			require.NoError(t, err)
			_, err = i.Finish(t.Context(), back, pending, came.Query())
			require.NoError(t, err, "what it said before is good")
			to, pending, err = i.Begin(t.Context(), back, false)
			require.NoError(t, err, "it's back")
		}
		// A question that had no answer hours later is no sign that it's up.
		time.Sleep(7 * time.Hour)
		far.Down = true
		_, err = i.SignedOut(t.Context(), "nonsense")
		require.ErrorIs(t, err, openid.ErrBroken)
		_, _, err = i.Begin(t.Context(), back, false)
		_, down := errors.AsType[*openid.DownError](err)
		require.True(t, down, err)
	})
}

// An issuer tells who signed out there; an ID token is no such word.
func TestSignedOutThere(t *testing.T) {
	t.Parallel()
	far := openidtest.New(t)
	far.SignOut = true
	i := of(far).At("oidc")
	event := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	word := func(change func(map[string]any)) string {
		all := map[string]any{"iss": far.URL, "aud": openidtest.ClientID, "iat": time.Now().Unix(),
			"exp": time.Now().Add(time.Minute).Unix(), "jti": "1", "events": event, "sub": far.Subject, "sid": "one"}
		if change != nil {
			change(all)
		}
		return far.Sign(all)
	}
	out, err := i.SignedOut(t.Context(), word(nil))
	require.NoError(t, err)
	require.Equal(t, openid.SignedOut{Issuer: far.URL, Subject: far.Subject, Session: "one"}, out)
	for _, change := range []func(map[string]any){
		func(all map[string]any) { delete(all, "events") },
		func(all map[string]any) { all["nonce"] = "x" },
		func(all map[string]any) { all["aud"] = "another" },
		func(all map[string]any) { all["iss"] = "https://another.example" },
		func(all map[string]any) { all["exp"] = time.Now().Add(-time.Hour).Unix() },
	} {
		_, err := i.SignedOut(context.WithoutCancel(t.Context()), word(change))
		require.ErrorIs(t, err, openid.ErrBroken)
	}
	to, err := url.Parse(i.SignOut(t.Context(), "token", back))
	require.NoError(t, err)
	require.Equal(t, "/end", to.Path)
	require.Equal(t, []string{"token", back, openidtest.ClientID}, []string{to.Query().Get("id_token_hint"),
		to.Query().Get("post_logout_redirect_uri"), to.Query().Get("client_id")})
}
