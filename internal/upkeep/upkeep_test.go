package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// database counts what is done with it.
type database struct {
	tidied, indexed atomic.Int64
	changes         atomic.Uint64
	locked          atomic.Bool // it can't be indexed
}

func (d *database) Tidy(context.Context) error         { d.tidied.Add(1); return nil }
func (d *database) BuildColumns(context.Context) error { return nil }
func (d *database) Changes() uint64                    { return d.changes.Load() }
func (d *database) Statements() uint64                 { return 0 }
func (d *database) Transactions() uint64               { return 0 }

func (d *database) Index(context.Context) error {
	d.indexed.Add(1)
	if d.locked.Load() {
		return errors.New("locked")
	}
	return nil
}

func TestTheIndexFollowsChangesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		d.locked.Store(true)
		var forgot atomic.Int64
		go func() {
			_ = Options{Store: d, Traffic: d, Forget: func() { forgot.Add(1) },
				Log: slog.New(slog.DiscardHandler)}.Run(t.Context())
		}()
		pass := func(minutes time.Duration) int64 {
			before := d.indexed.Load()
			time.Sleep(minutes*time.Minute + time.Second)
			synctest.Wait()
			return d.indexed.Load() - before
		}
		require.EqualValues(t, 1, pass(0))
		d.locked.Store(false)
		require.EqualValues(t, 1, pass(5), "what failed is done again, once")
		d.changes.Add(1)
		require.EqualValues(t, 1, pass(5), "something has changed")
		require.Zero(t, pass(120), "nothing has")
		require.EqualValues(t, 3, d.tidied.Load(), "each hour")
		require.EqualValues(t, 3, forgot.Load())
	})
}
