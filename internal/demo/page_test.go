package demo

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func (b bundle) press(h http.Handler, method, path, form string) *httptest.ResponseRecorder {
	b.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(form))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

// bare shows a page without a frame.
func bare(rw http.ResponseWriter, r *http.Request, page templ.Component) {
	_ = page.Render(r.Context(), rw) // an error: the client went first
}

func TestPageSwitches(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	h := b.Handler("/demo/", bare)
	b.sample(ListenBrainz)
	for _, path := range []string{"/demo", "/demo/"} {
		page := b.press(h, http.MethodGet, path, "")
		require.Equal(t, 200, page.Code)
		html := page.Body.String()
		require.Equal(t, len(names), strings.Count(html, `aria-pressed="true"`))
		require.Equal(t, len(names), strings.Count(html, `<button name="mode" value="normal" aria-pressed="true"`))
		require.Contains(t, html, "demo-password-alice")
		require.Regexp(t, `(?s)id="listenbrainz".*1 request<.*Working.*id="navidrome"`, html)
		require.NotRegexp(t, regexp.MustCompile(`(?i)<script|<style|style=|onclick`), html)
	}
	r := b.press(h, http.MethodPost, "/demo/switch", "provider=navidrome&mode=revoked")
	require.Equal(t, http.StatusSeeOther, r.Code)
	require.Equal(t, "/demo#navidrome", r.Header().Get("Location"))
	require.Equal(t, Revoked, b.mode(Navidrome))
	html := b.press(h, http.MethodGet, "/demo", "").Body.String()
	require.Contains(t, html, "demo-password-alice-2")
	require.Contains(t, html, `<button name="mode" value="revoked" aria-pressed="true"`)

	require.Equal(t, 400, b.press(h, http.MethodPost, "/demo/switch", "provider=navidrome&mode=wrong_account").Code)
	require.Equal(t, 405, b.press(h, http.MethodGet, "/demo/switch", "").Code)
	require.Equal(t, 404, b.press(h, http.MethodGet, "/demo/other", "").Code)
}

func TestPagePlaysAndTellsItsState(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	h := b.Handler("/demo", bare)
	require.Equal(t, http.StatusSeeOther, b.press(h, http.MethodPost, "/demo/play", "").Code)
	require.Equal(t, http.StatusSeeOther, b.press(h, http.MethodPost, "/demo/play", "home=1").Code)
	require.Equal(t, 402, b.listenCount())
	before := len(b.LastFM.Listens(Alice))
	require.Equal(t, http.StatusSeeOther, b.press(h, http.MethodPost, "/demo/play", "phone=1").Code)
	require.Len(t, b.LastFM.Listens(Alice), before+1)

	var state map[string]struct {
		Mode      Mode
		URL       string
		Calls     int
		ClientID  string            `json:"client_id"`
		Tokens    map[string]string `json:"tokens"`
		Passwords map[string]string `json:"passwords"`
	}
	require.NoError(t, json.Unmarshal(b.press(h, http.MethodGet, "/demo/state", "").Body.Bytes(), &state))
	require.Equal(t, Normal, state[ListenBrainz].Mode)
	require.Equal(t, 1, state[ListenBrainz].Calls)
	require.Equal(t, b.Spotify.URL, state[Spotify].URL)
	require.Equal(t, b.Spotify.ClientID, state[Spotify].ClientID)
	require.Equal(t, []string{b.LastFM.URL, b.LastFM.ClientID}, []string{state[LastFM].URL, state[LastFM].ClientID})
	require.Equal(t, "demo-token-bob", state[ListenBrainz].Tokens[Bob])
	require.Equal(t, "demo-password-bob", state[Navidrome].Passwords[Bob])
}

// The page has words for every mode of every upstream.
func TestEveryModeIsExplained(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	for _, name := range names {
		for _, m := range b.gates[name].modes {
			about := textOf(name, m)
			for _, text := range []words.Text{about.Label, about.Does, about.See} {
				for _, l := range words.Languages() {
					require.NotEmpty(t, text.In(l), m)
					require.NotEqual(t, text.ID(), text.In(l), "is in the catalogue")
				}
			}
		}
	}
}
