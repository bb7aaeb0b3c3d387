package sync

import (
	"context"
	"sync/atomic"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
)

// Options are the settings of a [Syncer]. Zero values mean the defaults.
type Options struct {
	ListensEvery   time.Duration // default 5 min
	PlaylistsEvery time.Duration // default 15 min
	Workers        int           // runs at once; default 8
	RunTimeout     time.Duration // deadline of one run; default 10 min
	// HistoryPages is how many pages of old plays one run reads at most, so that a long history neither crowds an
	// upstream nor delays new plays; default 60.
	HistoryPages int
	// Audits has the histories of connections compared with what is here, month by month; see package ledger.
	Audits bool

	Metrics *metrics.Metrics // nil for none
	// Began, if set, is called for every run that begins. The run uses the context that it returns, and calls the
	// function that it returns at its end. A run that was refused has no result.
	Began func(context.Context, Key) (context.Context, func(library.Run))
}

func (o Options) withDefaults() Options {
	if o.ListensEvery == 0 {
		o.ListensEvery = 5 * time.Minute
	}
	if o.PlaylistsEvery == 0 {
		o.PlaylistsEvery = 15 * time.Minute
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	if o.RunTimeout == 0 {
		o.RunTimeout = 10 * time.Minute
	}
	if o.HistoryPages == 0 {
		o.HistoryPages = 60
	}
	if o.Began == nil {
		o.Began = func(ctx context.Context, _ Key) (context.Context, func(library.Run)) {
			return ctx, func(library.Run) {}
		}
	}
	return o
}

// options are the settings that hold now.
type options struct{ atomic.Pointer[Options] }

// now returns them; none for a nil options.
func (o *options) now() Options {
	if o == nil {
		return Options{}
	}
	return *o.Load()
}
