package providers

import (
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Subject is what a call is made for: a stream of a person's connection, the installation as a whole, or a channel of a
// person.
type Subject struct {
	Provider   *Provider          // nil for the connection's provider
	Connection library.Connection // for a channel its owner, name and version; for the installation no user
	Stream     string
	Channel    bool
	Attempt    int // see resilience.Call
}

// OfConnection returns the subject of calls for one stream of a person's connection.
func OfConnection(c library.Connection, stream string) Subject {
	return Subject{Connection: c, Stream: stream}
}

// OfInstallation returns the subject of calls on behalf of the whole installation, such as for facts about music.
func OfInstallation(p *Provider, stream string) Subject {
	return Subject{Provider: p, Connection: library.Connection{ID: library.ConnectionID(p.Name)}, Stream: stream}
}

// OfChannel returns the subject of messages sent by a person's channel. The name tells channels apart, kind names the
// service, and version grows when the person changes the channel.
func OfChannel(user int64, name library.ConnectionID, kind string, version int64) Subject {
	service := &Provider{Description: Description{Name: kind, DisplayName: kind}}
	return Subject{Provider: service, Stream: library.Deliveries, Channel: true,
		Connection: library.Connection{User: user, ID: name, Generation: version}}
}

// Installation reports whether the subject is the installation itself.
func (s Subject) Installation() bool { return s.Connection.User == 0 }

// Terms returns what the outcome of a call for the subject means for its connection. first is the base of the backoff
// of deliveries.
func (s Subject) Terms(first time.Duration) backoff.Terms {
	t := backoff.Terms{Sends: s.Stream == library.Deliveries, First: first, Alone: s.Channel,
		Items: s.Channel || s.Installation(), NamedBy: backoff.NamedByService}
	switch {
	case s.Provider.NamedHost(s.Connection.Credentials) != "":
		t.NamedBy = backoff.NamedByUser
	case s.Provider.OtherAddress() != "":
		t.NamedBy = backoff.NamedBySetting
	}
	return t
}

// Key returns the key of the subject's state in a backoff.
func (s Subject) Key() backoff.Key {
	k := KeyOf(s.Connection, s.Stream)
	if s.Channel { // each channel is its own app
		k.Provider = k.Connection
	}
	return k
}

// AppKey returns the key of all subjects that share an app with s.
func (s Subject) AppKey() backoff.Key {
	if s.Channel {
		return backoff.Key{Connection: string(s.Connection.ID), Provider: string(s.Connection.ID)}
	}
	return AppKey(s.Connection)
}

// KeyFor returns the key of the subject's state in that scope: the app, the connection, or the stream.
func (s Subject) KeyFor(scope resilience.Scope) backoff.Key {
	switch scope {
	case resilience.ScopeApp:
		return s.AppKey()
	case resilience.ScopeConnection:
		return KeyOf(s.Connection, "")
	}
	return s.Key()
}

// KeyOf returns the key of a connection's stream in a backoff; an empty stream means the whole connection.
func KeyOf(c library.Connection, stream string) backoff.Key {
	return backoff.Key{User: c.User, Connection: string(c.ID), Provider: c.Provider(), App: c.App,
		Stream: stream}
}

// AppKey returns the key of all connections that share an app with c.
func AppKey(c library.Connection) backoff.Key {
	return backoff.Key{Connection: c.Provider(), Provider: c.Provider(), App: c.App}
}
