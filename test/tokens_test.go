//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/demo"
)

// Promise: A token is good for its scope, and for no more.
func TestATokenIsGoodForItsScopeAndNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)

	secret, _ := v.token("dashboard", "read")
	require.Regexp(t, `^reprise_[A-Za-z0-9_-]{43}$`, secret)
	read := p.program(secret)
	require.Equal(t, "listenbrainz", read.call("GET", "/connections", nil,
		200)["connections"].([]any)[0].(object)["provider"])
	require.Empty(t, read.last.Cookies(), "a token makes no session")
	require.Contains(t, read.call("POST", "/connections/listenbrainz/pause", nil, 403)["detail"], `the scope "operate"`)
	require.Contains(t, read.last.Header.Get("WWW-Authenticate"), `error="insufficient_scope", scope="operate"`)
	read.call("GET", "/tokens", nil, 403)
	read.call("GET", "/admin/keys", nil, 403)

	secret, _ = v.token("phone", "operate")
	operate := p.program(secret)
	operate.call("POST", "/connections/listenbrainz/pause", nil, 202)
	require.Equal(t, "paused", v.state("listenbrainz"))
	require.Equal(t, "Alice paused ListenBrainz.", v.happened("?limit=1")[0])
	require.Len(t, operate.call("GET", "/tokens", nil, 200)["tokens"], 2)
	require.Contains(t, operate.call("GET", "/admin/breakers", nil, 403)["detail"], `the scope "admin"`)
	operate.call("POST", "/tokens", object{"name": "another", "scope": "read"}, 403)
	operate.call("DELETE", "/session", nil, 403)

	secret, _ = v.token("scripts", "admin")
	admin := p.program(secret)
	admin.call("GET", "/admin/keys", nil, 200)
	admin.call("POST", "/connections/listenbrainz/resume", nil, 202)

	ben := v.member(p, "Ben")
	require.Contains(t, ben.call("POST", "/tokens", object{"name": "x", "scope": "admin"}, 422)["detail"],
		"Only an administrator")
	require.NotContains(t, ben.page("/settings/programs", 200), "administration")
	secret, _ = ben.token("dashboard", "operate")
	require.Empty(t, p.program(secret).call("GET", "/connections", nil, 200)["connections"],
		"a token sees what its owner does")

	// Pages take no tokens.
	resp, err := admin.Get(p.url + "/settings/people")
	require.NoError(t, err)
	require.Equal(t, "/login", admin.text200(resp))

	for _, file := range []string{"reprise.db", "reprise.db-wal"} {
		b, _ := os.ReadFile(filepath.Join(dir, file))
		require.NotContains(t, string(b), secret, "only its fingerprint is kept")
	}
	require.NotContains(t, p.log.String(), secret)
}

// text200 returns the text of a page.
func (v *person) text200(resp *http.Response) string {
	v.t.Helper()
	v.text(resp, 200)
	return resp.Request.URL.Path
}

