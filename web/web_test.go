package web

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

const stamp = "2026-11-20T21:04:11.000Z"

// connection is one of the server's, in a state, with everything that it can carry.
func connection(state string, category any) object {
	return object{"Provider": "spotify", "DisplayName": "Spotify", "Account": "alice", "State": state, "Category": category, "Message": "What is the case.",
		"Detail": "HTTP 400 invalid_grant", "Since": stamp, "NextAttemptAt": stamp, "LastSuccessAt": stamp, "ConsecutiveFailures": 2, "ExpiresAt": stamp,
		"Streams": []object{
			{"Stream": "listens", "State": state, "NextAttemptAt": stamp, "LastSuccessAt": stamp, "Note": "A note.", "HistoryDone": 1200, "HistoryTotal": 4000},
			{"Stream": "playlists", "State": state, "NextAttemptAt": nil, "LastSuccessAt": nil, "Note": "", "HistoryDone": 0, "HistoryTotal": 0},
		},
		"Actions": []object{{"Action": "reconnect", "Label": "Reconnect", "URL": "/connect/spotify"}, {"Action": "retry", "Label": "Try again", "URL": ""}}}
}

func notification(id, severity string, resolved any) object {
	return object{"ID": id, "Severity": severity, "Title": "Spotify needs to be reconnected", "Message": "Your permission ended.", "Detail": "invalid_grant",
		"Provider": "spotify", "Action": object{"Label": "Reconnect", "URL": "/connect/spotify"}, "CreatedAt": stamp, "AcknowledgedAt": nil, "ResolvedAt": resolved}
}

func provider(name string, auth any) object {
	return object{"Name": name, "DisplayName": "Spotify", "OAuth": auth, "Fields": []object{
		{"Name": "url", "Label": "Address", "Help": "See https://music.example.org/settings.", "Kind": "url", "Optional": false},
		{"Name": "plain", "Label": "Unprotected", "Help": "", "Kind": "checkbox", "Optional": true}}}
}

// layouts are what the server fills the pages with: for each page, its most and its least.
func layouts() map[string][]any {
	ms := int64(241_000)
	listens := []object{{"ID": "7", "Track": "Svefn-g-englar", "Artist": "Sigur Rós", "Album": "Ágætis byrjun", "PlayedAt": stamp, "Approximate": true,
		"Sources": []object{{"Provider": "spotify"}, {"Provider": "lastfm"}}}}
	register := provider("spotify", object{"ClientID": "", "SettingUp": "Go to https://example.org/apps. Make an app."})
	ready := provider("navidrome", nil)
	list := object{"ID": "3", "Name": "Rain", "Provider": "navidrome", "TrackCount": 1, "Active": false,
		"Tracks": []object{{"Track": "Rain", "Artist": "Nobody", "Album": "", "DurationMS": &ms}}}
	status := object{"Connections": []object{connection("needs_reconnect", "auth"), connection("healthy", nil), connection("syncing", nil), connection("held", "rate_limit")},
		"Offers": []object{register, ready}, "Listens": listens, "Total": 1200, "Attention": 1, "Trouble": 1}
	empty := object{"Connections": nil, "Offers": []object{register, ready}, "Listens": nil, "Total": 0, "Attention": 0, "Trouble": 0}
	form := object{"Provider": ready, "RedirectURI": "", "ReturnTo": "/", "Values": object{"url": "x", "plain": ""}, "Connected": true, "Problem": "No answer."}
	return map[string][]any{
		"status":     {status, empty},
		"connection": {connection("waiting", "upstream"), connection("paused", nil), connection("needs_admin", "config")},
		"connect":    {form, object{"Provider": register, "RedirectURI": "https://x/connect/spotify/callback", "ReturnTo": "/", "Values": object{}, "Connected": false, "Problem": ""}},
		"choose":     {object{"Provider": ready, "Old": "alice", "New": "bob"}},
		"listens":    {object{"Listens": listens, "Next": "c", "First": false, "Total": 1}, object{"Listens": nil, "Next": "", "First": true, "Total": 0}},
		"playlists":  {[]object{list}, nil},
		"playlist":   {list, object{"ID": "4", "Name": "Empty", "Provider": "spotify", "TrackCount": 0, "Active": true, "Tracks": nil}},
		"notifications": {[]object{notification("1", "error", nil), notification("2", "warning", stamp)},
			nil},
		"settings": {object{"Form": "user", "Name": "Ann", "Role": "admin", "Problem": "No.", "Users": []object{{"Name": "Ann", "Role": "admin", "CreatedAt": stamp}}, "Providers": []object{
			{"Provider": register, "RedirectURI": "https://x/callback", "Missing": "providers.spotify.client_id", "Connection": nil},
			{"Provider": ready, "RedirectURI": "", "Missing": "", "Connection": connection("healthy", nil)}}}},
		"login": {object{"Name": "Ann", "Problem": "The name or the password is wrong.", "After": "/listens"}, object{"Name": "", "Problem": "", "After": ""}},
		"setup": {object{"Code": "", "Name": "", "Problem": ""}, object{"Code": "", "Name": "", "Problem": "No."}, object{"Code": "c", "Name": "", "Problem": ""}},
		"error": {object{"Title": "Not found", "Detail": "Wait until 2026-11-20T21:04:11Z."}},
	}
}

