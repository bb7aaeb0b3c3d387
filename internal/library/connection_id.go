package library

import (
	"strconv"
	"strings"
)

// ConnectionID names a connection among those of its person: the provider's name for the first one, and the name with
// a number for the others: "navidrome", "navidrome-2". So a provider's name always means its first connection.
type ConnectionID string

// maxConnections is how many connections to one provider a person may have.
const maxConnections = 99

// NewConnectionID returns the id of the nth connection to a provider, n from 1 to 99; to [PlayerProvider], from 1.
func NewConnectionID(provider string, n int) ConnectionID {
	if n == 1 {
		return ConnectionID(provider)
	}
	return ConnectionID(provider + "-" + strconv.Itoa(n))
}

// PlayerProvider takes the place of a provider in the ids of players: programs that send what they play. Their numbers
// are unique in an installation, and never used again.
const PlayerProvider = "player"

// ParseConnectionID returns s as an id, and false if it doesn't have the form of one. It doesn't say whether there is
// such a provider or connection.
func ParseConnectionID(s string) (ConnectionID, bool) {
	id := ConnectionID(s)
	provider, n := id.split()
	possible := n <= maxConnections || provider == PlayerProvider
	return id, provider != "" && possible && NewConnectionID(provider, n) == id
}

// Provider returns the name of the provider that the connection leads to.
func (id ConnectionID) Provider() string {
	provider, _ := id.split()
	return provider
}

// Number returns 1 for the first connection to its provider, 2 for the second, and so on.
func (id ConnectionID) Number() int {
	_, n := id.split()
	return n
}

func (id ConnectionID) split() (provider string, n int) {
	if i := strings.LastIndexByte(string(id), '-'); i >= 0 {
		if n, err := strconv.Atoi(string(id[i+1:])); err == nil && n > 1 {
			return string(id[:i]), n
		}
	}
	return string(id), 1
}

// NextConnectionID returns the provider's first id that isn't taken, and false if all are.
func NextConnectionID(provider string, taken func(ConnectionID) bool) (ConnectionID, bool) {
	for n := 1; n <= maxConnections; n++ {
		if id := NewConnectionID(provider, n); !taken(id) {
			return id, true
		}
	}
	return "", false
}
