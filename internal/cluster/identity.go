package cluster

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Identity is by what servers know each other: a key that those with the same secret key have.
type Identity struct {
	config *tls.Config
	code   string
}

// NewIdentity derives an identity from the secret key.
func NewIdentity(secret string) (Identity, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "reprise between servers", ed25519.SeedSize)
	if err != nil {
		return Identity{}, fmt.Errorf("derive key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	code, err := hkdf.Key(sha256.New, []byte(secret), nil, "reprise setup code", 16)
	if err != nil {
		return Identity{}, fmt.Errorf("derive setup code: %w", err)
	}
	public := key.Public().(ed25519.PublicKey)
	// Nobody reads the certificate but for its key, so that its names and dates do not matter.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "reprise"},
		NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return Identity{}, fmt.Errorf("make certificate: %w", err)
	}
	return Identity{code: hex.EncodeToString(code), config: &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // instead of a name and an issuer, VerifyConnection compares the key itself
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !public.Equal(s.PeerCertificates[0].PublicKey) {
				return errors.New("the other server has another secret key")
			}
			return nil
		},
	}}, nil
}

// SetupCode returns the code for the first account of an installation, the same on all its servers.
func (id Identity) SetupCode() string { return id.code }
