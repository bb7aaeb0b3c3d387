package corrections

import (
	"context"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
	"reprise/internal/store/sendings"
)

// Guess is a listen whose time is a guess, from a service that only counts the plays of a song.
type Guess struct {
	ID   int64
	At   time.Time
	Song string // there
	As   int64  // the track that the song is here
	gone bool   // it was deleted
}

// Invented returns a person's listens that were never played, the earliest first: plays that were sent to an account,
// and that reading it took for plays that were missed.
func (s *Store) Invented(ctx context.Context, user int64) (ids []int64, err error) {
	scan := func(r db.Scanner) (c library.Connection, err error) { return c, r.Scan(&c.User, &c.ID, &c.AccountID) }
	const accounts = "SELECT user_id, connection, account_id FROM connections c "
	counted, err := db.List(ctx, s.db.Reader, scan, accounts+`WHERE user_id = $1 AND EXISTS (SELECT 1 FROM play_counts p
		WHERE p.user_id = c.user_id AND p.connection = c.connection)`, user)
	if err != nil || len(counted) == 0 {
		return nil, err
	}
	all, err := db.List(ctx, s.db.Reader, scan, accounts)
	if err != nil {
		return nil, err
	}
	for _, c := range counted {
		sent := map[int64][]time.Time{}
		for _, from := range all {
			if from.AccountKey() == c.AccountKey() && err == nil {
				err = s.addSent(ctx, from, sent)
			}
		}
		if err != nil {
			return nil, err
		}
		if len(sent) == 0 {
			continue
		}
		guesses, told, err := s.guesses(ctx, c)
		if err != nil {
			return nil, err
		}
		ids = append(ids, Invented(guesses, told, sent)...)
	}
	return ids, nil
}

// addSent adds the times of the listens that were sent to a connection, by track.
func (s *Store) addSent(ctx context.Context, c library.Connection, sent map[int64][]time.Time) error {
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var track, at int64
		err = r.Scan(&track, &at)
		sent[track] = append(sent[track], db.Instant(at))
		return none, err
	}, `SELECT coalesce(p.track_id, 0), l.played_at FROM forwards f JOIN listens l ON l.id = f.listen_id
		JOIN spellings p ON p.id = l.spelling_id WHERE f.user_id = $1 AND f.connection = $2 AND `+sendings.SentAway,
		c.User, c.ID)
	return err
}

// guesses returns the listens with guessed times that a connection has told of, those that were deleted and then the
// earliest first, and the times that it has told of exactly, by song.
func (s *Store) guesses(ctx context.Context, c library.Connection) (all []Guess, told map[string][]time.Time,
	err error) {
	told = map[string][]time.Time{}
	for _, in := range []intake.Pile{intake.Removed, intake.Kept} {
		_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			g := Guess{gone: in.Removed}
			var at int64
			var source string
			var approximate bool
			err = r.Scan(&g.ID, &at, &source, &approximate, &g.As)
			g.At = db.Instant(at)
			if i := strings.LastIndexAny(source, "@#"); i > 0 {
				g.Song = source[:i]
			}
			if !approximate {
				told[g.Song] = append(told[g.Song], g.At)
			} else {
				all = append(all, g)
			}
			return none, err
		},
			"SELECT l.id, l.played_at + s.later, "+listens.IdOf(
				"s")+", l.approximate, coalesce(p.track_id, 0) FROM "+in.Listens+
				" l JOIN "+in.Sources+` s ON s.listen_id = l.id JOIN spellings p ON p.id = l.spelling_id
			WHERE l.user_id = $1 AND `+connections.SourceOf("s", 2)+" ORDER BY l.played_at, l.id", c.User, c.ID)
		if err != nil {
			return nil, nil, err
		}
	}
	return all, told, nil
}

// Invented returns the guesses that were sent: a guess lies between two plays of its song that a service has told of,
// and each play that was sent there between the same two, and that the service has not told of, is one of the guesses.
// Those that were deleted come first.
func Invented(guesses []Guess, told map[string][]time.Time, sent map[int64][]time.Time) (ids []int64) {
	type gap struct {
		song     string
		from, to time.Time
	}
	left := map[gap]int{} // plays that were sent and are no guess yet
	for _, g := range guesses {
		times := told[g.Song]
		slices.SortFunc(times, time.Time.Compare)
		i, _ := slices.BinarySearchFunc(times, g.At, time.Time.Compare)
		if i == 0 || i == len(times) {
			continue
		}
		between := gap{g.Song, times[i-1], times[i]}
		if _, ok := left[between]; !ok {
			left[between] = 0
			for _, at := range sent[g.As] {
				at = at.Truncate(time.Second)
				if at.After(between.from.Truncate(time.Second)) && at.Before(between.to.Truncate(time.Second)) {
					left[between]++
				}
			}
		}
		if left[between] > 0 {
			left[between]--
			if !g.gone {
				ids = append(ids, g.ID)
			}
		}
	}
	return ids
}
