package test

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Promise: An administrator sets the household up on the page: what is wrong is said while it is typed, and what is
// saved holds at once and after a restart.
func TestAnAdministratorSetsTheServerUp(t *testing.T) {
	takesLong(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	p.newcomer()
	tab := browser(t)
	do(t, tab, chromedp.Navigate(p.url+"/login"), chromedp.SendKeys("[name=name]", "Alice", byQuery),
		chromedp.SendKeys("[name=password]", password, byQuery),
		chromedp.Submit("[name=password]", byQuery), holds(`location.pathname === "/"`),
		chromedp.Navigate(p.url+"/settings/server#backoff-max"),
		chromedp.SendKeys("#backoff-max", "x", byQuery), // 30mx
		holds(`document.querySelector("#backoff-max-problem")?.textContent.includes("is not a duration")`),
		typed("#backoff-max", "45m"),
		holds(`!document.querySelector("#backoff-max-problem")`),
		chromedp.Click("#form-resilience button", byQuery), chromedp.WaitVisible(".flash", byQuery),
		holds(`document.querySelector("#backoff-max")?.value === "45m"`),
		chromedp.Navigate(p.url+"/settings/server#form-spotify"),
		chromedp.SendKeys("#providers-spotify-client_id", "the-client-id", byQuery),
		chromedp.SendKeys("#providers-spotify-client_secret", "the-client-secret", byQuery),
		chromedp.Click("#form-spotify .actions button", byQuery),
		holds(`document.querySelector("#providers-spotify-client_secret")?.value === "…cret"`))
	alice := p.returning()
	alice.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := alice.Get(p.url + "/connect/spotify")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, resp.Header.Get("Location"), "client_id=the-client-id", "people can connect it at once")
	require.NoError(t, p.stop(syscall.SIGTERM))

	p = start(t, dir)
	alice = p.returning()
	all := alice.call("GET", "/admin/settings", nil, 200)["settings"].([]any)
	values := map[string]any{}
	for _, one := range all {
		values[one.(object)["path"].(string)] = one.(object)["value"]
	}
	require.Equal(t, "45m", values["backoff.max"])
	require.Equal(t, "…cret", values["providers.spotify.client_secret"])
}

func TestTheServerIsSetUpWithoutScripts(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	p.newcomer()
	tab := browser(t)
	do(t, tab, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys("[name=name]", "Alice", byQuery),
		chromedp.SendKeys("[name=password]", password, byQuery),
		chromedp.Submit("[name=password]", byQuery), chromedp.WaitVisible("nav", byQuery),
		chromedp.Navigate(p.url+"/settings/server"),
		chromedp.SetValue("#contact", "nobody", byQuery),
		chromedp.Click("#form-server .actions button", byQuery),
		chromedp.WaitVisible("#contact-problem", byQuery),
		chromedp.SetValue("#contact", "me@example.org", byQuery),
		chromedp.Click("#form-server .actions button", byQuery),
		chromedp.WaitVisible(`#contact[value="me@example.org"]`, byQuery), // the page that follows has it
		chromedp.Click(`[form="browser-address"]`, byQuery),
		chromedp.WaitVisible("#base_url-problem", byQuery)) // no other device can open that one
}

// typed puts a text in the place of what a field has, as a person who types does.
func typed(field, text string) chromedp.Action {
	return chromedp.Evaluate(`{
		const field = document.querySelector("`+field+`");
		field.value = "`+text+`";
		field.dispatchEvent(new Event("input", { bubbles: true }));
	}`, nil)
}
