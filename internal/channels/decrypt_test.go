package channels

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
)

// open decrypts a push as its browser does (RFC 8188, section 2, and RFC 8291, section 3.4).
func (b browser) open(t *testing.T, body []byte) []byte {
	t.Helper()
	salt, n := body[:16], int(body[20])
	sender, text := body[21:21+n], body[21+n:]
	theirs, err := ecdh.P256().NewPublicKey(sender)
	require.NoError(t, err)
	shared, err := b.key.ECDH(theirs)
	require.NoError(t, err)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(sender), 32)
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
