package providertest

import (
	"context"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Submit sends plays to a library as deliveries do: only those whose songs are certainly there. The outcome of any
// other play is an item failure.
func Submit(ctx context.Context, there providers.LibraryTaker, plays []library.StoredListen) ([]error, error) {
	outcomes := make([]error, len(plays))
	var sent []library.StoredListen
	var at []int
	for i, p := range plays {
		if p.Track.SourceID == "" {
			songs, err := there.Find(ctx, p.Track)
			if err != nil {
				return nil, err
			}
			song, ok := match.Sure(p.Track, songs)
			if !ok {
				outcomes[i] = &resilience.AnswerError{Endpoint: "not sent", Code: "not_in_library",
					Meaning: &resilience.Meaning{Class: resilience.Fatal, Category: resilience.Item,
						Scope: resilience.ScopeItem}}
				continue
			}
			p.Track.SourceID = song.SourceID
		}
		sent, at = append(sent, p), append(at, i)
	}
	if len(sent) == 0 {
		return outcomes, nil
	}
	results, err := there.Submit(ctx, sent)
	if results == nil {
		if err == nil {
			return outcomes, nil
		}
		return nil, err
	}
	for i, outcome := range results {
		outcomes[at[i]] = outcome
	}
	return outcomes, err
}