// Promise: A token that is revoked or has expired opens nothing.
func TestATokenEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	for _, c := range []struct {
		in   object
		want string
	}{
		{object{"name": "", "scope": "read"}, `"name" is empty.`},
		{object{"name": "x", "scope": "everything"}, "It is one of these: read, operate, admin."},
		{object{"name": "x", "scope": "read", "expires_at": "2001-01-01T00:00:00Z"}, "already have expired"},
		{object{"name": "x", "scope": "read", "expires_at": "9999-01-01T00:00:00Z"}, "ten years"},
		{object{"name": "x", "scope": "read", "expires_at": "tomorrow"}, "Write expires_at like"},
	} {
		require.Contains(t, v.call("POST", "/tokens", c.in, 422)["detail"], c.want)
	}
	secret, id := v.token("x", "operate")
	v.call("POST", "/tokens", object{"name": "x", "scope": "read"}, 409)
	listed := v.call("GET", "/tokens", nil, 200)["tokens"].([]any)[0].(object)
	require.Nil(t, listed["last_used_at"])
	require.NotContains(t, listed, "token")
	require.Equal(t, secret[len(secret)-4:], listed["last_four"])

	// A new password ends sessions, but no tokens.
	require.Contains(t, v.submit("/settings/account/password",
		url.Values{"old": {password}, "new": {password + "!"}}, 200),
		"1 access token still works")
	x := p.program(secret)
	x.call("GET", "/connections", nil, 200)
	require.NotNil(t, v.call("GET", "/tokens", nil, 200)["tokens"].([]any)[0].(object)["last_used_at"])

	// Its stream of events ends with the token.
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/api/v1/events",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + secret}}})
	require.NoError(t, err)
	defer socket.CloseNow()
	_, snapshot, err := socket.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(snapshot), `"snapshot"`)

	ben := v.member(p, "Ben")
	ben.call("DELETE", "/tokens/"+id, nil, 404)
	require.Contains(t, v.page("/settings/programs/"+id+"/revoke", 200), "Programs that use it lose access at once.")
	require.Contains(t, v.submit("/settings/programs/"+id+"/revoke", nil, 200), "is revoked")
	require.Equal(t, "Alice revoked the access token “x”.", v.happened("?limit=1")[0])
	for {
		if _, _, err = socket.Read(t.Context()); err != nil {
			break
		}
	}
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
	require.Equal(t, "Not a valid token", x.call("GET", "/connections", nil, 401)["title"])
	require.Contains(t, x.last.Header.Get("WWW-Authenticate"), `Bearer realm="Reprise", error="invalid_token"`)
	resp, _ := x.send("GET", "/events/sse", nil)
	require.Equal(t, 401, resp.StatusCode)

	soon := time.Now().Add(2 * time.Second)
	made := v.call("POST", "/tokens", object{"name": "brief", "scope": "read",
		"expires_at": soon.UTC().Format(time.RFC3339Nano)}, 201)
	brief := p.program(made["token"].(string))
	brief.call("GET", "/connections", nil, 200)
	v.eventually("its end", func() bool {
		resp, _ := brief.send("GET", "/connections", nil)
		return resp.StatusCode == 401
	})
	require.False(t, time.Now().Before(soon))
	require.Contains(t, v.page("/settings/programs", 200), "expired")
	v.token("brief", "read") // the name is free again
}

// Promise: The settings page shows a new token once, and says what is wrong with a request for one.
func TestATokenOnTheSettingsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	page := v.submit("/settings/programs", url.Values{"name": {"backup"}, "scope": {"read"}, "days": {"30"}}, 200)
	secret := regexp.MustCompile(`reprise_[A-Za-z0-9_-]{43}`).FindString(page)
	require.Contains(t, page, "Copy it now.")
	require.Contains(t, page, "It expires on")
	p.program(secret).call("GET", "/listens", nil, 200)
	settings := v.page("/settings/programs", 200)
	require.NotContains(t, settings, secret)
	require.Contains(t, settings, "…"+secret[len(secret)-4:])
	require.Contains(t, v.submit("/settings/programs", url.Values{"name": {"backup"}, "scope": {"read"}}, 409),
		"You already have a token with that name.")
	require.Equal(t, []string{"Alice created the access token “backup”. It can read."}, v.happened(""))
}

// Promise: Server-Sent Events work with a token. A token for reading cannot acknowledge notifications.
func TestAStreamWithAToken(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	secret, _ := v.token("dashboard", "read")
	read := p.program(secret)
	resp, err := read.Get(p.url + "/api/v1/events/sse")
	require.NoError(t, err)
	defer resp.Body.Close()
	first := make([]byte, 16)
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(first, []byte("id: 1\nevent: sna")), "%s", first)

	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	id := v.alerted()["id"]
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/api/v1/events",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"bearer " + secret}}})
	require.NoError(t, err)
	defer socket.CloseNow()
	ack, err := json.Marshal(object{"type": "ack", "data": object{"id": id}})
	require.NoError(t, err)
	go func() { // only a reader sees a pong
		for {
			if _, _, err := socket.Read(t.Context()); err != nil {
				return
			}
		}
	}()
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText, ack))
	require.NoError(t, socket.Ping(t.Context())) // the server has read the message
	require.Nil(t, v.alerted()["acknowledged_at"])
	read.call("POST", "/notifications/"+id.(string)+"/ack", nil, 403)
}
