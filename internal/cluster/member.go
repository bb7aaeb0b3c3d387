package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/leases"
)

const (
	// ConfirmEvery is how often a leader confirms its lease, and how often a server in front asks who leads.
	ConfirmEvery = 2 * time.Second
	// LeaseFor is how long a leader may make upstream calls after its last confirmation was sent.
	LeaseFor = leases.For
	// VacantAfter is when another server may lead instead of one that confirms nothing. It is longer than LeaseFor,
	// because clocks run at slightly different speeds.
	VacantAfter = leases.VacantAfter
	// SilentAfter is when a server that says nothing is listed as silent.
	SilentAfter = 15 * time.Second
	// readyFor is how long a server counts as ready while the database doesn't answer: two answers are missing by then.
	// The load balancer turns to the others before people have waited long.
	readyFor = 2 * ConfirmEvery
	// answerWithin is how long the database may take to answer a confirmation, and claimWithin a claim, which ends the
	// connections of the leader before.
	answerWithin, claimWithin = 5 * time.Second, 20 * time.Second
)

// Server is one of the servers that share a database.
type Server struct {
	ID      string // of the process
	Name    string // of the machine
	Version string
	Started time.Time
	Seen    time.Time // when it was heard of last
	Leads   bool
	Apps    []string // those whose leases it holds
}

// State is what a server does.
type State string

// The states: it leads, it answers what needs no leader and passes on the rest, or nothing is heard of it.
const (
	Leads   State = "leads"
	Answers State = "answers"
	Silent  State = "silent"
)

// States are all of them.
var States = []State{Leads, Answers, Silent}

// State returns what the server does, as far as is known.
func (s Server) State(now time.Time) State {
	switch {
	case now.Sub(s.Seen) > SilentAfter:
		return Silent
	case s.Leads:
		return Leads
	}
	return Answers
}

// Leader is who leads, as the database has it. The zero Leader is nobody.
type Leader struct {
	ID       string        // of the Server
	Lease    int64         // grows with each leader
	Age      time.Duration // since it confirmed
	Released bool          // it has stopped in good order
}

// Vacant reports whether another server may lead.
func (l Leader) Vacant() bool { return l.Lease == 0 || l.Released || l.Age >= VacantAfter }

// Book is where servers write down that they are there, and who leads. All of it is by the clock of the database.
type Book interface {
	// Beat notes that a server is there, and returns who leads.
	Beat(context.Context, Server) (Leader, error)
	// Claim makes a server the leader if the place is vacant, and ends the connections of the leader before. The lease
	// is the former one's plus one; 0 if somebody leads.
	Claim(ctx context.Context, me Server) (lease int64, err error)
	// Confirm notes that the leader is there. It reports false if the lease has ended.
	Confirm(ctx context.Context, lease int64) (bool, error)
	// Resign notes that the leader of a lease has stopped in good order.
	Resign(ctx context.Context, lease int64) error
	// All returns the servers, the leader first.
	All(context.Context) ([]Server, error)
	// Leave removes a server.
	Leave(ctx context.Context, id string) error
}

// Member is this server among those of a database. Safe for concurrent use.
type Member struct {
	me    Server
	book  Book
	log   *slog.Logger
	poke  chan struct{}
	beats chan struct{} // has a value after a beat that the database has answered

	mu      sync.Mutex
	leader  Leader
	heard   time.Time       // when the database answered last
	term    context.Context // ends when leader changes
	endTerm context.CancelFunc
	lease   int64         // 0 while it does not lead
	sent    time.Time     // when the last confirmation that was answered was sent
	lost    chan struct{} // closed when the lease is lost
}

// NewMember returns a Member, which is not heard of before Run.
func NewMember(me Server, book Book, log *slog.Logger) *Member {
	m := &Member{me: me, book: book, log: log, poke: make(chan struct{}, 1), beats: make(chan struct{}, 1)}
	m.term, m.endTerm = context.WithCancel(context.Background())
	return m
}

