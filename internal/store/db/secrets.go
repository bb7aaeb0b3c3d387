package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrWrongKey is the error of a secret that was sealed with another key.
var ErrWrongKey = errors.New("the secret key doesn't fit this database")

// ErrNoKey is the error of a text that is no secret key.
var ErrNoKey = errors.New("it isn't a key that Reprise made; server new-key prints one")

// secretBytes is the number of random bytes in a secret key.
const secretBytes = 32

// Key seals the secrets of a database with AES-256-GCM, a random nonce for each, and a key derived from the secret key
// by HKDF. A sealed text begins with the ID of the key. It is bound to its place, so that it does not open in another
// row or column.
type Key struct {
	id   string
	aead cipher.AEAD
	mac  []byte
}

// NewSecret returns a new random secret key, as the text that secret.key holds.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

// NewKey derives the sealing key from the text of a secret key as NewSecret returns it, or ErrNoKey. Another text could
// be a phrase, and somebody with a copy of the database could try phrases.
func NewKey(secret string) (*Key, error) {
	secret = strings.TrimSpace(secret)
	if b, err := base64.StdEncoding.Strict().DecodeString(secret); err != nil || len(b) != secretBytes {
		return nil, ErrNoKey
	}
	return Derive(secret)
}

// Derive returns the key that is made from any text, also from one that NewKey refuses.
func Derive(secret string) (*Key, error) {
	derived, err := hkdf.Key(sha256.New, []byte(secret), nil, "reprise secrets at rest", 32+4)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	mac, err := hkdf.Key(sha256.New, []byte(secret), nil, "reprise hashes at rest", 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return &Key{id: hex.EncodeToString(derived[32:]), aead: aead, mac: mac}, nil
}

// ID returns a name of the key that does not reveal it.
func (k *Key) ID() string { return k.id }

// Seal encrypts a text for its place (table, column and row). The column must be one of SealedColumns.
func (k *Key) Seal(plain []byte, place string) string {
	mustBeListed(place)
	return k.id + ":" + base64.StdEncoding.EncodeToString(k.aead.Seal(nil, nil, plain, []byte(place)))
}

// Open decrypts a text that was sealed for the same place.
func (k *Key) Open(sealed, place string) ([]byte, error) {
	id, text, _ := strings.Cut(sealed, ":")
	if id != k.id {
		return nil, ErrWrongKey
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("open secret of %s: %w", place, err)
	}
	plain, err := k.aead.Open(nil, nil, raw, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("open secret of %s: it was changed or moved", place)
	}
	return plain, nil
}

// Wrap encrypts a text that isn't stored, but sent to another server of the same key. Unwrap opens it, for the same
// purpose.
func (k *Key) Wrap(plain []byte, purpose string) string {
	return base64.StdEncoding.EncodeToString(k.aead.Seal(nil, nil, plain, []byte(purpose)))
}

// Unwrap is the opposite of Wrap.
func (k *Key) Unwrap(sealed, purpose string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrWrongKey
	}
	return k.aead.Open(nil, nil, raw, []byte(purpose))
}

// MAC returns 32 bytes, always the same for a text and a purpose, that nobody can tell without the key.
func (k *Key) MAC(text, purpose string) []byte {
	h := hmac.New(sha256.New, k.mac)
	fmt.Fprintf(h, "%d:%s%s", len(purpose), purpose, text)
	return h.Sum(nil)
}

// Fingerprint returns the hash that the database stores in place of a session token.
func Fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
