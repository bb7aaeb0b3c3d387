package alerts

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// noteworthy is how long a trouble or a wait must last to be logged if no notification was opened for it.
const noteworthy = 10 * time.Minute

// journal writes the activity log, and remembers what it says is wrong at present.
type journal struct {
	log   *slog.Logger
	store interface {
		Note(context.Context, activity.Entry) error
	}

	mu sync.Mutex
	// down are the troubles whose end is to be noted, each with what was noted last; empty when a person has done
	// something about it since, so that it is noted once more if it goes on.
	down       map[backoff.Key]activity.Action
	uplinkLost bool // the log says that our own connection to the internet is lost
}

// note writes an entry. A failure to do so is logged and stops nothing.
func (j *journal) note(ctx context.Context, e activity.Entry) {
	if err := j.store.Note(ctx, e); err != nil {
		j.log.Error("activity cannot be noted", "err", err)
	}
}

// trouble notes what happened to a subject, once until a person has done something about it.
func (j *journal) trouble(
	ctx context.Context, s providers.Subject, st backoff.State, what activity.Action, detail words.Text,
) {
	about := s.KeyFor(st.Scope)
	j.mu.Lock()
	known := j.down[about] == what
	j.down[about] = what
	j.mu.Unlock()
	if !known {
		j.note(ctx, entry(about, what, detail))
	}
}

func entry(about backoff.Key, what activity.Action, detail words.Text) activity.Entry {
	return activity.Entry{User: about.User, Action: what, Connection: library.ConnectionID(about.Connection),
		Subject: about.Stream, Detail: detail}
}

// held notes a dictated wait if it is a long one.
func (j *journal) held(ctx context.Context, s providers.Subject, st backoff.State) {
	if time.Until(st.Until) > noteworthy {
		j.trouble(ctx, s, st, activity.Held, words.New("alert.continues.at", "Until", st.Until))
	}
}

// recovered notes the end of troubles that were noted, or of one that took long. The state of ch is the oldest of those
// that stood against the stream.
func (j *journal) recovered(ctx context.Context, s providers.Subject, ch backoff.Change) {
	about := s.KeyFor(ch.Fault.Scope)
	ended := []backoff.Key{about}
	if ch.Stream.Kind == backoff.Ready { // nothing else prevents it
		c := s.Connection
		ended = slices.Compact([]backoff.Key{providers.AppKey(c), providers.KeyOf(c, ""), s.Key()})
	}
	j.mu.Lock()
	ended = slices.DeleteFunc(ended, func(k backoff.Key) bool {
		_, noted := j.down[k]
		delete(j.down, k)
		return !noted && (k != about || time.Since(ch.Fault.Since) <= noteworthy)
	})
	j.mu.Unlock()
	for _, k := range ended {
		var since words.Text
		if k == about {
			since = words.Plain(library.Stamp(ch.Fault.Since))
		}
		j.note(ctx, entry(k, activity.Recovered, since))
	}
}

// uplink notes that our own connection to the internet is lost, and that it is back if that was noted.
func (j *journal) uplink(ctx context.Context, offline bool) {
	j.mu.Lock()
	lost := j.uplinkLost
	j.uplinkLost = offline
	j.mu.Unlock()
	switch {
	case offline && !lost:
		j.note(ctx, activity.Entry{Action: activity.UplinkLost})
	case lost && !offline:
		j.note(ctx, activity.Entry{Action: activity.UplinkBack})
	}
}

// renew lets the troubles of a connection, and of all that share its app, be noted once more.
func (j *journal) renew(user int64, conn library.ConnectionID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for about := range j.down {
		if about.User == user && about.Connection == string(conn) ||
			about.User == 0 && about.Provider == conn.Provider() {
			j.down[about] = ""
		}
	}
}

// forget drops the troubles of a user's connection or, with user 0, those of an app.
func (j *journal) forget(user int64, conn library.ConnectionID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.down, func(about backoff.Key, _ activity.Action) bool {
		return about.Connection == string(conn) && about.User == user
	})
}

// forgetApps drops the troubles of apps, and of the connections to them.
func (j *journal) forgetApps(of func(backoff.Key) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	forgetApps(j.down, of)
}
