package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// A page on another site can point its own name at this machine, and then read what a visitor's browser gets here.
func TestForeignNamesAreRefused(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.BaseURL, h.AllowedHosts = "https://music.example.org", []string{"reprise.example.net"}
	h.Restart()
	for _, host := range []string{"evil.example", "evil.example:8420", "127.0.0.1.evil.example",
		"xn--e1afmkfd.example:80", "localhost.evil.example", "a.music.example.org", "1.2.3.4.5", "MUSIC.example.com",
		"[::1].evil.example", "reprise.example.net@evil.example"} {
		for _, path := range []string{"/", "/metrics", "/livez", "/nowhere", "/api/v1/connections", "/static/app.css"} {
			w := h.At(host, path)
			require.Equal(t, http.StatusMisdirectedRequest, w.Code, "%s%s", host, path)
			require.Empty(t, w.Result().Cookies(), "nobody is signed in")
		}
	}
	require.Contains(t, h.At("evil.example", "/").Body.String(), "allowed_hosts")
	require.Contains(t, h.At("<b>evil", "/").Body.String(), "&lt;b&gt;evil")
	w := h.At("evil.example", "/api/v1/connections")
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))

	for _, host := range []string{"music.example.org", "Music.Example.Org:443", "music.example.org.", "127.0.0.1:8420",
		"[::1]:8420", "192.168.1.7", "203.0.113.9:8420", "[fe80::1%25eth0]:8420", "localhost",
		"reprise.localhost:8420",
		"reprise:8420", "nas.local", "nas.lan:8420", "music.home.arpa", "reprise.svc.cluster.local",
		"reprise.example.net:444", ""} {
		require.Equal(t, http.StatusOK, h.At(host, "/livez").Code, host)
		require.Equal(t, http.StatusOK, h.At(host, "/metrics").Code, host)
	}
	h.AllowedHosts = []string{"*"}
	h.Restart()
	require.Equal(t, http.StatusOK, h.At("evil.example", "/livez").Code)
}

// A page that was opened by an allowed name has its websocket, also behind a proxy that calls us by another name.
func TestAllowedNamesHaveTheirWebsocket(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.AllowedHosts = []string{"reprise.example.net", "example.com"}
	h.Restart()
	h.Page("/") // signs in
	for origin, want := range map[string]bool{
		"https://reprise.example.net": true, "http://reprise.example.net:8443": true, "http://127.0.0.1:8420": true,
		"https://evil.example": false, "https://a.reprise.example.net": false,
		"https://reprise.example.net.evil.example": false, "null": false} {
		w := h.Knock(http.MethodGet, "/api/v1/events", "Connection", "Upgrade", "Upgrade", "websocket",
			"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Origin", origin)
		require.Equal(t, want, w.Code != http.StatusForbidden, origin)
	}
	for origin, want := range map[string]bool{"https://reprise.example.net": true, "http://reprise.example.net": true,
		"https://evil.example": false} {
		w := h.Knock(http.MethodPost, "/logout", "Origin", origin)
		require.Equal(t, want, w.Code != http.StatusForbidden, origin)
	}
}
