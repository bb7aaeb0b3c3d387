package sync

import (
	"context"
	"maps"
	"slices"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/resilience"
)

// Journal is the log of what people and the server did.
type Journal interface {
	Note(context.Context, activity.Entry) error
}

// noteworthy is how long a trouble or a wait lasts that a person would ask about although nobody was told of it.
const noteworthy = 10 * time.Minute

// note writes an entry of the log. That it cannot be written stops nothing.
func (g *Guard) note(ctx context.Context, e activity.Entry) {
	if err := g.Store.Note(ctx, e); err != nil {
		g.Log.Error("activity cannot be noted", "err", err)
	}
}

// troubleOf is whom a state is about: a stream, a connection, or all who share an app.
func troubleOf(c library.Connection, key resilience.Key, s resilience.State) resilience.Key {
	switch s.Scope {
	case resilience.ScopeApp:
		return appKey(c)
	case resilience.ScopeConnection:
		return keyOf(c, "")
	}
	return key
}

// noteTrouble notes what happened to a connection, once until a person has done something about it, and sees to it that
// its end is noted.
func (g *Guard) noteTrouble(ctx context.Context, c library.Connection, key resilience.Key, s resilience.State, what activity.Action, detail string) {
	about := troubleOf(c, key, s)
	g.mu.Lock()
	if g.down == nil {
		g.down = map[resilience.Key]activity.Action{}
	}
	known := g.down[about] == what
	g.down[about] = what
	g.mu.Unlock()
	if known {
		return
	}
	g.note(ctx, activity.Entry{User: about.User, Action: what, Provider: c.Provider, Subject: about.Stream, Detail: detail})
}

// noteTold notes a trouble once it has been told; err is why it could not be, and is returned: it is told again later.
func (g *Guard) noteTold(ctx context.Context, c library.Connection, key resilience.Key, s resilience.State, what activity.Action, detail string, err error) error {
	if err == nil {
		g.noteTrouble(ctx, c, key, s, what, detail)
	}
	return err
}

// noteHold notes a wait that was dictated, if it is a long one.
func (g *Guard) noteHold(ctx context.Context, c library.Connection, key resilience.Key, s resilience.State) {
	if time.Until(s.Until) > noteworthy {
		g.noteTrouble(ctx, c, key, s, activity.Held, "It lasts until "+library.Stamp(s.Until)+".")
	}
}

// noteAnew lets the troubles of a connection, and of all who share its app, be noted once more: a person has done something
// about them.
func (g *Guard) noteAnew(user int64, provider string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for about := range g.down {
		if about.Provider == provider && (about.User == user || about.User == 0) {
			g.down[about] = ""
		}
	}
}

// noteForgotten drops the troubles that are a user's or, with the user 0, those of all who share an app: a new credential
// has ended them, or there is no connection any more.
func (g *Guard) noteForgotten(user int64, provider string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.down, func(about resilience.Key, _ activity.Action) bool {
		return about.Provider == provider && about.User == user
	})
}

// noteRecovery notes the end of troubles that were noted, or of one that took long. s is the state that has ended, the
// oldest of what stood against the stream.
func (g *Guard) noteRecovery(ctx context.Context, c library.Connection, key resilience.Key, s resilience.State) {
	about := troubleOf(c, key, s)
	ended := []resilience.Key{about}
	if g.Backoff.State(key).Kind == resilience.Ready { // nothing has begun since, so that all of them have ended
		ended = slices.Compact([]resilience.Key{appKey(c), keyOf(c, ""), key})
	}
	g.mu.Lock()
	ended = slices.DeleteFunc(ended, func(k resilience.Key) bool {
		_, told := g.down[k]
		delete(g.down, k)
		return !told && (k != about || time.Since(s.Since) <= noteworthy)
	})
	g.mu.Unlock()
	for _, k := range ended {
		since := ""
		if k == about {
			since = library.Stamp(s.Since)
		}
		g.note(ctx, activity.Entry{User: k.User, Action: activity.Recovered, Provider: c.Provider, Subject: k.Stream, Detail: since})
	}
}

// noteUplink notes that our own connection to the internet is lost, and that it is back when that was noted.
func (g *Guard) noteUplink(ctx context.Context, offline bool) {
	g.mu.Lock()
	lost := g.uplinkLost
	g.uplinkLost = offline
	g.mu.Unlock()
	switch {
	case offline && !lost:
		g.note(ctx, activity.Entry{Action: activity.UplinkLost})
	case lost && !offline:
		g.note(ctx, activity.Entry{Action: activity.UplinkBack})
	}
}
