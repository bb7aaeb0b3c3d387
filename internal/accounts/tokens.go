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
)

// Scope is what a personal token is good for. Each includes the one before.
type Scope string

// The scopes, from the smallest to the largest.
const (
	Read    Scope = "read"    // see what its owner sees
	Operate Scope = "operate" // change what is its owner's
	Full    Scope = "admin"   // see and steer what all users share, while its owner is an administrator
)

var scopes = []Scope{Read, Operate, Full}

// Covers says whether s is good for what needs other.
func (s Scope) Covers(other Scope) bool {
	return slices.Contains(scopes, s) && slices.Index(scopes, s) >= slices.Index(scopes, other)
}

// Token is a program's right to act in its owner's name, as it is stored. The token itself is not.
type Token struct {
	ID         int64
	User       int64
	Name       string
	Hash       string // SHA-256 of the token, hexadecimal
	LastFour   string
	Scope      Scope
	CreatedAt  time.Time
	LastUsedAt time.Time // zero before the first time; right to the minute
	ExpiresAt  time.Time // zero for never
}

// Expired says whether the token's time is over.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) }

// ErrTokenName says that the owner has a token of that name already.
var ErrTokenName = errors.New("there is a token of that name already")

// TokenStore keeps personal tokens.
type TokenStore interface {
	AddToken(ctx context.Context, t Token, most int) (Token, error)
}

// TokenPrefix begins every personal token, so that one that has leaked can be found.
const TokenPrefix = "reprise_"

// MostTokens is how many tokens one person may have.
const MostTokens = 50

// longestLife is the farthest end that a token may be given.
const longestLife = 10 * 366 * 24 * time.Hour

// MakeToken stores a new token of a user and returns it together with its secret, which nobody can find out later. What
// is wrong with the name, the scope or the end is an InputError; so is one token too many.
func MakeToken(ctx context.Context, store TokenStore, u User, name string, scope Scope, expires time.Time) (Token, string, error) {
	name = strings.TrimSpace(name)
	now := time.Now()
	switch {
	case checkName(name) != nil:
		return Token{}, "", InputError("Give the token a name of 1 to 64 characters, such as that of the program which will use it.")
	case !slices.Contains(scopes, scope):
		return Token{}, "", InputError(`The scope is "read", "operate" or "admin".`)
	case scope == Full && u.Role != Admin:
		return Token{}, "", InputError("Only an administrator can make a token for administration.")
	case !expires.IsZero() && !expires.After(now):
		return Token{}, "", InputError("The token would have ended already. Choose a later time, or none.")
	case expires.Sub(now) > longestLife:
		return Token{}, "", InputError("A token ends within ten years, or never.")
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret := TokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	t, err := store.AddToken(ctx, Token{User: u.ID, Name: name, Hash: HashToken(secret), LastFour: secret[len(secret)-4:], Scope: scope,
		CreatedAt: now, ExpiresAt: expires}, MostTokens)
	return t, secret, err
}

// HashToken is what is stored of a token. A token is random, so that a fast hash is enough.
func HashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