// Run notes that the server is there, until ctx ends.
func (m *Member) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return m.leave(context.WithoutCancel(ctx))
		case <-timer.C:
		case <-m.poke:
		}
		m.beat(ctx)
		timer.Reset(m.nextBeat())
	}
}

// nextBeat returns how long to wait before the next beat: a place that becomes vacant is noticed at once.
func (m *Member) nextBeat() time.Duration {
	leader, _ := m.Leader()
	if left := VacantAfter - leader.Age; leader.Lease > 0 && left > 0 && left < ConfirmEvery {
		return left
	}
	return ConfirmEvery
}

func (m *Member) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := m.book.Leave(ctx, m.me.ID); err != nil {
		m.log.Warn("this server's name stays in the list of servers", "err", err)
	}
	return nil
}

// beat tells the database that the server is there, and learns who leads.
func (m *Member) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if lease := m.held(); lease > 0 {
		m.confirm(ctx, lease)
	}
	leader, err := m.book.Beat(ctx, m.me)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("the list of servers can't be read", "err", err)
		}
		return
	}
	m.mu.Lock()
	m.heard = time.Now()
	if leader.Lease != m.leader.Lease || leader.Released != m.leader.Released {
		m.endTerm()
		m.term, m.endTerm = context.WithCancel(context.Background())
	}
	m.leader = leader
	m.mu.Unlock()
	select {
	case m.beats <- struct{}{}:
	default:
	}
}

// confirm confirms the lease, and gives it up if it has ended.
func (m *Member) confirm(ctx context.Context, lease int64) {
	sent := time.Now()
	still, err := m.book.Confirm(ctx, lease)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.lease != lease:
	case err == nil && still:
		m.sent = sent
	case err == nil || !m.validLocked(time.Now()):
		m.loseLocked()
	}
}

func (m *Member) loseLocked() {
	m.lease = 0
	close(m.lost)
	m.log.Warn("this server no longer leads")
}

func (m *Member) held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// Await waits until this server may lead, or ctx ends. Only one caller at a time may wait.
func (m *Member) Await(ctx context.Context) error {
	select {
	case <-m.beats: // what it heard may be old
	default:
	}
	m.Ask()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.beats:
		}
		if leader, _ := m.Leader(); leader.Vacant() {
			return nil
		}
	}
}

// Lead makes this server the leader if the place is still vacant. It returns the lease, 0 if somebody else leads, and a
// channel that is closed when it is lost.
func (m *Member) Lead(ctx context.Context) (lease int64, lost <-chan struct{}, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	sent := time.Now()
	lease, err = m.book.Claim(ctx, m.me)
	if err != nil || lease == 0 {
		return 0, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease, m.sent, m.lost = lease, sent, make(chan struct{})
	m.log.Info("this server leads", "lease", lease)
	return lease, m.lost, nil
}

// Resign gives up the lease in good order, so that another server may lead at once. Call it when nothing is written
// and no upstream call is made any more. It does nothing for a server that does not lead.
func (m *Member) Resign(ctx context.Context) error {
	m.mu.Lock()
	lease := m.lease
	m.lease = 0
	m.mu.Unlock()
	if lease == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return m.book.Resign(ctx, lease)
}

// May reports whether the server leads and may make upstream calls.
func (m *Member) May() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease > 0 && m.validLocked(time.Now())
}

// validLocked reports whether the last confirmation is fresh. The wall clock counts too: the other one may stand still
// while a machine is suspended.
func (m *Member) validLocked(now time.Time) bool {
	return now.Sub(m.sent) < LeaseFor && now.Round(0).Sub(m.sent.Round(0)) < LeaseFor
}

// Leader returns who leads, as far as this server knows, and a context that ends when that changes.
func (m *Member) Leader() (_ Leader, term context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader, m.term
}

// Ask has the server look soon who leads.
func (m *Member) Ask() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// Heard reports whether the database has answered lately.
func (m *Member) Heard() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.heard) < readyFor
}
