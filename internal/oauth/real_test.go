package oauth_test

import (
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/openid/openidtest"
	"reprise/internal/resilience"
)

// TestRealServer runs the whole life of a permission against an OAuth 2 server that is not ours (testdata/oidcserver),
// over the real store.
func TestRealServer(t *testing.T) {
	t.Parallel()
	program := openidtest.BuildZitadel(t, "testdata/oidcserver")
	t.Run("a permission's life", func(t *testing.T) {
		t.Parallel()
		testLife(t, startInstallation(t, program))
	})
	t.Run("fifty at once", func(t *testing.T) {
		t.Parallel()
		testFiftyAtOnce(t, startInstallation(t, program))
	})
	t.Run("across the end of an access token", func(t *testing.T) {
		t.Parallel()
		testAcrossAnEnd(t, startInstallation(t, program, "-life", "2s"), true)
	})
	t.Run("across an end that was not named", func(t *testing.T) {
		t.Parallel()
		testAcrossAnEnd(t, startInstallation(t, program, "-life", "1s"), false) // the server rounds down
	})
	t.Run("refused at the token endpoint", func(t *testing.T) {
		t.Parallel()
		testRefusals(t, startInstallation(t, program))
	})
}

func testLife(t *testing.T, in *installation) {
	ctx := t.Context()
	c := in.connect(t)
	first := c.Credentials
	require.NotEmpty(t, first["refresh_token"])
	require.NoError(t, in.call(ctx, c))
	require.Equal(t, first, in.stored(t).Credentials, "a good token is not renewed")

	// The server takes the access token back: a new one comes, and the refresh token rotates.
	in.revoke(t, first["access_token"])
	require.NoError(t, in.call(ctx, c))
	second := in.stored(t).Credentials
	require.NotEqual(t, first["access_token"], second["access_token"])
	require.NotEqual(t, first["refresh_token"], second["refresh_token"])

	// The access token ends by our clock: the same, before any call, and after a restart on the same database.
	c = in.stored(t)
	c.Credentials["token_end"] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	claim := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	_, err := in.db.ClaimRenewal(ctx, c, claim)
	require.NoError(t, err)
	require.NoError(t, in.db.SaveCredentials(ctx, c, claim))
	require.NoError(t, in.call(ctx, c))
	third := in.stored(t).Credentials
	require.NotEqual(t, second["refresh_token"], third["refresh_token"])
	in.restart(t)
	require.NoError(t, in.call(ctx, c), "a connection as it was read before the restart")
	require.Equal(t, third, in.stored(t).Credentials)

	// A refresh token that has rotated away is refused, in the words of a permission that is over.
	lost := oauth.NewTokens(storeWith(withCredentials(c, first)), in.client)
	_, err = lost.Fresh(ctx, resilience.Call{}, in.provider, withCredentials(c, first), first["access_token"])
	requireOver(t, err, first, second, third)
	require.NoError(t, in.call(ctx, in.stored(t)), "the one that counts still works")

	// The person takes the permission back at the provider.
	in.revoke(t, third["refresh_token"])
	for range 2 {
		requireOver(t, in.call(ctx, in.stored(t)), first, second, third)
	}
	require.Equal(t, third, in.stored(t).Credentials, "the credential stays as it was")

	// A new consent: everything works again, also for what began before it.
	again := in.connect(t)
	require.Equal(t, c.Generation+1, again.Generation)
	require.NoError(t, in.call(ctx, again))
	old := withCredentials(c, third)
	require.NoError(t, in.call(ctx, old))
	require.Equal(t, again.Credentials, in.stored(t).Credentials, "the old generation changes nothing")
}

func testFiftyAtOnce(t *testing.T, in *installation) {
	c := in.connect(t)
	in.revoke(t, c.Credentials["access_token"])
	results := make([]error, 50)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = in.call(t.Context(), c) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(results...))
	require.EqualValues(t, 2, in.exchanges.Load(), "one for the code, one renewal")
}

// testAcrossAnEnd calls until the token has been renewed once; no call may fail.
func testAcrossAnEnd(t *testing.T, in *installation, named bool) {
	c := in.connect(t)
	require.Equal(t, named, c.Credentials["token_end"] != "")
	for in.stored(t).Credentials["refresh_token"] == c.Credentials["refresh_token"] {
		require.NoError(t, in.call(t.Context(), in.stored(t)))
	}
	require.NoError(t, in.call(t.Context(), in.stored(t)))
}

func testRefusals(t *testing.T, in *installation) {
	ctx := t.Context()
	asked, callback := in.consent(t)
	_, err := in.flow.Complete(ctx, asked, url.Values{"state": {callback.Get("state")}, "code": {"made-up"}})
	requireOver(t, err)

	asked, callback = in.consent(t)
	grant, err := in.flow.Complete(ctx, asked, callback)
	require.NoError(t, err)
	_, err = in.flow.Complete(ctx, asked, callback)
	require.ErrorIs(t, err, oauth.ErrState, "the browser's back button")

	// Somebody who got hold of the code, but not of the verifier.
	asked, callback = in.consent(t)
	_, err = oauth.NewFlow(thief{in.db}, in.client).Complete(ctx, asked, callback)
	requireOver(t, err)
	requireNoSecret(t, err, callback.Get("code"))

	// A wrong client id, as after a mistake in the settings.
	wrong := *in.provider
	o := *wrong.OAuth
	o.ClientID, wrong.OAuth = "somebody else", &o
	c := withCredentials(connection(), grant.Credentials)
	_, err = oauth.NewTokens(storeWith(c), in.client).Fresh(ctx, resilience.Call{}, &wrong, c,
		grant.Credentials["access_token"])
	require.Error(t, err)
	require.NotEqual(t, resilience.Auth, resilience.VerdictOf(err).Category,
		"nobody reconnects for an administrator's mistake")
}

// requireOver checks that an error says that only a new consent helps, and holds nothing of the credentials.
func requireOver(t *testing.T, err error, all ...library.Credentials) {
	t.Helper()
	requireMeans(t, resilience.Fatal, resilience.Auth, resilience.ScopeConnection, err)
	require.ErrorContains(t, err, "invalid_grant")
	for _, c := range all {
		requireNoSecret(t, err, c["access_token"], c["refresh_token"])
	}
}