// inline is what the content policy forbids.
var inline = regexp.MustCompile(`(?i)<style|\sstyle=|<script(?:[^>]*)>[^<]|\son[a-z]+\s*=|javascript:`)

func render(t *testing.T, name string, page any, user any) string {
	t.Helper()
	pages, err := Load()
	require.NoError(t, err)
	alerts := []object{}
	if user != nil {
		alerts = []object{notification("1", "error", nil), notification("2", "info", nil)}
	}
	var b bytes.Buffer
	require.NoError(t, pages.Render(&b, name, object{"Title": "Title", "Path": "/" + name, "User": user, "Flash": "Done.", "Alerts": alerts,
		"Demo": true, "Version": "1", "Page": page}))
	return b.String()
}

// A name that a template asks for and its data does not have is an error of Render.
func TestEveryPageRenders(t *testing.T) {
	t.Parallel()
	paths, err := fs.Glob(files, "templates/pages/*.html")
	require.NoError(t, err)
	filled := layouts()
	require.Len(t, paths, len(filled), "every page has its data here")
	for name, all := range filled {
		for _, page := range all {
			var user any
			if name != "login" && name != "setup" {
				user = object{"Name": "Ann", "Role": "admin"}
			}
			html := render(t, name, page, user)
			require.NotContains(t, html, "ZgotmplZ", name)
			require.NotContains(t, html, "%!", name)
			require.NotRegexp(t, inline, html, name)
			require.Equal(t, 1, strings.Count(html, "<h1"), name)
			require.Equal(t, user != nil, strings.Contains(html, "<script"), name)
			for _, what := range []string{`for="([^"]+)"`, `href="#([^"]+)"`, `aria-labelledby="([^"]+)"`} {
				for _, m := range regexp.MustCompile(what).FindAllStringSubmatch(html, -1) {
					require.Contains(t, html, ` id="`+m[1]+`"`, name)
				}
			}
			for _, id := range []string{"toasts", "link"} {
				require.Contains(t, html, ` id="`+id+`"`, name)
			}
		}
	}
	require.Error(t, (&Pages{}).Render(&bytes.Buffer{}, "nothing", nil))
}

func TestNoTemplateHasAnythingInline(t *testing.T) {
	t.Parallel()
	require.NoError(t, fs.WalkDir(files, "templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		require.NotRegexp(t, inline, string(b), path)
		return err
	}))
	for _, bad := range []string{`<p style="x">`, `<style>`, `<a onclick="x">`, `<script>x`, `<a href="javascript:x">`} {
		require.Regexp(t, inline, bad)
	}
}

// What an alert above says already is not said again by its connection, and its button is not shown twice.
func TestAnAlertIsSaidOnce(t *testing.T) {
	t.Parallel()
	user := object{"Name": "Ann", "Role": "member"}
	status := object{"Connections": []object{connection("needs_reconnect", "auth")}, "Offers": nil, "Listens": nil, "Total": 0, "Attention": 1, "Trouble": 0}
	for name, page := range map[string]any{"status": status, "connection": status["Connections"].([]object)[0]} {
		html := render(t, name, page, user)
		require.Contains(t, html, `class="banner"`)
		require.NotContains(t, html, "What is the case.")
		require.Equal(t, 1, strings.Count(html, `>Reconnect</a>`), name)
		require.Contains(t, html, `id="spotify-retry"`)
	}
	require.Contains(t, render(t, "connection", connection("waiting", "upstream"), user), "What is the case.", "another trouble than the alert's")
	hidden := regexp.MustCompile(`class="banner"[^>]* hidden>`)
	require.Regexp(t, hidden, render(t, "notifications", nil, user), "the page itself says it")
	require.NotRegexp(t, hidden, render(t, "listens", layouts()["listens"][1], user))
}

