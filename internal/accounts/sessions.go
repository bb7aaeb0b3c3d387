package accounts

import "time"

// Session is a browser in which somebody is signed in.
type Session struct {
	ID         string // names it to its owner; not the secret in its cookie
	Agent      string // the browser, in words
	Address    string // from which it was used last
	SignedInAt time.Time
	UsedAt     time.Time // to a few minutes
}
