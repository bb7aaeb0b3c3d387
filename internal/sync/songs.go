package sync

import (
	"context"
	"fmt"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// songStore keeps which songs people's libraries have.
type songStore interface {
	// SaveSongs stores the songs of a library by their match keys (see music.MatchKey), and returns how many have come
	// or gone.
	SaveSongs(ctx context.Context, c library.Connection, keys map[int64]bool) (changed int, err error)
}

// mostSongs is how many songs of a library are read at most.
const mostSongs = 500_000

// readSongs reads which songs a library has, and returns how many have come or gone. One that has none any more keeps
// those that it had: its disk is missing more often than its music.
func (rd *reader) readSongs(ctx context.Context, c library.Connection, source providers.SongSource) (int, error) {
	keys, read := map[int64]bool{}, 0
	for page, err := range source.Songs(ctx) {
		if err != nil {
			return 0, err
		}
		if read += len(page); read > mostSongs {
			return 0, &resilience.ContractError{Endpoint: library.Songs,
				What: fmt.Sprintf("more than %d songs", mostSongs)}
		}
		for _, t := range page {
			if t.Title != "" && t.Artist != "" {
				keys[music.MatchKey(t.Title, music.Indexed(t.Artist))] = true
			}
		}
	}
	changed := 0
	if len(keys) > 0 {
		var err error
		if changed, err = rd.store.SaveSongs(ctx, c, keys); err != nil {
			return 0, err
		}
	}
	return changed, rd.store.SavePosition(ctx, c.User, c.ID, library.Songs, library.Stamp(time.Now()), words.Text{})
}
