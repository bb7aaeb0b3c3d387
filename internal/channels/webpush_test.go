package channels

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/resilience"
)

// browser is a browser that has agreed to receive pushes.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t *testing.T) browser {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	b := browser{key: key, auth: make([]byte, 16)}
	_, _ = rand.Read(b.auth)
	return b
}

func (b browser) url(t *testing.T, endpoint string) resilience.Secret {
	var s Subscription
	s.Endpoint = endpoint
	s.Keys.P256dh = base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes())
	s.Keys.Auth = base64.RawURLEncoding.EncodeToString(b.auth)
	url, err := s.URL()
	require.NoError(t, err)
	require.Equal(t, endpoint, PushAddress(WebPush, url))
	return resilience.Secret(url)
}

func TestOnlyItsBrowserCanReadAPush(t *testing.T) {
	t.Parallel()
	var got []byte
	var header http.Header
	push := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		header = r.Header
		w.WriteHeader(http.StatusCreated)
	}))
	defer push.Close()
	text, err := NewVapid()
	require.NoError(t, err)
	config := newService(t).config()
	config.Vapid = ReadVapid(text)
	b := newBrowser(t)
	require.NoError(t, New(config).Send(t.Context(), resilience.Call{}, WebPush, b.url(t, push.URL+"/send/secret99"),
		sample()))
	require.NotContains(t, string(got), "Spotify")
	var payload map[string]string
	require.NoError(t, json.Unmarshal(b.open(t, got), &payload))
	require.Equal(t, map[string]string{
		"id":       sample().ID,
		"severity": "error",
		"title":    sample().Title,
		"message":  sample().Text,
		"url":      sample().URL,
	}, payload)
	require.Equal(t, "AAECAwQFBgcICQoLDA0ODw", header.Get("Topic"))
	require.Equal(t, "high", header.Get("Urgency"))
	signed, ok := strings.CutPrefix(header.Get("Authorization"), "vapid t=")
	require.True(t, ok)
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(signed, ".")[1])
	require.NoError(t, err)
	require.Contains(t, string(claims), `"aud":"`+push.URL+`"`, "another push service has no use for it")
}

func TestABrowserThatHasUnsubscribed(t *testing.T) {
	t.Parallel()
	text, err := NewVapid()
	require.NoError(t, err)
	for status, gone := range map[int]bool{404: true, 410: true, 403: false, 429: false, 503: false} {
		s := newService(t)
		s.status = status
		config := s.config()
		config.Vapid = ReadVapid(text)
		err := New(config).Send(t.Context(), resilience.Call{}, WebPush, newBrowser(t).url(t, s.URL+"/send/secret99"),
			sample())
		require.Error(t, err)
		require.Equal(t, gone, errors.Is(err, notify.ErrUnsubscribed), status)
		require.NotContains(t, err.Error(), "secret99")
	}
}

// open decrypts a push as its browser does (RFC 8188, section 2, and RFC 8291, section 3.4).
func (b browser) open(t *testing.T, body []byte) []byte {
	t.Helper()
	salt, n := body[:16], int(body[20])
	sender, text := body[21:21+n], body[21+n:]
	theirs, err := ecdh.P256().NewPublicKey(sender)
	require.NoError(t, err)
	shared, err := b.key.ECDH(theirs)
	require.NoError(t, err)
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	require.NoError(t, err)
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	require.NoError(t, err)
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	require.NoError(t, err)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	plain, err := gcm.Open(nil, nonce, text, nil)
	require.NoError(t, err)
	for len(plain) > 0 && plain[len(plain)-1] == 0 { // padding
		plain = plain[:len(plain)-1]
	}
	require.EqualValues(t, 2, plain[len(plain)-1], "the last record")
	return plain[:len(plain)-1]
}

func TestContactForPushServices(t *testing.T) {
	t.Parallel()
	for contact, want := range map[string]string{
		"me@example.org":          "me@example.org",
		"https://example.org/@me": "https://example.org/@me",
		"http://example.org/@me":  "reprise@localhost.invalid",
		"":                        "reprise@localhost.invalid",
	} {
		require.Equal(t, want, subscriber(contact), contact)
	}
}
