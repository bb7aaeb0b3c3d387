package accounts

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
)

// The kinds of links.
const (
	Invitation = "invitation" // makes an account
	Reset      = "reset"      // changes a password
)

// How long a link works.
const (
	InvitationLife = 7 * 24 * time.Hour
	ResetLife      = 24 * time.Hour
)

// maxInvitations is the number of invitations that may be open at once.
const maxInvitations = 100

// ErrLink says that a link has been used, taken back or has expired, or never existed.
var ErrLink = errors.New("the link does not work any more")

// Link lets somebody without a password choose one, once. Its code is stored sealed, to show the link again,
// and found by its hash.
type Link struct {
	ID        int64
	Kind      string
	Hash      string // of the code; see HashToken
	Code      string // empty where the key that it was sealed with is lost
	User      int64  // whose password a reset changes
	Name      string // of that account, or proposed to an invited person
	Role      string // of the account that an invitation makes
	MadeBy    int64  // the administrator; 0 for the operator
	By        string // the administrator's name, as it is now
	CreatedAt time.Time
	ExpiresAt time.Time
}

// LinkStore keeps links.
type LinkStore interface {
	// AddLink stores a link and returns it with its ID. A reset takes the place of an earlier one of the same person,
	// and is ErrUnknown without that person. More than most invitations are an InputError.
	AddLink(ctx context.Context, l Link, most int) (Link, error)
	// LinkByHash returns a link that works, or ErrLink.
	LinkByHash(ctx context.Context, hash string) (Link, error)
	// UseInvitation makes an account and removes the link in one transaction. It returns ErrLink, or ErrTaken.
	UseInvitation(ctx context.Context, hash string, u User) (User, error)
	// UseReset changes the password and removes the link in one transaction. It returns ErrLink.
	UseReset(ctx context.Context, hash, password string) (User, error)
}

// Links makes and redeems links. It is safe for concurrent use.
type Links struct {
	store    LinkStore
	accounts *Accounts
}

// NewLinks returns Links.
func NewLinks(store LinkStore, a *Accounts) *Links { return &Links{store: store, accounts: a} }

// Invite makes a link that makes an account of a role, and returns it with its code. The name is a proposal and may be
// empty.
func (k *Links) Invite(ctx context.Context, by int64, name, role string) (l Link, code string, err error) {
	name = strings.TrimSpace(name)
	if name != "" {
		if err := checkName(name); err != nil {
			return l, "", err
		}
	}
	if err := checkRole(role); err != nil {
		return l, "", err
	}
	return k.add(ctx, Link{Kind: Invitation, Name: name, Role: role, MadeBy: by}, InvitationLife)
}

// Reset makes a link that changes a person's password, and returns it with its code. It is ErrUnknown without that
// person.
func (k *Links) Reset(ctx context.Context, by, user int64) (l Link, code string, err error) {
	return k.add(ctx, Link{Kind: Reset, User: user, MadeBy: by}, ResetLife)
}

func (k *Links) add(ctx context.Context, l Link, life time.Duration) (_ Link, code string, err error) {
	code = rand.Text()
	l.Code, l.Hash, l.CreatedAt = code, HashToken(code), time.Now()
	l.ExpiresAt = l.CreatedAt.Add(life)
	l, err = k.store.AddLink(ctx, l, maxInvitations)
	return l, code, err
}

// Find returns the link with a hash of its code, if it works and is of that kind, or ErrLink. It does not use it up.
func (k *Links) Find(ctx context.Context, kind, hash string) (Link, error) {
	l, err := k.store.LinkByHash(ctx, hash)
	if err == nil && l.Kind != kind {
		err = ErrLink
	}
	return l, err
}

// Join makes the account of an invited person, and uses the invitation up. An unusable name or password is an
// InputError, a name in use ErrTaken; the link goes on working then.
func (k *Links) Join(ctx context.Context, hash, name, password string) (User, error) {
	l, err := k.Find(ctx, Invitation, hash)
	if err != nil {
		return User{}, err
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return User{}, err
	}
	u := User{Name: name, Role: l.Role, CreatedAt: time.Now()}
	if u.PasswordHash, err = k.accounts.hash(ctx, name, password); err != nil {
		return u, err
	}
	return k.store.UseInvitation(ctx, hash, u)
}

// Choose changes the password of the person of a link, and uses the link up. An unusable password is an InputError;
// the link goes on working then.
func (k *Links) Choose(ctx context.Context, hash, password string) (User, error) {
	l, err := k.Find(ctx, Reset, hash)
	if err != nil {
		return User{}, err
	}
	stored, err := k.accounts.hash(ctx, l.Name, password)
	if err != nil {
		return User{}, err
	}
	return k.store.UseReset(ctx, hash, stored)
}
