package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"reprise/internal/alerts"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// loveStore keeps what people love.
type loveStore interface {
	// SaveLovesRead stores what a service listed at a time, and what that changes in what its person loves. It returns
	// how many tracks that changed. first means that the service was never read before. If tracks that it listed before
	// are missing, SaveLovesRead stores nothing and returns false, unless sure is set.
	SaveLovesRead(ctx context.Context, c library.Connection, listed []library.Love, at time.Time, first, sure bool) (
		news int, saved bool, err error)
	alerts.Loves
}

const (
	// mostLoves is how many loved tracks of a connection are read at most.
	mostLoves = 50_000
	// lovesAnew is how often all pages are read, although the first one is as it was.
	lovesAnew = 24 * time.Hour
)

// lovePosition is what is known of the latest reading of what a connection loves.
type lovePosition struct {
	First uint64    `json:"first"` // the fingerprint of the first page, and of how many there are; 0 if that isn't known
	At    time.Time `json:"at,omitzero"`
}

// readLoves reads what a connection's account loves, and returns how much of that was news. While the first page is as
// it was, the others are read once a day.
func (rd *reader) readLoves(ctx context.Context, c library.Connection, source providers.LoveSource) (int, error) {
	text, err := rd.store.Position(ctx, c.User, c.ID, library.Loves)
	if err != nil {
		return 0, err
	}
	var was lovePosition
	first := !hasRead(library.Loves, text)
	if !first {
		if err := json.Unmarshal([]byte(text), &was); err != nil {
			return 0, fmt.Errorf("read stored position: %w", err)
		}
	}
	now := lovePosition{At: time.Now()}
	all, pages, err := listLoves(ctx, source, func(page providers.LovePage) bool {
		now.First = firstOf(page)
		return now.First == 0 || now.First != was.First || now.At.Sub(was.At) >= lovesAnew
	})
	p := rd.guard.opt.Registry.Get(c.Provider())
	if err == nil && pages < 0 {
		err = rd.guard.opt.Alerts.Unloved(ctx, p, c, rd.store)
	}
	if err != nil || pages < 0 {
		return 0, err
	}
	news, saved, err := rd.store.SaveLovesRead(ctx, c, all, now.At, first, pages <= 1)
	if err == nil && !saved {
		var more []library.Love
		more, _, err = listLoves(ctx, source, func(providers.LovePage) bool { return true })
		if err == nil {
			news, _, err = rd.store.SaveLovesRead(ctx, c, append(all, more...), now.At, first, true)
		}
	}
	if err != nil {
		return 0, err
	}
	if news > 0 {
		rd.bus.Publish(c.User, events.Event{Type: events.Connection, Connection: c.ID})
	}
	position, err := json.Marshal(now)
	return news, errors.Join(err, rd.guard.opt.Alerts.Unloved(ctx, p, c, rd.store),
		rd.store.SavePosition(ctx, c.User, c.ID, library.Loves, string(position), words.Text{}))
}

// listLoves reads all pages. If further returns false for the first one, it stops there and returns -1 pages.
func listLoves(ctx context.Context, source providers.LoveSource, further func(first providers.LovePage) bool) (
	all []library.Love, pages int, err error) {
	for page, err := range source.Loves(ctx) {
		if err != nil {
			return nil, 0, err
		}
		if pages++; pages == 1 && !further(page) {
			return nil, -1, nil
		}
		for _, v := range page.Loves {
			if v.Clean() {
				all = append(all, v)
			}
		}
		if len(all) > mostLoves {
			return nil, 0, &resilience.ContractError{Endpoint: library.Loves,
				What: fmt.Sprintf("more than %d loved tracks", mostLoves)}
		}
	}
	return all, pages, nil
}

// firstOf returns the fingerprint of a first page; 0 if it doesn't say how many tracks there are.
func firstOf(page providers.LovePage) uint64 {
	if page.Total == 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, page.Total)
	for _, v := range page.Loves {
		fmt.Fprint(h, "\n", v.SourceID, v.Title, v.Artist, v.Score, v.At.Unix())
	}
	return h.Sum64()
}
