package core

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"

	"reprise/internal/accounts"
	"reprise/internal/events"
)

const (
	useEvery     = 5 * time.Minute // how often the use of a session is written
	mostSessions = 50              // of one person
)

// SessionStore keeps sessions.
type SessionStore interface {
	scs.CtxStore
	// Update stores the data of a session that has not ended.
	Update(ctx context.Context, token string, b []byte, expiry time.Time) error
	// Use stores who uses a session, and ends it if its grant has ended. Those that were not used for longest end above
	// most; 0 for no bound.
	Use(ctx context.Context, token string, user int64, use accounts.Session, most int) error
	Of(ctx context.Context, user int64) ([]accounts.Session, error)
	End(ctx context.Context, user int64, id string) error
	EndOthers(ctx context.Context, user int64, token string) (int, error)
	EndAll(ctx context.Context, user int64) (int, error)
	// EndThere ends a user's sessions that began at an issuer; with the name of a session there, only those of it.
	EndThere(ctx context.Context, user int64, issuer, there string) (int, error)
	// EndIssued ends the sessions that began at an issuer before a time, and EndUnknown those that began where this
	// server is none of these clients. Both return whose they were: a user for each.
	EndIssued(ctx context.Context, before time.Time) ([]int64, error)
	EndUnknown(ctx context.Context, known []accounts.Client) ([]int64, error)
	WhoseThere(ctx context.Context, issuer, there string) ([]int64, error)
}

// rows is a SessionStore in which a request stores no session that has ended while the request ran.
type rows struct{ SessionStore }

// CommitCtx implements scs.CtxStore.
func (r rows) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	if visitOf(ctx).loaded == token {
		return r.Update(ctx, token, b, expiry)
	}
	return r.SessionStore.CommitCtx(ctx, token, b, expiry)
}

// visit is a request that has a session, and what became of it.
type visit struct {
	request *http.Request
	address string        // of the client
	loaded  string        // the token of the session that it came with; empty for none
	user    accounts.User // who signed in with this request; zero for nobody
	serial  uint64        // of the last event before anything was read for the answer
}

// path returns what was asked for; empty where there is no visit.
func (v *visit) path() string {
	if v.request == nil {
		return ""
	}
	return v.request.URL.Path
}

type visitKey struct{}

// visitOf returns the visit of a context; a zero one where there is none.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// use stores that a user uses the session of ctx.
func (s *Sessions) use(ctx context.Context, user int64) error {
	v, most := visitOf(ctx), mostSessions
	if s.demoUser != 0 { // who is everybody
		most = 0
	}
	by := s.Arrival(ctx)
	return s.rows.Use(ctx, s.manager.Token(ctx), user, accounts.Session{Agent: accounts.Agent(v.request.UserAgent()),
		Address: v.address, SignedInAt: s.signedInAt(ctx), UsedAt: time.Now(), Way: by.Way,
		Issuer: by.Issuer, Client: by.Client, There: by.There, Grant: by.Grant}, most)
}

// noteUse stores that a user uses the session of ctx, every few minutes and when the address has changed.
func (s *Sessions) noteUse(ctx context.Context, user int64) {
	v := visitOf(ctx)
	if v.loaded == "" || !s.used.due(s.Fingerprint(ctx)+v.address) {
		return
	}
	if err := s.use(ctx, user); err != nil {
		s.log.Error("use of a session cannot be stored", "err", err)
	}
}

// uses knows when the use of each session was written. The zero value is ready to use.
type uses struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due says whether a use is to be written now.
func (u *uses) due(session string) bool {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.at[session]) < useEvery {
		return false
	}
	if u.at == nil || len(u.at) > 10_000 { // some are written once more
		u.at = map[string]time.Time{}
	}
	u.at[session] = now
	return true
}

// Of returns the sessions of a user, the latest sign-in first.
func (s *Sessions) Of(ctx context.Context, user int64) ([]accounts.Session, error) {
	all, err := s.rows.Of(ctx, user)
	return slices.DeleteFunc(all, func(one accounts.Session) bool {
		return one.Way == accounts.ByIssuer && time.Now().After(one.SignedInAt.Add(s.life(one.Way)))
	}), err
}

// Current returns the ID of the session of a request; empty for a request with a token.
func (s *Sessions) Current(ctx context.Context) string {
	if visitOf(ctx).request == nil {
		return ""
	}
	return s.Fingerprint(ctx)
}

// End ends a session of a user and its streams, or returns library.ErrNotFound.
func (s *Sessions) End(ctx context.Context, user int64, id string) error {
	err := s.rows.End(ctx, user, id)
	if err == nil {
		s.Ended(user, id)
	}
	return err
}

// Ended ends the streams of a session of a user that was ended in the database.
func (s *Sessions) Ended(user int64, id string) {
	s.bus.Publish(user, events.Event{Type: events.SessionEnd, ID: id})
}

// EndOthers ends all sessions of a user but that of the request, with their streams, and returns their number.
func (s *Sessions) EndOthers(ctx context.Context, user int64) (int, error) {
	n, err := s.rows.EndOthers(ctx, user, visitOf(ctx).loaded)
	if err == nil {
		s.Recheck(user)
	}
	return n, err
}

// EndThere ends the sessions of a user that began at an issuer, with their streams, and returns their number; with the
// name of a session there, only those of it.
func (s *Sessions) EndThere(ctx context.Context, user int64, issuer, there string) (int, error) {
	n, err := s.rows.EndThere(ctx, user, issuer, there)
	if err == nil {
		s.Recheck(user)
	}
	return n, err
}

// EndIssued ends the sessions of those who came from an issuer longer ago than the setting allows, with their streams.
func (s *Sessions) EndIssued(ctx context.Context) error {
	users, err := s.rows.EndIssued(ctx, time.Now().Add(-s.life(accounts.ByIssuer)))
	s.recheckAll(users)
	return err
}

// EndUnknown ends the sessions of those who came from an issuer at which this server is none of these clients, with
// their streams, and returns their number.
func (s *Sessions) EndUnknown(ctx context.Context, known []accounts.Client) (int, error) {
	users, err := s.rows.EndUnknown(ctx, known)
	s.recheckAll(users)
	return len(users), err
}

func (s *Sessions) recheckAll(users []int64) {
	slices.Sort(users)
	for _, user := range slices.Compact(slices.Clone(users)) {
		s.Recheck(user)
	}
}

// WhoseThere returns whose sessions began with a session at an issuer.
func (s *Sessions) WhoseThere(ctx context.Context, issuer, there string) ([]int64, error) {
	return s.rows.WhoseThere(ctx, issuer, there)
}

// EndAll ends all sessions of a user, with their streams, and returns their number.
func (s *Sessions) EndAll(ctx context.Context, user int64) (int, error) {
	n, err := s.rows.EndAll(ctx, user)
	if err == nil {
		s.Recheck(user)
	}
	return n, err
}
