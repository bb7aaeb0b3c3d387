package alerts

import (
	"context"
	"maps"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

// memory is what is known of the outcomes of calls since the start.
type memory struct {
	mu sync.Mutex
	// failed is the Seq of the latest failure of a stream, a connection or an app.
	failed map[backoff.Key]uint64
	// closed are the streams whose alerts were closed after their latest failure: a further success need not look.
	closed map[backoff.Key]bool
	// owed are the consequences that could not be stored, by stream.
	owed map[backoff.Key]func(context.Context) error
	// advice is what the latest failure of an app advised, for all its users.
	advice map[backoff.Key]words.Text
	// stored is when a success of a stream of deliveries was stored last.
	stored map[backoff.Key]time.Time
	// mended is who has done something about a connection or, without a user, an app, and when.
	mended map[mendable]mending
}

// mendable is a connection or, without a user, an app.
type mendable struct {
	user int64
	conn library.ConnectionID
}

// mending is that a person has done something about a trouble.
type mending struct {
	by int64
	at time.Time
}

// mendedFor is how long after a person's click a recovery counts as theirs. They see it on the page and get no message
// about it. It is long because a run may take a while.
const mendedFor = 5 * time.Minute

func newMemory() *memory {
	return &memory{failed: map[backoff.Key]uint64{}, closed: map[backoff.Key]bool{},
		owed:   map[backoff.Key]func(context.Context) error{},
		advice: map[backoff.Key]words.Text{}, stored: map[backoff.Key]time.Time{},
		mended: map[mendable]mending{}}
}

// mend notes that a person has acted on a trouble. by is their id; 0, for no person, changes nothing.
func (m *memory) mend(user int64, conn library.ConnectionID, by int64) {
	if by == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.mended, func(_ mendable, v mending) bool { return time.Since(v.at) > mendedFor })
	m.mended[mendable{user, conn}] = mending{by: by, at: time.Now()}
}

// mender returns who has mended what a success of the subject closes: the person who has just done something about it,
// or 0.
func (m *memory) mender(s providers.Subject) int64 {
	c := s.Connection
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, what := range []mendable{{c.User, c.ID}, {0, library.ConnectionID(c.Provider())}} {
		if v, ok := m.mended[what]; ok && time.Since(v.at) <= mendedFor {
			return v.by
		}
	}
	return 0
}

// fail notes a failure, after which alerts of everything that it concerns may be open.
func (m *memory) fail(at backoff.Key, seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed[at] = max(m.failed[at], seq)
	maps.DeleteFunc(m.closed, func(k backoff.Key, _ bool) bool {
		return k.User == at.User && k.Connection == at.Connection || at.User == 0 && k.Provider == at.Provider
	})
}

// failedSince reports whether a failure of the stream, its connection or its app is newer than a success.
func (m *memory) failedSince(s providers.Subject, success uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range []backoff.Key{s.Key(), providers.KeyOf(s.Connection, ""), s.AppKey()} {
		if m.failed[k] > success {
			return true
		}
	}
	return false
}

// succeed drops what is owed for a stream, and reports whether its alerts have been closed already.
func (m *memory) succeed(k backoff.Key) (closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owed, k)
	return m.closed[k]
}

// close notes that the alerts of a stream have been closed.
func (m *memory) close(k backoff.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed[k] = true
	delete(m.failed, k)
}

// draw calls consequences, and keeps the function if it fails.
func (m *memory) draw(ctx context.Context, k backoff.Key, consequences func(context.Context) error) error {
	err := consequences(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owed, k)
	if err != nil {
		m.owed[k] = consequences
	}
	return err
}

// redraw calls the function that draw has kept for a stream, if there is one.
func (m *memory) redraw(ctx context.Context, k backoff.Key) error {
	m.mu.Lock()
	owed := m.owed[k]
	m.mu.Unlock()
	if owed == nil {
		return nil
	}
	return m.draw(ctx, k, owed)
}

func (m *memory) setAdvice(app backoff.Key, advice words.Text) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advice[app] = advice
}

func (m *memory) adviceFor(app backoff.Key) words.Text {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.advice[app]
}

// storeEvery is how often a success of deliveries is stored: a backlog makes many calls.
const storeEvery = time.Minute

// store reports whether a success of a stream is to be stored now, and takes it for stored.
func (m *memory) store(k backoff.Key, recovered bool) bool {
	if k.Stream != library.Deliveries {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.stored[k]) < storeEvery {
		return recovered
	}
	m.stored[k] = time.Now()
	return true
}

// forget drops what is known of a connection. What is owed was about its old credential.
func (m *memory) forget(user int64, conn library.ConnectionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	forget(m.failed, user, conn)
	forget(m.closed, user, conn)
	forget(m.owed, user, conn)
	forget(m.stored, user, conn)
}

func forget[V any](m map[backoff.Key]V, user int64, conn library.ConnectionID) {
	maps.DeleteFunc(m, func(k backoff.Key, _ V) bool { return k.User == user && k.Connection == string(conn) })
}

// forgetApps drops what is known of apps and of the connections to them. of is asked with their keys.
func (m *memory) forgetApps(of func(backoff.Key) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	forgetApps(m.failed, of)
	forgetApps(m.closed, of)
	forgetApps(m.owed, of)
	forgetApps(m.advice, of)
	forgetApps(m.stored, of)
}

func forgetApps[V any](m map[backoff.Key]V, of func(backoff.Key) bool) {
	maps.DeleteFunc(m, func(k backoff.Key, _ V) bool { return of(k) })
}
