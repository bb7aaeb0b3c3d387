package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// listenStore is what the delivery of listens needs of the store.
type listenStore interface {
	// ListensOf returns the listens of a delivery, the oldest first, without those that its provider has.
	ListensOf(ctx context.Context, id int64) ([]library.StoredListen, error)
	// RestoredAt returns when the database was put back from a copy; zero if it never was.
	RestoredAt() time.Time
	// Split moves listens out of a delivery: into new deliveries, or into dead letters of their own.
	Split(ctx context.Context, from Draft, id int64, more [][]int64, dead []Refused) error
	songStore
	sentStore
}

// listenDeliverer delivers listens.
type listenDeliverer struct {
	guard    Guard
	store    listenStore
	registry *providers.Registry
	metrics  attemptCounts
}

// deliver submits the listens of a delivery, except those that the provider has already. To know that, the provider
// must have been read since the delivery was enqueued. Where a play that is sent twice counts twice, it is asked for
// these very plays before a second attempt, and if they may have been sent before the database was restored.
func (d *listenDeliverer) deliver(ctx context.Context, c library.Connection, a *attempt) error {
	takes := d.registry.Get(c.Provider()).Takes
	if err := d.guard.ReadSince(c, a.CreatedAt); err != nil {
		return err
	}
	plays, err := d.store.ListensOf(ctx, a.ID)
	if err != nil || len(plays) == 0 {
		return err
	}
	outcomes, refused, err := d.submit(ctx, a.subject(c), func(ctx context.Context, p listenAdapter) (
		outcomes []error, err error) {
		unsure := a.again() || plays[0].PlayedAt.Before(d.store.RestoredAt())
		if unsure && takes.Doubles {
			if plays, err = d.missingThere(ctx, c, p, plays); err != nil || len(plays) == 0 {
				return nil, err
			}
		}
		if there, ok := p.(providers.LibraryTaker); ok && takes.Library {
			return d.submitTo(ctx, there, c, plays)
		}
		return p.Submit(ctx, plays)
	})
	if refused != nil {
		return d.halve(ctx, draftOf(a), a.ID, plays, refused)
	}
	return d.sort(ctx, a, plays, outcomes, err)
}

// submitAll submits the listens of several deliveries with one call, to a provider that takes a repeat for what it has,
// and returns the outcome for each. If the call is refused whole, it is repeated with each half of them.
func (d *listenDeliverer) submitAll(ctx context.Context, c library.Connection, all []*attempt) []error {
	newest := slices.MaxFunc(all, func(a, b *attempt) int { return a.CreatedAt.Compare(b.CreatedAt) })
	if err := d.guard.ReadSince(c, newest.CreatedAt); err != nil {
		return alike(all, err)
	}
	var plays []library.StoredListen
	ends := make([]int, len(all)) // of each delivery's plays
	for i, a := range all {
		some, err := d.store.ListensOf(ctx, a.ID)
		if err != nil {
			return alike(all, err)
		}
		plays = append(plays, some...)
		ends[i] = len(plays)
	}
	if len(plays) == 0 {
		return alike(all, nil)
	}
	outcomes, refused, err := d.submit(ctx, all[0].subject(c), func(ctx context.Context, p listenAdapter) (
		[]error, error) {
		return p.Submit(ctx, plays)
	})
	if refused != nil {
		half := len(all) / 2
		return slices.Concat(d.some(ctx, c, all[:half]), d.some(ctx, c, all[half:]))
	}
	errs := alike(all, err)
	if len(outcomes) != len(plays) {
		return errs
	}
	begin := 0
	for i, a := range all {
		mine := outcomes[begin:ends[i]]
		if notNow(mine) == nil {
			errs[i] = nil
		}
		errs[i] = d.sort(ctx, a, plays[begin:ends[i]], mine, errs[i])
		begin = ends[i]
	}
	return errs
}

// some is submitAll for any number of deliveries.
func (d *listenDeliverer) some(ctx context.Context, c library.Connection, all []*attempt) []error {
	if len(all) == 1 {
		return alike(all, d.deliver(ctx, c, all[0]))
	}
	return d.submitAll(ctx, c, all)
}

