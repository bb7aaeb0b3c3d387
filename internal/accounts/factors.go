package accounts

import (
	"context"
	"time"
)

// The kinds of factors.
const (
	Codes   = "codes"   // of an app, beside the password (RFC 6238)
	Passkey = "passkey" // in place of a password (WebAuthn)
)

// MostPasskeys is how many a person may have.
const MostPasskeys = 20

// Factor is what a person shows beside or in place of a password.
type Factor struct {
	ID         int64
	User       int64
	Kind       string
	Name       string // that the person gave it
	Credential string // by which a browser names a passkey; empty for codes
	Secret     []byte // stored sealed: the key of the codes, or what WebAuthn keeps of a passkey
	Confirmed  bool   // codes count only after one of them was typed
	Step       int64  // of the last code that was used, in half minutes since 1970
	CreatedAt  time.Time
	UsedAt     time.Time
}

// FactorStore keeps factors and recovery codes.
type FactorStore interface {
	// AddFactor stores a factor and returns it with its ID. New codes take the place of those that were not confirmed.
	// It is ErrTaken for a passkey that exists, an InputError above MostPasskeys, ErrUnknown without that person.
	AddFactor(ctx context.Context, f Factor) (Factor, error)
	// Factors returns a person's factors, the oldest first.
	Factors(ctx context.Context, user int64) ([]Factor, error)
	// FactorByCredential returns the passkey that a browser names, or library.ErrNotFound.
	FactorByCredential(ctx context.Context, credential string) (Factor, error)
	// ConfirmCodes makes the codes of a person count, in place of earlier ones, and stores the hashes of their recovery
	// codes. It returns library.ErrNotFound, also if they count already.
	ConfirmCodes(ctx context.Context, user, id, step int64, recovery []string) error
	// UseStep notes that the code of a step was used. It reports false if that one or a later one was used before.
	UseStep(ctx context.Context, id, step int64) (fresh bool, err error)
	// UseRecovery uses up a recovery code by its hash, and returns how many are left. It is ErrWrong for none.
	UseRecovery(ctx context.Context, user int64, hash string) (left int, err error)
	// SetRecovery stores the hashes of new recovery codes in place of the earlier ones.
	SetRecovery(ctx context.Context, user int64, hashes []string) error
	// RecoveryLeft returns how many recovery codes a person has.
	RecoveryLeft(ctx context.Context, user int64) (int, error)
	// UsePasskey stores what WebAuthn keeps of a passkey after it was used. It returns library.ErrNotFound if the
	// passkey was removed, or used since it was read.
	UsePasskey(ctx context.Context, f Factor, secret []byte) error
	// RenameFactor returns library.ErrNotFound if the person has no such passkey.
	RenameFactor(ctx context.Context, user, id int64, name string) error
	// RemoveFactor removes a factor of a person, and with the codes the recovery codes. It returns library.ErrNotFound,
	// or ErrLastWay if no way in would be left that works.
	RemoveFactor(ctx context.Context, user, id int64, works Works) error
	// RemoveCodes removes the codes of a person, and reports whether they counted. It needs no secret key.
	RemoveCodes(ctx context.Context, user int64) (counted bool, err error)
}
