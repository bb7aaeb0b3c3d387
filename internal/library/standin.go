package library

import "time"

// StandIn is a connection through which the plays of another one come while that one isn't read.
type StandIn struct {
	For, By ConnectionID
	Since   time.Time // when For was read last
	Plays   int       // that By has reported since
}
