package players

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/store/db"
)

// sent is what a player has sent, and what becomes of it.
type sent struct {
	player players.Player
	plays  []library.Listen
	added  int
	err    error
	done   chan struct{} // closed when it is committed, or has failed
}

// TakePlays implements players.Store. It returns library.ErrNotFound if the player is gone.
//
// What is sent while another transaction is under way shares the next one: its commit is what takes the time. Who comes
// first waits for that transaction and commits for all.
func (s *Store) TakePlays(ctx context.Context, p players.Player, plays []library.Listen) (added int, err error) {
	one := &sent{player: p, plays: plays, done: make(chan struct{})}
	turn := s.db.Turns(p.User)
	s.mu.Lock()
	s.waiting[turn] = append(s.waiting[turn], one)
	first := len(s.waiting[turn]) == 1
	s.mu.Unlock()
	if first {
		s.commit(context.WithoutCancel(ctx), p.User) // the others' plays are in it
	}
	select {
	case <-one.done:
		return one.added, one.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// commit stores all that waits with a person's plays in one transaction; if that fails, each by itself.
func (s *Store) commit(ctx context.Context, person int64) {
	var all []*sent
	taken := false
	err := s.db.WriteFor(ctx, person, func(ctx context.Context, tx *sql.Tx) error {
		if !taken { // the transaction may begin twice
			all, taken = s.take(person), true
		}
		return s.takeAll(ctx, tx, all)
	})
	if !taken { // it could not begin
		all = s.take(person)
	}
	for _, one := range all {
		switch {
		case err == nil:
		case len(all) == 1:
			one.err = err
		default:
			one.err = s.db.WriteFor(ctx, person, func(ctx context.Context, tx *sql.Tx) error {
				return s.takeAll(ctx, tx, []*sent{one})
			})
		}
		if one.err != nil { // nothing of it was committed
			one.added = 0
		}
		close(one.done)
	}
}

// take returns what waits with a person's plays, which is not waiting any more.
func (s *Store) take(person int64) []*sent {
	turn := s.db.Turns(person)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting[turn]
	delete(s.waiting, turn)
	return all
}

func (s *Store) takeAll(ctx context.Context, tx *sql.Tx, all []*sent) (err error) {
	for _, one := range all {
		if one.added, err = s.takeIn(ctx, tx, one.player, one.plays); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) takeIn(ctx context.Context, tx *sql.Tx, p players.Player, plays []library.Listen) (int, error) {
	fresh, added, err := s.intake.TakeIn(ctx, tx, library.Intake{User: p.User, Connection: p.ID, Listens: plays})
	if err != nil {
		return 0, err
	}
	if len(fresh) == 0 {
		var there int
		return 0, db.Found(tx.QueryRowContext(ctx, "SELECT 1 FROM sending_players WHERE id = $1", numberOf(p.ID)).
			Scan(&there))
	}
	return added, db.Changed(tx.ExecContext(ctx, "UPDATE sending_players SET last_play_at = $1 WHERE id = $2",
		db.Millis(time.Now()), numberOf(p.ID)))
}

// keptUnderway is how long what is known of an item is kept after its last event.
const keptUnderway = 2 * 24 * time.Hour

// TakeEvent implements players.Store.
func (s *Store) TakeEvent(ctx context.Context, p players.Player, item string,
	step func(players.Underway) (players.Underway, *library.Listen)) (added int, err error) {
	player := numberOf(p.ID)
	err = s.db.WriteFor(ctx, p.User, func(ctx context.Context, tx *sql.Tx) error {
		u := players.Underway{Item: item}
		var began, since, played, touched int64
		err := tx.QueryRowContext(ctx, `SELECT began, since, played, taken, touched_at FROM plays_under_way
			WHERE player_id = $1 AND item = $2`, player, item).Scan(&began, &since, &played, &u.Taken, &touched)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			u.Item = ""
		case err != nil:
			return err
		}
		u.Began, u.Since, u.TouchAt = db.Instant(began), db.Instant(since), db.Instant(touched)
		u.Played = db.Length(played)
		next, play := step(u)
		if play != nil {
			if added, err = s.takeIn(ctx, tx, p, []library.Listen{*play}); err != nil {
				return err
			}
		}
		return errors.Join(
			db.ExecTx(ctx, tx, `INSERT INTO plays_under_way (player_id, item, began, since, played, taken, touched_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (player_id, item) DO UPDATE SET began = excluded.began,
				since = excluded.since, played = excluded.played, taken = excluded.taken,
				touched_at = excluded.touched_at`,
				player, item, db.Millis(next.Began), db.Millis(next.Since), next.Played.Milliseconds(),
				db.Flag(next.Taken), db.Millis(next.TouchAt)),
			db.ExecTx(ctx, tx, "DELETE FROM plays_under_way WHERE player_id = $1 AND touched_at < $2", player,
				db.Millis(next.TouchAt.Add(-keptUnderway))))
	})
	return added, err
}
