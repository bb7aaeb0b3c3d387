package accounts

import "time"

// Way is how somebody signed in. The names are those of the API.
type Way string

// The ways.
const (
	ByPassword Way = "password"
	ByCode     Way = "code" // a password, and a code of an app or a recovery code
	ByPasskey  Way = "passkey"
	ByIssuer   Way = "openid" // another server, by OpenID Connect
	ByProxy    Way = "proxy"  // a reverse proxy that says who somebody is
)

// Arrival is how somebody came in, with what it takes to end their session at an issuer as well.
type Arrival struct {
	Way    Way
	Issuer string    // empty for another way, like the next ones
	Client string    // what this server is called there
	There  string    // the session at the issuer; empty if it has no name
	Token  string    // the ID token, by which the issuer knows whose session ends
	Grant  string    // names what the issuer is asked with later; empty if it isn't asked
	At     time.Time // when they came; zero for now
	Silent bool      // whether nobody was asked who they are just now
}

// Session is a browser in which somebody is signed in.
type Session struct {
	ID         string // names it to its owner; not the secret in its cookie
	Agent      string // the browser, in words
	Address    string // from which it was used last
	SignedInAt time.Time
	UsedAt     time.Time // to a few minutes
	Way        Way       // empty: before ways were noted
	Issuer     string    // of OpenID Connect; empty for another way
	Client     string    // what this server was called there
	There      string    // the session at the issuer; empty if it has no name
	Grant      string    // what the issuer is asked with once an hour; empty if it isn't asked
}

// Client is what this server is at an issuer of OpenID Connect.
type Client struct{ Issuer, ID string }