func TestEveryAssetExists(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`\{\{asset "([^"]+)"\}\}`)
	layout, err := fs.ReadFile(files, "templates/layout.html")
	require.NoError(t, err)
	names := used.FindAllStringSubmatch(string(layout), -1)
	require.Len(t, names, 3)
	for _, m := range names {
		address, err := asset(m[1])
		require.NoError(t, err)
		rec := httptest.NewRecorder()
		http.StripPrefix("/static/", Static()).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, address, nil))
		require.Equal(t, http.StatusOK, rec.Code, address)
		require.Contains(t, rec.Header().Get("Cache-Control"), "immutable")
	}
	_, err = asset("nothing.css")
	require.Error(t, err)
	rec := httptest.NewRecorder()
	http.StripPrefix("/static/", Static()).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/static/app.css", nil))
	require.Empty(t, rec.Header().Get("Cache-Control"), "an address without a fingerprint must not be kept")
}

func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 listens", 1: "1 listen", 999: "999 listens", 1000: "1,000 listens", 1234567: "1,234,567 listens"} {
		require.Equal(t, want, count(n, "listen", "listens"))
	}
	ms := int64(59_600)
	require.Equal(t, "1:00", length(&ms))
	require.Empty(t, length(nil))
	require.Equal(t, "Last.fm", service("lastfm"))
	require.Equal(t, "other", service("other"))
	require.True(t, within("/playlists/3", "/playlists"))
	require.True(t, within("/playlists", "/playlists"))
	require.False(t, within("/playlistsx", "/playlists"))
	_, err := dict("a")
	require.Error(t, err)
}

// Every state of a connection has its own word and its own shape; the two that need a person share theirs.
func TestEveryStateHasAWordAndAShape(t *testing.T) {
	t.Parallel()
	shapes, words := map[string]string{}, map[string]bool{}
	shape := regexp.MustCompile(`(?s)state-[a-z_]+"><svg[^>]*>(.*?)</svg> ([^<]+)<`)
	for _, state := range []string{"healthy", "syncing", "waiting", "held", "needs_reconnect", "needs_admin", "paused", "new"} {
		m := shape.FindStringSubmatch(render(t, "connection", connection(state, nil), object{"Name": "Ann", "Role": "member"}))
		require.NotNil(t, m, state)
		shapes[m[1]] = state
		words[m[2]] = true
	}
	require.Len(t, shapes, 7)
	require.Len(t, words, 8)
}

func TestTimesAndLinksInSentences(t *testing.T) {
	t.Parallel()
	text := stamp
	want := `<time datetime="2026-11-20T21:04:11Z" data-time="ago" title="20 Nov 2026, 21:04 UTC">20 Nov 2026, 21:04 UTC</time>`
	require.EqualValues(t, want, timeElement(text, "ago"))
	require.EqualValues(t, want, timeElement(&text, "ago"))
	require.Contains(t, timeElement(text, "date"), ">20 November 2026<")
	for _, none := range []any{nil, (*string)(nil), "soon", 7} {
		require.Empty(t, timeElement(none, "ago"))
	}
	require.EqualValues(t, `Wait &lt;b&gt; until `+strings.Replace(want, "ago", "at", 1)+`.`, say("Wait <b> until 2026-11-20T21:04:11Z."))
	require.EqualValues(t, `Open <a href="https://x.org/a?b=1&amp;c" target="_blank" rel="noreferrer">https://x.org/a?b=1&amp;c</a>: &#34;it&#34; stands there.`,
		guide(`Open https://x.org/a?b=1&c: "it" stands there.`))
	require.EqualValues(t, "For example https://music.example.org.", guide("For example https://music.example.org."))
}
