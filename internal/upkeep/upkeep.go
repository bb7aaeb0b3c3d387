// Package upkeep keeps the stored data small and quick to read while the server runs, and the process within the memory
// of its machine or container.
package upkeep

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	tidyEvery  = time.Hour
	indexEvery = time.Minute
	countEvery = 30 * time.Second
)

// Store is what Run needs of the store.
type Store interface {
	// Tidy deletes what has expired.
	Tidy(context.Context) error
	// Index adds new names to the search index, and BuildColumns gets statistics ready.
	Index(context.Context) error
	BuildColumns(context.Context) error
}

// Traffic counts what the database was asked since the start; Changes counts the statements that changed a row.
type Traffic interface {
	Changes() uint64
	Statements() uint64
	Transactions() uint64
}

// Options are what Run needs. All are required.
type Options struct {
	Store   Store
	Traffic Traffic
	// Forget drops what is in memory of services that are not called any more.
	Forget func()
	Log    *slog.Logger
}

// Run works until ctx ends.
func (o Options) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return every(ctx, tidyEvery, func() { o.tidy(ctx) }) })
	g.Go(func() error { return every(ctx, indexEvery, o.indexer(ctx)) })
	g.Go(func() error {
		return every(ctx, countEvery, func() {
			o.Log.Debug("database", "statements", o.Traffic.Statements(), "transactions", o.Traffic.Transactions())
		})
	})
	return g.Wait()
}

// every calls work now and at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, work func()) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		work()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (o Options) tidy(ctx context.Context) {
	if err := o.Store.Tidy(ctx); err != nil && ctx.Err() == nil {
		o.Log.Error("tidying up failed", "err", err)
	}
	o.Forget()
}

// indexer returns what keeps the search index and the statistics up to date, so that no page waits for them after an
// import. It asks the database nothing while nothing has changed.
func (o Options) indexer(ctx context.Context) func() {
	done, seen := false, uint64(0)
	return func() {
		now := o.Traffic.Changes()
		if done && now == seen {
			return
		}
		words, columns := o.Store.Index(ctx), o.Store.BuildColumns(ctx)
		if words != nil && ctx.Err() == nil {
			o.Log.Error("indexing names failed", "err", words)
		}
		if columns != nil && ctx.Err() == nil {
			o.Log.Error("getting statistics ready failed", "err", columns)
		}
		done, seen = words == nil && columns == nil, now
	}
}
