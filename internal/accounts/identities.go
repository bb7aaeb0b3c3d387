package accounts

import (
	"context"
	"errors"
	"time"
)

// Identity is a person as an issuer of OpenID Connect knows them. Issuer and subject together say who it is, and
// nothing else does: names and addresses change hands.
type Identity struct {
	Issuer, Subject string
	User            int64
	Name            string // as the issuer calls them, when they last came from there
	CreatedAt       time.Time
	UsedAt          time.Time
}

var (
	// ErrOthers says that an identity belongs to another account.
	ErrOthers = errors.New("another account has that identity")
	// ErrEmpty says that there is no account yet: the first one is made by who has the server's code, and nobody else.
	ErrEmpty = errors.New("the first account has to be made first")
	// ErrLastWay says that a person would be left without a way to sign in.
	ErrLastWay = errors.New("it is the only way in")
)

// IdentityStore keeps identities.
type IdentityStore interface {
	// UserOfIdentity returns the account of an identity, or ErrUnknown.
	UserOfIdentity(ctx context.Context, issuer, subject string) (User, error)
	// AddIdentity links an identity to the account that it names. Once more, it notes that it was used, and how it is
	// called by now. It is ErrOthers if it belongs to another account.
	AddIdentity(ctx context.Context, i Identity) error
	// AddUserOf makes an account with an identity, or without one if that is zero, in one transaction. With the hash of
	// an invitation, that is used up and says the role. It returns ErrTaken, ErrOthers, ErrLink, or ErrEmpty.
	AddUserOf(ctx context.Context, u User, i Identity, invitation string) (User, error)
	// Identities returns a person's identities, the oldest first.
	Identities(ctx context.Context, user int64) ([]Identity, error)
	// RemoveIdentity unlinks an identity of a person. It returns library.ErrNotFound, or ErrLastWay if no way in would
	// be left that works.
	RemoveIdentity(ctx context.Context, user int64, issuer, subject string, works Works) error
	// Stranded returns the names of those who have no way in that works.
	Stranded(ctx context.Context, works Works) ([]string, error)
}

// Works says which ways in work now. A password always does.
type Works struct {
	Issuers []string                 // those that are set up
	Passkey func(secret []byte) bool // whether a passkey is for the name that the server has now
}
