package accounts

import (
	"context"
	"time"
)

// Grant is what an issuer of OpenID Connect gave for a person who signed in, to ask about them later. Its token is a
// secret.
type Grant struct {
	Issuer, ClientID string
	Subject, Nonce   string // of the sign-in
	Token            string // good for one question: the answer has the next one
	Told             bool   // whether UserInfo said something about groups, which it does later, too, if there are any
}

// DueGrant is a grant with the session that has it.
type DueGrant struct {
	ID string
	Grant
	User    int64
	Session Session   // its ID, its browser and address, and when it began
	Asked   time.Time // when the issuer was asked last, or gave the grant
	Admin   bool      // whether the issuer said last that the person administers
}

// GrantStore keeps grants. They are stored sealed.
type GrantStore interface {
	// AddGrant stores a grant for a session that is about to begin, and returns its ID.
	AddGrant(ctx context.Context, g Grant) (id string, err error)
	// OwnGrant says whose session has a grant, and whether its issuer says that they administer.
	OwnGrant(ctx context.Context, id string, user int64, admin bool) error
	// DueGrants returns the grants of sessions that go on, about which no issuer was asked since a time. With those
	// that can be opened it returns an error about those that cannot.
	DueGrants(ctx context.Context, since time.Time) ([]DueGrant, error)
	// TakeGrant notes that an issuer is asked now. It reports false if that was noted since d was read, also by another
	// server, or if the grant is gone.
	TakeGrant(ctx context.Context, d DueGrant) (bool, error)
	// KeepGrant stores what the issuer is asked with next.
	KeepGrant(ctx context.Context, id string, g Grant) error
	// NoteAdmin keeps whether an issuer says that a user administers, with the grants of their sessions from there.
	NoteAdmin(ctx context.Context, user int64, issuer string, admin bool) error
	// EndGrant removes a grant with its session, and reports whether there was one.
	EndGrant(ctx context.Context, id string) (ended bool, err error)
}