// listenAdapter is the adapter of a connection that takes listens.
type listenAdapter interface {
	providers.Adapter
	providers.ListenTaker
}

// submit submits plays by send. refused is why they were refused whole, in a call that went well itself.
func (d *listenDeliverer) submit(ctx context.Context, subject providers.Subject,
	send func(context.Context, listenAdapter) ([]error, error)) (outcomes []error, refused, err error) {
	err = d.guard.Do(ctx, subject, func(ctx context.Context, _ resilience.Call, p providers.Adapter) (err error) {
		taker, ok := p.(listenAdapter)
		if !ok {
			return fmt.Errorf("%s: adapter takes no listens", subject.Connection.ID)
		}
		outcomes, err = send(ctx, taker)
		if resilience.IsItem(err) {
			refused = err
			return nil
		}
		return cmp.Or(err, notNow(outcomes))
	})
	return outcomes, refused, err
}

// draftOf returns a draft of the same delivery, for some of its listens.
func draftOf(a *attempt) Draft {
	return Draft{User: a.User, Connection: a.Connection, Kind: a.Kind, History: a.History}
}

// sort moves the listens out of a delivery that were not taken, and returns the outcome for what stays.
func (d *listenDeliverer) sort(ctx context.Context, a *attempt, plays []library.StoredListen, outcomes []error,
	err error) error {
	if len(outcomes) != len(plays) {
		return err
	}
	more, dead, refused := divide(plays, outcomes)
	if len(more)+len(dead) == 0 {
		return cmp.Or(refused, err)
	}
	return errors.Join(d.split(ctx, draftOf(a), a.ID, more, dead), refused)
}

// notNow returns why some of a batch were not taken that may be taken later; nil when there are none.
func notNow(outcomes []error) error {
	for _, outcome := range outcomes {
		if outcome != nil && !resilience.IsItem(outcome) {
			return outcome
		}
	}
	return nil
}

// halve searches for the bad listen in a batch that was refused whole: one half stays in the delivery, the other
// becomes another delivery.
func (d *listenDeliverer) halve(ctx context.Context, from Draft, id int64, plays []library.StoredListen,
	refused error) error {
	if len(plays) == 1 {
		return refused
	}
	if err := d.store.Split(ctx, from, id, [][]int64{idsOf(plays[len(plays)/2:])}, nil); err != nil {
		return err
	}
	return errAgain
}

// divide returns what is to leave a delivery: the listens that were refused, as dead letters, and the listens that may
// be taken later, as another delivery. When none was taken, one of the refused ones stays, so that no delivery is left
// empty, and refused is why. When none was taken or refused, nothing is to leave.
func divide(plays []library.StoredListen, outcomes []error) (more [][]int64, dead []Refused, refused error) {
	var rest []int64
	for i, outcome := range outcomes {
		switch {
		case resilience.IsItem(outcome):
			dead = append(dead, Refused{plays[i].ID, explain(resilience.VerdictOf(outcome), outcome)})
			refused = outcome
		case outcome != nil:
			rest = append(rest, plays[i].ID)
		}
	}
	switch {
	case len(rest) == len(plays):
		return nil, nil, nil
	case len(rest)+len(dead) == len(plays):
		dead = dead[:len(dead)-1]
	default:
		refused = nil
	}
	if len(rest) > 0 {
		more = [][]int64{rest}
	}
	return more, dead, refused
}

// split moves listens out of a delivery and counts the dead letters.
func (d *listenDeliverer) split(ctx context.Context, from Draft, id int64, more [][]int64, dead []Refused) error {
	err := d.store.Split(context.WithoutCancel(ctx), from, id, more, dead)
	if err == nil {
		for range dead {
			d.metrics.DeadLetter(resilience.Item)
		}
	}
	return err
}

func idsOf(plays []library.StoredListen) []int64 {
	ids := make([]int64, len(plays))
	for i := range plays {
		ids[i] = plays[i].ID
	}
	return ids
}
