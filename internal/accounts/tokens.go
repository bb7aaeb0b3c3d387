package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/words"
)

// Scope is what a personal token allows. Each scope includes the smaller ones.
type Scope string

// The scopes, from the smallest to the largest.
const (
	Read    Scope = "read"    // see what the owner sees
	Operate Scope = "operate" // change what belongs to the owner
	Full    Scope = "admin"   // see and control what all users share, while the owner is an administrator
)

var scopes = []Scope{Read, Operate, Full}

// Covers reports whether s allows what needs other.
func (s Scope) Covers(other Scope) bool {
	return slices.Contains(scopes, s) && slices.Index(scopes, s) >= slices.Index(scopes, other)
}

// Token is a stored personal token, by which a program acts for its owner. Only a hash of its secret is stored.
type Token struct {
	ID         int64
	User       int64
	Name       string
	Hash       string // see HashToken
	LastFour   string
	Scope      Scope
	CreatedAt  time.Time
	LastUsedAt time.Time // to the minute; zero before the first use
	ExpiresAt  time.Time // zero for never
}

// Expired reports whether the token has ended.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) }

// ErrTokenName says that the owner has a token of that name already.
var ErrTokenName = errors.New("there is a token of that name already")

// TokenStore keeps personal tokens.
type TokenStore interface {
	// AddToken stores a token, unless its owner has as many as most already.
	AddToken(ctx context.Context, t Token, most int) (Token, error)
}

// tokenPrefix begins every personal token, so that tools that look for leaked secrets find it.
const tokenPrefix = "reprise_"

// maxTokens is the number of tokens that one person may have.
const maxTokens = 50

// maxTokenLife is the longest time for which a token may be valid, unless it never ends.
const maxTokenLife = 10 * 366 * 24 * time.Hour

// TokenRequest is what a person chooses for a new token.
type TokenRequest struct {
	Name    string
	Scope   Scope
	Expires time.Time // zero for never
}

// MakeToken stores a new token of a user and returns it with its secret, which is shown once and never stored. An
// unusable name, scope or end is an InputError, and so is a token too many.
func MakeToken(ctx context.Context, store TokenStore, u User, req TokenRequest) (t Token, secret string, err error) {
	name, scope, expires := strings.TrimSpace(req.Name), req.Scope, req.Expires
	now := time.Now()
	switch {
	case checkName(name) != nil:
		return Token{}, "", InputError{words.New("input.token_name")}
	case !slices.Contains(scopes, scope):
		return Token{}, "", InputError{words.New("input.token_scope")}
	case scope == Full && u.Role != Admin:
		return Token{}, "", InputError{words.New("input.token_admin")}
	case !expires.IsZero() && !expires.After(now):
		return Token{}, "", InputError{words.New("input.token_ended")}
	case expires.Sub(now) > maxTokenLife:
		return Token{}, "", InputError{words.New("input.token_life")}
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	t, err = store.AddToken(ctx, Token{
		User:      u.ID,
		Name:      name,
		Hash:      HashToken(secret),
		LastFour:  secret[len(secret)-4:],
		Scope:     scope,
		CreatedAt: now,
		ExpiresAt: expires,
	}, maxTokens)
	return t, secret, err
}

// HashToken returns the hash that is stored of a token: SHA-256 in hexadecimal. A fast hash is enough, because the
// secret is random.
func HashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
