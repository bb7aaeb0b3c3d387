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

// carryListens sends the listens of a delivery, except those that the provider has already. To know that, the provider
// must have been read since the delivery was written down. Where a second attempt would count twice, it is asked for
// these very plays before one.
func (d *Deliveries) carryListens(ctx context.Context, c library.Connection, j *job) error {
	takes := d.registry.Get(c.Provider).Takes
	if err := d.guard.CaughtUp(c, j.CreatedAt); err != nil {
		return err
	}
	plays, err := d.store.ListensOf(ctx, j.ID)
	if err != nil || len(plays) == 0 {
		return err
	}
	var outcomes []error
	var refused error
	subject := providers.OfConnection(c, library.Deliveries)
	err = d.guard.Do(ctx, subject, func(ctx context.Context, a providers.Adapter) error {
		taker, ok := a.(providers.ListenTaker)
		if !ok {
			return fmt.Errorf("%s: adapter takes no listens", c.Provider)
		}
		var err error
		if j.Again && takes.Doubles {
			if plays, err = missingThere(ctx, a, plays); err != nil || len(plays) == 0 {
				return err
			}
		}
		if outcomes, err = taker.Submit(ctx, plays); resilience.IsItem(err) { // what is refused is the item; the call went well
			refused = err
			return nil
		}
		return cmp.Or(err, notNow(outcomes))
	})
	order := Draft{User: j.User, Provider: j.Provider, Kind: j.Kind, History: j.History}
	if refused != nil {
		return d.halve(ctx, order, j.ID, plays, refused)
	}
	if len(outcomes) != len(plays) {
		return err
	}
	return d.divide(ctx, order, j.ID, plays, outcomes, err)
}

// missingThere leaves out the plays that a provider has at that very second. Reading does not tell of all: a play that
// arrives there after a later one lies behind what has been read.
func missingThere(ctx context.Context, a providers.Adapter, plays []library.StoredListen) ([]library.StoredListen, error) {
	source, ok := a.(providers.ListenSource)
	if !ok {
		return plays, nil
	}
	there := map[int64]int{}
	span := library.Span{After: plays[0].PlayedAt.Add(-2 * time.Second), Before: plays[len(plays)-1].PlayedAt.Add(2 * time.Second)}
	for page, err := range source.Listens(ctx, span) {
		if errors.Is(err, providers.ErrNotOffered) {
			return plays, nil
		}
		if err != nil {
			return plays, err
		}
		for _, l := range page.Listens {
			if !l.Approximate {
				there[l.PlayedAt.Unix()]++
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(plays), func(p library.StoredListen) bool {
		there[p.PlayedAt.Unix()]--
		return there[p.PlayedAt.Unix()] >= 0
	}), nil
}

// notNow is why some of a batch were not taken, though they may be later; nil when there are none.
func notNow(outcomes []error) error {
	for _, outcome := range outcomes {
		if outcome != nil && !resilience.IsItem(outcome) {
			return outcome
		}
	}
	return nil
}

// halve looks for the bad one in a batch that was refused whole: one half stays in the delivery, the other becomes one of
// its own.
func (d *Deliveries) halve(ctx context.Context, o Draft, id int64, plays []library.StoredListen, refused error) error {
	if len(plays) == 1 {
		return refused
	}
	if err := d.store.Split(ctx, o, id, [][]int64{numbers(plays[len(plays)/2:])}, nil); err != nil {
		return err
	}
	return errAgain
}

// divide leaves in a delivery what was taken of it: what was refused becomes dead letters, the rest another delivery.
func (d *Deliveries) divide(ctx context.Context, o Draft, id int64, plays []library.StoredListen, outcomes []error, err error) error {
	var rest []int64
	var dead []Refused
	var refused error
	for i, outcome := range outcomes {
		switch {
		case resilience.IsItem(outcome):
			dead = append(dead, Refused{plays[i].ID, Explain(resilience.VerdictOf(outcome), outcome)})
			refused = outcome
		case outcome != nil:
			rest = append(rest, plays[i].ID)
		}
	}
	taken := len(plays) - len(rest) - len(dead)
	switch {
	case len(rest)+len(dead) == 0, taken == 0 && len(dead) == 0:
		return err
	case taken == 0: // one of the bad ones stays, so that no delivery is left without anything
		dead = dead[:len(dead)-1]
	default:
		refused = nil
	}
	var more [][]int64
	if len(rest) > 0 {
		more = [][]int64{rest}
	}
	err = d.store.Split(context.WithoutCancel(ctx), o, id, more, dead)
	if err == nil {
		for range dead {
			d.opt.Metrics.DeadLetter(resilience.Item)
		}
	}
	return errors.Join(err, refused)
}

func numbers(plays []library.StoredListen) []int64 {
	ids := make([]int64, len(plays))
	for i := range plays {
		ids[i] = plays[i].ID
	}
	return ids
}
