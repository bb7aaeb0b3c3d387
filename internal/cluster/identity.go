package cluster

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// Identity is by what servers know each other: a key that those with the same secret key have.
type Identity struct {
	config *tls.Config
	code   string
}

// NewIdentity derives an identity from the secret key. Anyone can fetch its certificate, which gives nothing away
// because the key is 256 random bits.
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
	// A certificate that signs itself: who has the key is trusted, and nobody else. Its dates do not matter.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: serverName},
		DNSNames: []string{serverName}, BasicConstraintsValid: true, IsCA: true,
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return Identity{}, fmt.Errorf("make certificate: %w", err)
	}
	known, err := x509.ParseCertificate(der)
	if err != nil {
		return Identity{}, fmt.Errorf("make certificate: %w", err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(known)
	return Identity{code: hex.EncodeToString(code), config: &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   serverName,
		RootCAs:      trusted,
		ClientCAs:    trusted,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}}, nil
}

// serverName is the name that every server has to the others.
const serverName = "reprise"

// SetupCode returns the code for the first account of an installation, the same on all its servers.
func (id Identity) SetupCode() string { return id.code }
