package navidrome

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// playsPerCall limits a call, because a whole call is repeated when its answer is lost.
const playsPerCall = 50

// play is a play with the id of its song.
type play struct {
	index int // in the submitted plays
	song  string
	at    time.Time
}

// Submit implements providers.LibraryTaker. Navidrome accepts many plays in one call, also of songs that it does not
// have. Other servers, such as supysonic and gonic, read only the first one and report success, so they get one call
// per play.
func (a *adapter) Submit(ctx context.Context, plays []library.StoredListen) ([]error, error) {
	if err := a.ready(ctx); err != nil {
		return nil, whole(err)
	}
	outcomes := make([]error, len(plays))
	found := make([]play, len(plays))
	for i := range plays {
		found[i] = play{i, plays[i].Track.SourceID, plays[i].PlayedAt}
	}
	if a.navidrome {
		if err := a.scrobble(ctx, found...); err != nil {
			return nil, err
		}
		return outcomes, nil
	}
	for i, p := range found {
		err := a.scrobble(ctx, p)
		outcomes[p.index] = err
		if err == nil || resilience.IsItem(err) {
			continue
		}
		if i == 0 {
			return nil, err
		}
		for _, later := range found[i+1:] {
			outcomes[later.index] = err
		}
		return outcomes, err
	}
	return outcomes, nil
}

// scrobble sends plays in one call.
func (a *adapter) scrobble(ctx context.Context, plays ...play) error {
	params := url.Values{"submission": {"true"}}
	for _, p := range plays {
		params.Add("id", p.song)
		params.Add("time", strconv.FormatInt(p.at.UnixMilli(), 10))
	}
	_, err := a.write(ctx, "scrobble", params)
	return err
}
