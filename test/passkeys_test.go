package test

import (
	"context"
	"net"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
)

// Promise: A person adds a passkey in the browser, and signs in with nothing else.
func TestBrowserSignsInWithAPasskey(t *testing.T) {
	t.Parallel()
	address := childtest.Address(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	// Browsers let no page use passkeys at an IP address.
	p := startAt(t, t.TempDir(), address, "REPRISE_BASE_URL=http://localhost:"+port)
	p.newcomer()
	tab := browser(t)
	var said complaints
	said.listen(tab)
	do(t, tab, webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := webauthn.AddVirtualAuthenticator(&webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true,
			AutomaticPresenceSimulation: true}).Do(ctx)
		return err
	}))
	do(t, tab, chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys("#name", "Alice", byQuery), chromedp.SendKeys("#password", password, byQuery),
		chromedp.Click("main form.fields button", byQuery), sees("#notice-passkey", "add a passkey on this device"),
		chromedp.Click("#add-passkey", byQuery), chromedp.Click("#passkey-add", byQuery),
		sees(".flash", "signs you in from now on"), sees("#passkeys", "Manage…"))
	said.none(t)
	do(t, tab, chromedp.Click(`form[action="/logout"] button`, byQuery), sees("h1", "Sign in"),
		chromedp.Navigate(p.url+"/login?after=/listens"),
		chromedp.Click("#passkey-use", byQuery), holds(`location.pathname === "/listens"`))

	// It is removed here, and the device still shows it: a sentence says so.
	do(t, tab, chromedp.Navigate(p.url+"/settings/account"), chromedp.Click("#passkeys table a", byQuery),
		chromedp.Click(".danger button", byQuery), sees(".flash", "has been removed"),
		chromedp.Click(`form[action="/logout"] button`, byQuery), sees("h1", "Sign in"),
		chromedp.Click("#passkey-use", byQuery), sees(".passkeys .problem", "This passkey may have been removed here"))
}
