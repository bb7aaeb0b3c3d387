package library

import (
	"log/slog"
	"time"
)

// Connection is one user's link to one provider.
type Connection struct {
	User         int64
	Provider     string
	AccountID    string
	Account      string // display name of the account
	App          string // see Provider.App
	Generation   int64  // grows by one with every reconnect
	Credentials  Credentials
	AuthorizedAt time.Time // when the person consented
	ExpiresAt    time.Time // when the authorization ends by itself; zero for never
	Paused       bool
	CreatedAt    time.Time
}

// Credentials are what a connection needs to call its provider, by field name. They print as "[redacted]".
type Credentials map[string]string

func (Credentials) String() string       { return "[redacted]" }
func (Credentials) GoString() string     { return "[redacted]" }
func (Credentials) LogValue() slog.Value { return slog.StringValue("[redacted]") }

// StreamRecord is what is kept of one stream beside its data. An empty Stream stands for the whole connection.
type StreamRecord struct {
	Provider      string
	Stream        string
	Reading       string // how far reading has come, in the words of whoever reads
	LastSuccessAt time.Time
	Advice        string // what a person should do about the latest failure
	Detail        string // the latest failure as the upstream put it
	Note          string // what a person should know about the data, such as a hole that cannot be filled
}

// Standing is what the store knows of where a connection stands.
type Standing struct {
	User          int64
	Provider, App string
	Paused        bool
	ExpiresAt     time.Time // see Connection
	Read          int       // how many of its streams have been read to their end once
	LastSuccessAt time.Time // of these, or of what was carried there
}
