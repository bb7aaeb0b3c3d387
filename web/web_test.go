package web

import (
	"bytes"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type object = map[string]any

const stamp = "2026-11-20T21:04:11.000Z"

// connection returns a connection in a state, with all fields set.
func connection(state string, category any) object {
	alerted := state == "needs_reconnect" || state == "needs_admin"
	told := ""
	if alerted {
		told = "/connect/spotify"
	}
	return object{"Calm": category == nil && (state == "healthy" || state == "syncing"),
		"Alerted": alerted, "Told": told,
		"Loud": false, "Done": "read", "Notices": []object{{"ID": "2", "Title": "A notice", "Button": nil}},
		"ID": "spotify", "Name": "", "Provider": "spotify", "DisplayName": "Spotify", "Account": "alice",
		"State":    state,
		"Category": category, "Message": "What is the case.",
		"Detail": "HTTP 400 invalid_grant", "Since": stamp, "NextAttemptAt": stamp, "LastSuccessAt": stamp,
		"ConsecutiveFailures": 2, "ExpiresAt": stamp,
		"Reads": true, "Every": "5 minutes",
		"Streams": []object{
			{"Stream": "listens", "State": state, "NextAttemptAt": stamp, "LastSuccessAt": stamp, "Note": "A note.",
				"HistoryDone": 1200, "HistoryTotal": 4000, "Next": "about every 5 minutes"},
			{"Stream": "deliveries", "State": state, "NextAttemptAt": nil, "LastSuccessAt": nil, "Note": "",
				"HistoryDone": 0, "HistoryTotal": 0, "Next": "about every 5 minutes"},
			{"Stream": "playlists", "State": state, "NextAttemptAt": nil, "LastSuccessAt": nil, "Note": "",
				"HistoryDone": 0, "HistoryTotal": 0, "Next": "about every 5 minutes"},
		},
		"Actions": []object{{"Action": "reconnect", "Label": "Reconnect", "URL": "/connect/spotify"},
			{"Action": "retry", "Label": "Try again", "URL": ""}}}
}

func notification(id, severity string, resolved any) object {
	return object{"ID": id, "Severity": severity, "Title": "Spotify needs to be reconnected",
		"Message": "Your permission ended.", "Detail": "invalid_grant",
		"Provider": "spotify", "Connection": "spotify", "Action": object{"Label": "Reconnect",
			"URL": "/connect/spotify"},
		"CreatedAt": stamp, "AcknowledgedAt": nil, "ResolvedAt": resolved, "Choices": nil}
}

func provider(name string, inBrowser bool) object {
	return object{"Name": name, "DisplayName": "Spotify", "InBrowser": inBrowser, "Registered": !inBrowser,
		"Asks": []string{"Address", "Password or API key"}, "Fields": []object{
			{"Name": "url", "Label": "Address", "Help": "See https://music.example.org/settings.", "Kind": "url",
				"Optional": false, "Or": ""},
			{"Name": "plain", "Label": "Unprotected", "Help": "", "Kind": "checkbox", "Optional": true, "Or": ""}}}
}

func delivery(id, state string) object {
	return object{"ID": id, "Subject": "37 listens to Last.fm", "State": state, "Attempts": 2, "MaxAttempts": 347,
		"NextAttemptAt": stamp, "CreatedAt": stamp, "EndedAt": stamp,
		"Reason": "Last.fm has trouble.", "LastAnswer": "HTTP 503", "Redrivable": state == "dead",
		"Discardable": state != "done", "Question": questionOf(state)}
}

// questionOf returns where the song of a dead letter is chosen.
func questionOf(state string) any {
	if state == "dead" {
		return "/connections/navidrome/songs/1"
	}
	return nil
}

// without returns a copy of o with other values.
func without(o object, pairs ...any) object {
	changed := maps.Clone(o)
	for i := 0; i+1 < len(pairs); i += 2 {
		changed[pairs[i].(string)] = pairs[i+1]
	}
	return changed
}

// layouts returns the data of all pages: for each page, with all parts and with as few as possible.
func layouts() map[string][]any {
	register := provider("spotify", true)
	ready := provider("navidrome", false)
	form := object{"ID": "spotify", "Label": "Spotify", "Another": false, "Provider": ready, "RedirectURI": "",
		"SettingUp": "", "Settings": nil, "ReturnTo": "/",
		"Values": object{"url": "x", "plain": ""}, "Connected": true, "Problem": "No answer."}
	return map[string][]any{
		"connect": {form, object{"ID": "spotify", "Label": "Spotify", "Another": false, "Provider": register,
			"RedirectURI": "https://x/connect/spotify/callback",
			"SettingUp":   "Go to https://example.org/apps. Make an app.",
			"Settings":    []string{"providers.spotify.client_id"}, "ReturnTo": "/", "Values": object{},
			"Connected": false, "Problem": ""}},
		"confirm": {object{"Title": "Discard this delivery?", "Lead": "It stays here.",
			"Facts": []string{"37 listens"}, "Action": "/deliveries/3/discard",
			"Fields": []object{{"Name": "back", "Value": "/deliveries"}}, "Button": "Discard", "Warn": true,
			"Back": "/deliveries"}},
		"choose": {object{"ID": "spotify", "Provider": ready, "Old": "alice", "New": "bob", "Moved": false,
			"ReturnTo": "/"}, object{"ID": "navidrome", "Provider": ready, "Old": "alice (https://a)",
			"New":   "alice (https://b)",
			"Moved": true, "ReturnTo": "/"}},
		"login": {object{"Name": "Ann", "Problem": "The name or the password is wrong.", "After": "/listens"},
			object{"Name": "", "Problem": "", "After": ""}},
		"setup": {object{"Code": "", "Name": "", "Problem": ""}, object{"Code": "", "Name": "", "Problem": "No."},
			object{"Code": "c", "Name": "", "Problem": ""}},
		"onward": {"/connect/spotify"},
		"error": {object{"Title": "Not found", "Detail": "Wait until 2026-11-20T21:04:11Z.", "Again": ""},
			object{"Title": "This server has trouble", "Detail": "The disk is full.", "Again": "/listens"}},
	}
}

// inline matches what the content policy forbids.
var inline = regexp.MustCompile(`(?i)<style|\sstyle=|<script(?:[^>]*)>[^<]|\son[a-z]+\s*=|javascript:`)

// spaces are what a browser shows as one space.
var spaces = regexp.MustCompile(`[ \t\n]+`)

func render(t *testing.T, name string, page any, user any) string {
	t.Helper()
	pages, err := Load(func(provider string) string { return "Service " + provider })
	require.NoError(t, err)
	layout := object{"Title": "Title", "User": user, "Flash": "Done.", "Version": "1", "Page": page,
		"Nav":  []object{{"Label": "Deliveries", "URL": "/deliveries", "Current": "page", "Dead": true}},
		"Bell": "", "Open": 0, "Urgent": false, "Banners": nil, "Dead": 3}
	if user != nil {
		layout["Open"], layout["Urgent"] = 2, true
		layout["Banners"] = []object{without(notification("1", "error", nil), "Hidden", name == "notifications")}
	}
	var b bytes.Buffer
	require.NoError(t, pages.Render(&b, name, layout))
	return spaces.ReplaceAllString(b.String(), " ") // as a browser does
}

// Render fails if the data of a page lacks a name that its template uses.
func TestEveryPageRenders(t *testing.T) {
	t.Parallel()
	paths, err := fs.Glob(files, "templates/pages/*.html")
	require.NoError(t, err)
	filled := layouts()
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".html")
		require.NotEmpty(t, filled[name], "%s has its data here", name)
		for _, page := range filled[name] {
			var user any
			if name != "login" && name != "setup" {
				user = object{"Name": "Ann", "Role": "admin"}
			}
			html := render(t, name, page, user)
			require.NotContains(t, html, "ZgotmplZ", name)
			require.NotContains(t, html, "%!", name)
			require.NotRegexp(t, inline, html, name)
			require.Equal(t, 1, strings.Count(html, "<h1"), name)
			for _, what := range []string{`href="#([^"]+)"`, `aria-labelledby="([^"]+)"`} {
				for _, m := range regexp.MustCompile(what).FindAllStringSubmatch(html, -1) {
					require.Contains(t, html, ` id="`+m[1]+`"`, name)
				}
			}
			for _, m := range regexp.MustCompile(`for="([^"]+)"`).FindAllStringSubmatch(html, -1) {
				require.Equal(t, 1, strings.Count(html, ` id="`+m[1]+`"`), "%s: the label of %s", name, m[1])
			}
		}
	}
	require.Error(t, (&Pages{}).Render(&bytes.Buffer{}, "nothing", nil))
}

func TestTemplatesHaveNoInlineCode(t *testing.T) {
	t.Parallel()
	require.NoError(t, fs.WalkDir(files, "templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		require.NotRegexp(t, inline, string(b), path)
		return err
	}))
	for _, bad := range []string{`<p style="x">`, `<style>`, `<a onclick="x">`, `<script>x`,
		`<a href="javascript:x">`} {
		require.Regexp(t, inline, bad)
	}
}

func TestEveryAssetExists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"icon.svg", "app.css", "app.js"} {
		_, err := asset(name)
		require.NoError(t, err)
	}
	_, err := asset("nothing.css")
	require.Error(t, err)
}
