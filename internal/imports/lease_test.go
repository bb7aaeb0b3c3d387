package imports_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
	"reprise/internal/leases"
)

// book gives this server the lease of a person's imports, until another server has it.
type book struct {
	leases.Book
	mu     sync.Mutex
	app    string
	holder string // empty for nobody
}

func (b *book) ConfirmLeases(context.Context, string) ([]leases.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder != "me" {
		return nil, nil
	}
	return []leases.Lease{{App: b.app, Number: 1}}, nil
}

func (b *book) Leases(context.Context, string, string) ([]leases.Holding, map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []leases.Holding{{Lease: leases.Lease{App: b.app}, Server: b.holder}},
		map[string]string{"me": "", "other": ""}, nil
}

func (b *book) TakeLease(context.Context, string, leases.Lease) (int64, error) {
	b.moves("me")
	return 1, nil
}

func (b *book) GiveLease(context.Context, leases.Lease) error { return nil }
func (b *book) GiveLeases(context.Context, string) error      { return nil }

func (b *book) moves(to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holder = to
}

// engine has nothing to prepare.
type engine struct{}

func (engine) Prepare(context.Context, []leases.Lease) error { return nil }
func (engine) Says() string                                  { return "-" }
func (engine) Begin([]string)                                {}

// A server reads the files of those whose lease it holds. When that moves while an import waits, the import is another
// server's, and this one doesn't count as in trouble any more.
func TestAnImportThatMovesIsNoTroubleHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))) // after the plays of the files
		b := setup(t)
		friend := b.friend("Ben")
		require.NotEqual(t, leases.ImportsOf(b.user), leases.ImportsOf(friend))
		mine := &book{app: leases.ImportsOf(b.user)}
		apps := leases.NewHolder("me", mine, func() bool { return false }, slog.New(slog.DiscardHandler))
		c := b.config(&full{Store: b.db, full: true})
		c.Apps = apps
		b.Runner = imports.New(c)
		v, others := b.send(b.user, 4000), b.send(friend, 100)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = apps.Run(ctx) })
		running.Go(func() { _ = apps.Work(ctx, engine{}) })
		synctest.Wait()
		running.Go(func() { _ = b.Run(ctx) })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.NotEmpty(t, b.AnyTrouble().String())
		require.Equal(t, imports.Waiting, b.state(friend, others.ID).State, "it is another server's")

		mine.moves("other")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.Empty(t, b.AnyTrouble().String())
		require.Equal(t, imports.Running, b.state(b.user, v.ID).State, "for who has it now")
		stop()
		running.Wait()
	})
}
