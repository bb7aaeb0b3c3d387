package cluster

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// SetupCode returns the code for the first account of an installation, the same on all its servers: it follows from
// their secret key.
func SetupCode(secret string) (string, error) {
	code, err := hkdf.Key(sha256.New, []byte(secret), nil, "reprise setup code", 16)
	if err != nil {
		return "", fmt.Errorf("derive setup code: %w", err)
	}
	return hex.EncodeToString(code), nil
}
