package library

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"reprise/internal/words"
)

// Connection is one user's link to one account at a provider, with its credentials. A user may have several connections
// to one provider.
type Connection struct {
	User         int64
	ID           ConnectionID // unique among those of its user
	Name         string       // given by its user; empty for that of the provider
	AccountID    string       // the provider's id of the account
	Account      string       // the account's name, as people read it
	App          string       // see providers.Provider
	Generation   int64        // grows by one with every reconnect
	Credentials  Credentials
	AuthorizedAt time.Time // when the person consented
	ExpiresAt    time.Time // when the authorization ends by itself; zero for never
	Paused       bool
	CreatedAt    time.Time
}

// Provider returns the name of the provider that the connection leads to.
func (c Connection) Provider() string { return c.ID.Provider() }

// SameAccount reports whether two connections of a user lead to one account. Services spell names as they were typed,
// so the case is ignored: taking two accounts for one only keeps plays from going from one to the other.
func (c Connection) SameAccount(other Connection) bool {
	return c.ID == other.ID ||
		c.Provider() == other.Provider() && c.AccountID != "" && strings.EqualFold(c.AccountID, other.AccountID)
}

// ForwardingField is the credential with the [ForwardingAccount] of a person at another installation of Reprise. Other
// servers have none.
const ForwardingField = "reprise"

// ForwardingAccount names the account of a person in an installation of Reprise, which the name of its secret key tells
// from others. Two installations that forward to each other know each other by it, by whatever addresses they call each
// other, and it says nothing about the person.
func ForwardingAccount(installation string, user int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "reprise account %d of %s", user, installation))
	return "reprise-" + hex.EncodeToString(sum[:16])
}

// AccountKey is the same for all connections, of all users, that lead to one account.
func (c Connection) AccountKey() string {
	if c.AccountID == "" {
		return fmt.Sprintf("%s of user %d", c.ID, c.User)
	}
	return c.Provider() + " " + strings.ToLower(c.AccountID)
}

// AccountHash tells the connection's account from others in exports, and says nothing about it; empty without an
// account.
func (c Connection) AccountHash() string {
	if c.AccountID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(c.AccountKey()))
	return hex.EncodeToString(sum[:8])
}

// Here returns which of a person's connections is one of an export from elsewhere, whose account has a hash. It is the
// one with that account; else the id itself, which ok is false for if that is another account here.
func Here(have []Connection, id ConnectionID, account string) (here ConnectionID, ok bool) {
	ok = true
	for _, c := range have {
		hash := c.AccountHash()
		if account == "" || hash == "" || c.Provider() != id.Provider() {
			continue
		}
		if hash == account {
			return c.ID, true
		}
		ok = ok && c.ID != id
	}
	return id, ok
}

// Label returns what people read for the connection: the name that its user gave it, or the provider's, with a number
// from the second connection on.
func (c Connection) Label(displayName string) string {
	switch n := c.ID.Number(); {
	case c.Name != "":
		return c.Name
	case n > 1:
		return displayName + " " + strconv.Itoa(n)
	}
	return displayName
}

// Credentials are what a connection needs to call its provider, by field name. They print as "[redacted]".
type Credentials map[string]string

func (Credentials) String() string       { return "[redacted]" }
func (Credentials) GoString() string     { return "[redacted]" }
func (Credentials) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// StreamRecord is what is kept about one stream of a connection, beside its data. With an empty Stream it is about the
// whole connection.
type StreamRecord struct {
	Connection    ConnectionID
	Stream        string
	Position      string // how far reading has come, in a form that only the reading code knows
	LastSuccessAt time.Time
	Advice        words.Text // what a person should do about the latest failure
	Detail        string     // the latest failure in the upstream's words
	Note          words.Text // what a person should know about the data, such as a gap that cannot be filled
}

// NotOffered is the Position of a stream that the server does not offer to be read.
const NotOffered = "none"

// Outline is what loops over all connections know of one: it is read without opening credentials.
type Outline struct {
	User      int64
	ID        ConnectionID
	App       string
	Paused    bool
	ExpiresAt time.Time // see Connection
}

// Provider returns the name of the provider that the connection leads to.
func (o Outline) Provider() string { return o.ID.Provider() }

// LiveState is what the server that calls a connection's service knows of it, as it keeps that for other servers.
type LiveState struct {
	User       int64
	Connection ConnectionID
	State      []byte
}

// Habit is how one stream of a connection has been used lately.
type Habit struct {
	User       int64
	Connection ConnectionID
	ReadAt     time.Time // when it was last read to the end
	Plays      int       // new plays in the last day
}

// Standing sums up the state of one connection.
type Standing struct {
	Outline
	Read          int       // number of streams that have been read to their end once
	Lacks         []string  // streams that the server does not offer to be read
	LastSuccessAt time.Time // of any stream, deliveries included
}
