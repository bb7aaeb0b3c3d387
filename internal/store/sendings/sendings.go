package sendings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
)

// Servers that only count plays also count those that were sent to them. So each sending is stored before its request
// leaves, and its end when its outcome is known. Both have numbers of one sequence, and a reading notes the last number
// when it begins: what had ended then is in the counts that it tells, and what began later may be in them or not. Times
// would not do, because clocks are put right.

// sendings names the sequence.
const sendings = "sent_plays"

// LongSent is how long after it began the outcome of a sending may still come.
const LongSent = 24 * time.Hour

// accountKey returns a hash that is the same for all connections to the account of c, also those of other people.
func accountKey(c library.Connection) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.AccountKey()))
	return int64(h.Sum64())
}

// LastSending returns the number of the latest sending, or of the latest end of one; 0 before the first.
func (s *Store) LastSending(ctx context.Context) (n int64, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT coalesce(max(last), 0) FROM sequences WHERE name = $1", sendings).
		Scan(&n)
	return n, db.Explain(err)
}

// Sending notes that plays of songs are about to be sent to the account of a connection, each Track with the SourceID
// that the song has there, and returns the number of the first.
func (s *Store) Sending(ctx context.Context, c library.Connection, plays []library.StoredListen) (first int64,
	err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		if first, err = db.NextIDs(ctx, tx, sendings, len(plays)); err != nil {
			return err
		}
		const width = 7
		now, rows := db.Millis(time.Now()), make([]any, 0, width*len(plays))
		for i, p := range plays {
			rows = append(rows, first+int64(i), c.User, accountKey(c), p.Track.SourceID, p.ID, db.Millis(p.PlayedAt),
				now)
		}
		return db.InsertRows(ctx, tx,
			"INSERT INTO sent_plays (id, user_id, account, track_id, listen_id, played_at, began_at)", width, rows, "")
	})
	return first, err
}

// Sent notes that the outcome of sending listens is known: those that arrived, by this attempt or an earlier one, and
// those that did not arrive by the sendings from a number on.
func (s *Store) Sent(ctx context.Context, c library.Connection, first int64, arrived, not []int64) error {
	if len(arrived)+len(not) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.InChunks(not, func(these string, args []any) error {
			return db.ExecTx(ctx, tx, fmt.Sprintf(`DELETE FROM sent_plays
				WHERE id >= $1 AND listen_id IN %s AND account = $%d`, these, len(args)+2),
				append(append([]any{first}, args...), accountKey(c))...)
		})
		return errors.Join(err, endSendings(ctx, tx, accountKey(c), arrived))
	})
}

// endSendings notes that the sendings of listens to an account are over.
func endSendings(ctx context.Context, tx *sql.Tx, account int64, listens []int64) error {
	ended, err := db.NextIDs(ctx, tx, sendings, 1)
	if err != nil {
		return err
	}
	return db.InChunks(listens, func(these string, args []any) error {
		return db.ExecTx(ctx, tx, fmt.Sprintf(`UPDATE sent_plays SET ended = $1
			WHERE ended = 0 AND listen_id IN %s AND account = $%d`, these, len(args)+2),
			append(append([]any{ended}, args...), account)...)
	})
}

// ForgetSendings ends the sendings whose outcome will not come any more, and deletes those that every reading to come
// has in its counts.
func (s *Store) ForgetSendings(ctx context.Context, before time.Time) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		ended, err := db.NextIDs(ctx, tx, sendings, 1)
		if err != nil {
			return err
		}
		return errors.Join(
			db.ExecTx(ctx, tx, "UPDATE sent_plays SET ended = $1 WHERE ended = 0 AND began_at < $2", ended,
				db.Millis(before)),
			db.ExecTx(ctx, tx, `DELETE FROM sent_plays WHERE ended > 0 AND began_at < $1 AND NOT EXISTS
				(SELECT 1 FROM generations g
				JOIN play_counts p ON p.user_id = g.user_id AND p.connection = g.connection
				WHERE p.track_id = sent_plays.track_id AND p.looked < sent_plays.ended)`, db.Millis(before)))
	})
}

const selectSending = "SELECT id, track_id, listen_id, played_at, ended FROM sent_plays "

// Unsure returns the sendings to the account of a connection whose outcome isn't known, the oldest first.
func (s *Store) Unsure(ctx context.Context, c library.Connection) ([]library.Sending, error) {
	return db.List(ctx, s.db.Reader, scanSending, selectSending+"WHERE account = $1 AND ended = 0 ORDER BY id",
		accountKey(c))
}

// Evidence returns what explains the grown counts of songs at the account of a connection: one for each song.
func (s *Store) Evidence(ctx context.Context, c library.Connection, songs []library.Grown) ([]library.Evidence, error) {
	there, err := connections.AccountOf(ctx, s.db.Reader, c.User, c.ID)
	if err != nil {
		return nil, err
	}
	all := make([]library.Evidence, len(songs))
	for i, song := range songs {
		all[i].Sent, err = db.List(ctx, s.db.Reader, scanSending,
			selectSending+"WHERE account = $1 AND track_id = $2", accountKey(c), song.SourceID)
		if err != nil {
			return nil, err
		}
		all[i].Held, err = db.List(ctx, s.db.Reader, scanHeld, heldOf(there), there.Args(c.User, db.Millis(song.From),
			db.Millis(song.To), music.MatchKey(song.Title, music.Indexed(song.Artist)), library.KindTrack,
			accountKey(c))...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func scanSending(r db.Scanner) (v library.Sending, err error) {
	var at int64
	err = r.Scan(&v.ID, &v.Track, &v.Listen, &at, &v.Ended)
	v.PlayedAt = db.Instant(at)
	return v, err
}

func scanHeld(r db.Scanner) (v library.Held, err error) {
	var at int64
	var sent, forwarded bool
	err = r.Scan(&v.Listen, &at, &v.There, &sent, &forwarded)
	v.PlayedAt, v.There, v.Waiting = db.Instant(at), v.There || sent, forwarded && !sent
	return v, err
}

// SentAway is the condition that the listen of a row f of forwards was sent.
const SentAway = `(f.delivery_id = 0 OR EXISTS
	(SELECT 1 FROM deliveries d WHERE d.id = f.delivery_id AND d.state = 'done'))`

// heldOf selects the listens of the person $1 between the times $2 and $3 that are of the track with the match key $4
// ($5 is that kind): whether the account has reported each, it was sent to it ($6), and it is forwarded to it. The
// account's connections are the arguments from $7 on.
func heldOf(there connections.Account) string {
	return `SELECT l.id, l.played_at,
		EXISTS (SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND ` + there.Sources("s", 7) + `),
		EXISTS (SELECT 1 FROM sent_plays v WHERE v.listen_id = l.id AND v.account = $6)
			OR EXISTS (SELECT 1 FROM forwards f
				WHERE f.listen_id = l.id AND ` + there.In("f.connection", 7) + ` AND ` + SentAway + `),
		EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = l.id AND ` + there.In("f.connection", 7) + `)
		FROM listens l WHERE l.user_id = $1 AND l.played_at > $2 AND l.played_at < $3 AND l.spelling_id IN
			(SELECT id FROM spellings WHERE track_id IN
				(SELECT id FROM entities WHERE kind = $5 AND match_key = $4
				UNION SELECT entity_id FROM joined_keys WHERE kind = $5 AND match_key = $4))`
}
