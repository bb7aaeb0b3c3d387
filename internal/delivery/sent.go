package delivery

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// sentStore notes which plays are sent to a library, so that reading it does not take them for plays that were missed.
type sentStore interface {
	// Sending notes that plays are about to be sent, and returns a number for them.
	Sending(ctx context.Context, c library.Connection, plays []library.StoredListen) (first int64, err error)
	// Sent notes that listens have arrived, by this attempt or an earlier one, and that others have not by this one.
	Sent(ctx context.Context, c library.Connection, first int64, arrived, not []int64) error
	// Unsure returns the sendings to the account of a connection that may have arrived, the oldest first.
	Unsure(context.Context, library.Connection) ([]library.Sending, error)
}

// submitNoted submits plays of songs in a library, which are noted before.
func (d *listenDeliverer) submitNoted(ctx context.Context, there providers.LibraryTaker, c library.Connection,
	plays []library.StoredListen) ([]error, error) {
	first, err := d.store.Sending(ctx, c, plays)
	if err != nil {
		return nil, err
	}
	outcomes, err := there.Submit(ctx, plays)
	var arrived, not []int64
	for i, p := range plays {
		outcome := err
		if len(outcomes) == len(plays) {
			outcome = outcomes[i]
		}
		switch {
		case outcome == nil:
			arrived = append(arrived, p.ID)
		case !uncertain(outcome):
			not = append(not, p.ID)
		}
	}
	// If this cannot be noted, their outcome counts as unknown for a day; as an error, it would have them sent again.
	_ = d.store.Sent(context.WithoutCancel(ctx), c, first, arrived, not)
	return outcomes, err
}

// uncertain reports whether something that was sent may have arrived although sending it ended with an error.
func uncertain(err error) bool {
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return false // it was not sent
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return false
	}
	v := resilience.VerdictOf(err)
	return v.Class != resilience.Fatal && v.Category != resilience.RateLimit && v.Category != resilience.CircuitOpen
}

// missingThere returns the plays that a provider does not have at that very second. Reading may not find a play that
// arrives there after a later one, because it lies behind what has been read. Where a provider tells only the last play
// of a song, and that is one that may have arrived, those of the song that were sent before it have arrived, too.
func (d *listenDeliverer) missingThere(ctx context.Context, c library.Connection, p providers.Adapter,
	plays []library.StoredListen) ([]library.StoredListen, error) {
	source, ok := p.(providers.ListenSource)
	if !ok {
		return plays, nil
	}
	unsure, err := d.store.Unsure(ctx, c)
	if err != nil {
		return plays, err
	}
	span := library.Span{After: plays[0].PlayedAt, Before: plays[len(plays)-1].PlayedAt}
	for _, u := range unsure {
		if u.PlayedAt.Before(span.After) {
			span.After = u.PlayedAt
		}
		if u.PlayedAt.After(span.Before) {
			span.Before = u.PlayedAt
		}
	}
	span.After, span.Before = span.After.Add(-2*time.Second), span.Before.Add(2*time.Second)
	there, upTo := map[int64]int{}, map[string]int64{}
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
			for _, u := range unsure {
				if l.PlayCount > 0 && u.Track == l.Track.SourceID && u.PlayedAt.Unix() == l.PlayedAt.Unix() {
					upTo[u.Track] = max(upTo[u.Track], u.ID)
				}
			}
		}
	}
	latest := map[int64]library.Sending{} // of each listen
	for _, u := range unsure {
		latest[u.Listen] = u
	}
	var arrived []int64
	plays = slices.DeleteFunc(slices.Clone(plays), func(p library.StoredListen) bool {
		there[p.PlayedAt.Unix()]--
		u := latest[p.ID]
		if there[p.PlayedAt.Unix()] < 0 && (u.ID == 0 || u.ID > upTo[u.Track]) {
			return false
		}
		arrived = append(arrived, p.ID)
		return true
	})
	return plays, d.store.Sent(ctx, c, 0, arrived, nil)
}
