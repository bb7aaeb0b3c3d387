package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// A database server that is away comes back at any moment: a server that wants to lead asks every two seconds.
func TestItLeadsSoonAfterTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		tries := 0
		n := Node{Member: newBook().joins(t, "1"), Log: log,
			Prepare: func(context.Context) error {
				tries++
				return &resilience.LocalError{}
			},
			Follow: func(ctx context.Context) (Turn, error) { return Turn{}, &resilience.LocalError{} }}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		n.takeTurns(ctx)
		require.Equal(t, 3, tries)
	})
}

// turns are what a node does, and notes it.
type turns struct {
	mu    sync.Mutex
	all   []string
	fail  error // of leading, once it answers
	fails error // of leading, when it ends
}

func (t *turns) notes(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, what)
}

func (t *turns) since() []string {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all
	t.all = nil
	return all
}

func (t *turns) turn(what string) Turn {
	return Turn{Work: func(ctx context.Context, serves func(Pages)) error {
		serves(pages{})
		t.notes(what)
		t.mu.Lock()
		fail := t.fail
		t.mu.Unlock()
		if what == "leads" && fail != nil {
			return fail
		}
		<-ctx.Done()
		if what == "leads" {
			return t.fails
		}
		return nil
	}, Close: func() error { t.notes("no longer " + what); return nil }}
}

// node returns a node whose turns are noted.
func (b *book) node(t *testing.T, id string) (*Node, *turns) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	m, did := b.joins(t, id), &turns{}
	return &Node{Member: m, Gate: NewGate(m, &desk{}, NewNotes(id, &post{}, log), front{}, log), Log: log,
		Prepare: func(context.Context) error { return nil },
		Lead:    func(context.Context, int64) (Turn, error) { return did.turn("leads"), nil },
		Follow:  func(context.Context) (Turn, error) { return did.turn("follows"), nil }}, did
}

func TestALeaderThatFailsFollowsTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		n, did := b.node(t, "1")
		did.fail = errors.New("the database is away")
		other := b.joins(t, "2")
		go n.takeTurns(t.Context())
		all := did.since()
		require.Contains(t, all, "leads")
		require.Equal(t, "follows", all[len(all)-1], "until it may lead again")
		other.claims(t)
		time.Sleep(time.Hour)
		require.Empty(t, did.since())
	})
}

func TestWhoDoesNotGetTheLeaseGoesOnAnswering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.joins(t, "1").claims(t)
		n, did := b.node(t, "2")
		go n.takeTurns(t.Context())
		require.Equal(t, []string{"follows"}, did.since())
		require.NoError(t, b.Resign(t.Context(), 1))
		_, err := b.Claim(t.Context(), Server{ID: "3"}) // just before
		require.NoError(t, err)
		time.Sleep(time.Second)
		b.grows(-time.Hour)
		time.Sleep(time.Minute)
		require.Empty(t, did.since())
		b.grows(2 * time.Hour)
		time.Sleep(ConfirmEvery)
		all := did.since()
		require.ElementsMatch(t, []string{"leads", "no longer follows"}, all)
	})
}

// What a leader does fails when its lease is lost, because its connections end. That is no reason to stand back.
func TestWhoLostTheLeaseMayHaveItAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		n, did := b.node(t, "1")
		did.fails = errors.New("the connection has ended")
		go n.takeTurns(t.Context())
		require.Contains(t, did.since(), "leads")
		require.NoError(t, b.Resign(t.Context(), 1))
		lease, err := b.Claim(t.Context(), Server{ID: "2"})
		require.NoError(t, err)
		time.Sleep(ConfirmEvery)
		require.Contains(t, did.since(), "no longer leads")
		require.NoError(t, b.Resign(t.Context(), lease))
		time.Sleep(2 * ConfirmEvery)
		require.Contains(t, did.since(), "leads")
	})
}
