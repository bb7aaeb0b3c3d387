package players

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/people"
)

const selectPlayer = `SELECT p.id, p.user_id, u.name, p.name, p.kind, p.last_four, p.proof, p.mirrors, p.paused,
	p.created_at, p.heard_at, p.last_play_at FROM sending_players p JOIN users u ON u.id = p.user_id `

func (s *Store) scan(r db.Scanner) (p players.Player, err error) {
	var id, created, heard, played int64
	var sealed string
	err = r.Scan(&id, &p.User, &p.UserName, &p.Name, &p.Kind, &p.LastFour, &sealed, &p.Mirrors, &p.Paused, &created,
		&heard, &played)
	p.ID = library.NewConnectionID(library.PlayerProvider, int(id))
	p.CreatedAt, p.HeardAt, p.LastPlayAt = db.Instant(created), db.Instant(heard), db.Instant(played)
	if err != nil || sealed == "" {
		return p, err
	}
	proof, err := s.db.Key.Open(sealed, proofPlace(id))
	p.Proof = string(proof)
	return p, err
}

// proofPlace returns the place that the proof of a player is sealed for.
func proofPlace(id int64) string { return "sending_players.proof." + strconv.FormatInt(id, 10) }

// numberOf returns the number of a player; 0 for an id that no player has.
func numberOf(id library.ConnectionID) int {
	if id.Provider() != library.PlayerProvider {
		return 0
	}
	return id.Number()
}

// Players returns a person's players, by name.
func (s *Store) Players(ctx context.Context, user int64) ([]players.Player, error) {
	return db.List(ctx, s.db.Reader, s.scan, selectPlayer+"WHERE p.user_id = $1 ORDER BY p.name, p.id", user)
}

// AllPlayers returns the players of all people.
func (s *Store) AllPlayers(ctx context.Context) ([]players.Player, error) {
	return db.List(ctx, s.db.Reader, s.scan, selectPlayer+"WHERE TRUE"+stays+" ORDER BY p.id")
}

// Player returns a person's player, or library.ErrNotFound.
func (s *Store) Player(ctx context.Context, user int64, id library.ConnectionID) (players.Player, error) {
	return s.one(ctx, "WHERE p.user_id = $1 AND p.id = $2", user, numberOf(id))
}

func (s *Store) one(ctx context.Context, where string, args ...any) (players.Player, error) {
	p, err := s.scan(s.db.Reader.QueryRowContext(ctx, selectPlayer+where, args...))
	return p, db.Found(err)
}

// stays is the condition that the person of a player is not about to be removed.
const stays = " AND u.role <> '" + people.Leaving + "'"

// PlayerByHash implements players.Store.
func (s *Store) PlayerByHash(ctx context.Context, hash string) (players.Player, error) {
	return s.one(ctx, "WHERE (p.hash = $1 OR p.session_hash = $1)"+stays, hash)
}

// PlayerByKey implements players.Store.
func (s *Store) PlayerByKey(ctx context.Context, key string) (players.Player, error) {
	return s.one(ctx, "WHERE p.api_key = $1 AND p.api_key <> ''"+stays, key)
}

// GrantPlayer lets the holder of a token fetch a player's session key, once, until a time.
func (s *Store) GrantPlayer(ctx context.Context, p players.Player, token string, until time.Time) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx, `UPDATE sending_players SET grant_hash = $1, grant_until = $2
			WHERE id = $3 AND proof <> ''`, players.Hash(token), db.Millis(until), numberOf(p.ID)))
	})
}

// RedeemGrant implements players.Store.
func (s *Store) RedeemGrant(ctx context.Context, token string) (p players.Player, err error) {
	p, err = s.one(ctx, "WHERE p.grant_hash = $1 AND p.grant_until > $2"+stays, players.Hash(token),
		db.Millis(time.Now()))
	if err != nil {
		return p, err
	}
	return p, s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx, "UPDATE sending_players SET grant_hash = '' WHERE grant_hash = $1",
			players.Hash(token)))
	})
}

// PlayersOf implements players.Store.
func (s *Store) PlayersOf(ctx context.Context, user string) ([]players.Player, error) {
	return db.List(ctx, s.db.Reader, s.scan,
		selectPlayer+"WHERE u.name_key = $1 AND p.proof <> ''"+stays+" ORDER BY p.id", accounts.NameKey(user))
}

// AddPlayer stores a player with its secret, and returns it with its id. It returns players.ErrName if its person has
// one of that name, and players.ErrMany if they have as many as most.
func (s *Store) AddPlayer(ctx context.Context, p players.Player, secret string, most int) (players.Player, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		var all, same int
		err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN name = $2 THEN 1 ELSE 0 END), 0)
			FROM sending_players WHERE user_id = $1`, p.User, p.Name).Scan(&all, &same)
		switch {
		case err != nil:
			return err
		case same > 0:
			return players.ErrName
		case all >= most:
			return players.ErrMany
		}
		id, err := db.NextIDs(ctx, tx, "sending_players", 1)
		if err != nil {
			return err
		}
		p.ID = library.NewConnectionID(library.PlayerProvider, int(id))
		err = db.ExecTx(ctx, tx, `INSERT INTO sending_players
			(id, user_id, name, kind, hash, last_four, mirrors, created_at)
			VALUES ($1, $2, $3, $4, $5, '', $6, $7)`, id, p.User, p.Name, p.Kind, players.Hash(secret), p.Mirrors,
			db.Millis(p.CreatedAt))
		if err != nil {
			return err
		}
		p, err = s.giveSecret(ctx, tx, p, secret)
		return err
	})
	return p, err
}

// giveSecret stores the secret of a player, and what its kind needs to check proofs of it.
func (s *Store) giveSecret(ctx context.Context, tx *sql.Tx, p players.Player, secret string) (players.Player, error) {
	id := int64(numberOf(p.ID))
	p.LastFour, p.Proof = secret[len(secret)-4:], ""
	var sealed, session, key string
	if p.Kind.Proves() {
		p.Proof = players.MD5(secret)
		sealed = s.db.Key.Seal([]byte(p.Proof), proofPlace(id))
		session, key = players.Hash(players.SessionKey(p.Proof)), players.APIKey(p.Proof)
	}
	return p, db.Changed(tx.ExecContext(ctx, `UPDATE sending_players SET hash = $1, last_four = $2, proof = $3,
		session_hash = $4, api_key = $5, kind = $6, grant_hash = '' WHERE id = $7`,
		players.Hash(secret), p.LastFour, sealed, session, key, p.Kind, id))
}

// RenewSecret gives a player another secret; the old one opens nothing from then on.
func (s *Store) RenewSecret(ctx context.Context, p players.Player, secret string) (players.Player, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		if p, err = s.giveSecret(ctx, tx, p, secret); err != nil {
			return err
		}
		p.HeardAt = time.Time{} // not with this secret
		return db.Changed(tx.ExecContext(ctx, "UPDATE sending_players SET heard_at = 0 WHERE id = $1", numberOf(p.ID)))
	})
	return p, err
}

// ChangePlayer stores the name of a player, whether it is paused, and which connection it mirrors. It returns
// players.ErrName if its person has another one of that name, and library.ErrNotFound.
func (s *Store) ChangePlayer(ctx context.Context, p players.Player) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var same int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sending_players
			WHERE user_id = $1 AND name = $2 AND id <> $3`, p.User, p.Name, numberOf(p.ID)).Scan(&same)
		if err != nil {
			return err
		}
		if same > 0 {
			return players.ErrName
		}
		return db.Changed(tx.ExecContext(ctx, `UPDATE sending_players SET name = $1, paused = $2, mirrors = $3
			WHERE user_id = $4 AND id = $5`, p.Name, db.Flag(p.Paused), p.Mirrors, p.User, numberOf(p.ID)))
	})
}

// NotePlayer implements players.Store.
func (s *Store) NotePlayer(ctx context.Context, id library.ConnectionID, at time.Time) error {
	return s.db.Exec(ctx, "UPDATE sending_players SET heard_at = $1 WHERE id = $2", db.Millis(at), numberOf(id))
}

// ForwardingAccount names the account of a person here to other installations; see library.ForwardingAccount.
func (s *Store) ForwardingAccount(user int64) string {
	return library.ForwardingAccount(s.db.Key.ID(), user)
}

// MirrorPlayer implements players.Store.
func (s *Store) MirrorPlayer(ctx context.Context, id, mirrors library.ConnectionID) error {
	return s.db.Exec(ctx, "UPDATE sending_players SET mirrors = $1 WHERE id = $2 AND mirrors = ''", mirrors,
		numberOf(id))
}

// PlayedSince returns how many plays a player has sent that began at a time or later.
func (s *Store) PlayedSince(ctx context.Context, user int64, id library.ConnectionID, from time.Time) (n int,
	err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT count(*) FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		WHERE l.user_id = $1 AND l.played_at >= $3 AND `+connections.SourceOf("s", 2), user, id, db.Millis(from)).
		Scan(&n)
	return n, db.Explain(err)
}

// HabitOf returns how often a player has sent plays that began at a time or later.
func (s *Store) HabitOf(ctx context.Context, user int64, id library.ConnectionID, from time.Time) (h players.Habit,
	err error) {
	var longest, latest int64
	err = s.db.Reader.QueryRowContext(ctx, `SELECT count(*), coalesce(max(gap), 0), coalesce(max(at), 0) FROM
		(SELECT l.played_at AS at, l.played_at - LAG(l.played_at) OVER (ORDER BY l.played_at) AS gap
		FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		WHERE l.user_id = $1 AND l.played_at >= $3 AND `+connections.SourceOf("s", 2)+") AS plays", user, id,
		db.Millis(from)).Scan(&h.Plays, &longest, &latest)
	h.Longest, h.Latest = db.Length(longest), db.Instant(latest)
	return h, db.Explain(err)
}

// HistoryOf returns when a person's first and latest listens began; zero without any.
func (s *Store) HistoryOf(ctx context.Context, user int64) (first, latest time.Time, err error) {
	var from, to int64
	err = s.db.Reader.QueryRowContext(ctx, `SELECT coalesce(min(played_at), 0), coalesce(max(played_at), 0) FROM listens
		WHERE user_id = $1`, user).Scan(&from, &to)
	return db.Instant(from), db.Instant(to), db.Explain(err)
}

// mostRefusals is how many refused requests of a player are kept.
const mostRefusals = 20

// NoteRefusal implements players.Store.
func (s *Store) NoteRefusal(ctx context.Context, id library.ConnectionID, r players.Refusal) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		n, err := db.NextIDs(ctx, tx, "refused_plays", 1)
		if err != nil {
			return err
		}
		player := numberOf(id)
		return errors.Join(
			db.ExecTx(ctx, tx, `INSERT INTO refused_plays (id, player_id, at, request, reason, detail)
				SELECT $1, id, $3, $4, $5, $6 FROM sending_players WHERE id = $2`, n, player, db.Millis(r.At),
				r.Request, string(r.Why), r.Detail),
			db.ExecTx(ctx, tx, `DELETE FROM refused_plays WHERE player_id = $1 AND id NOT IN
				(SELECT id FROM refused_plays WHERE player_id = $1 ORDER BY id DESC LIMIT $2)`, player, mostRefusals))
	})
}

// Refusals returns what was refused of a player, the latest first.
func (s *Store) Refusals(ctx context.Context, id library.ConnectionID) ([]players.Refusal, error) {
	scan := func(r db.Scanner) (v players.Refusal, err error) {
		var at int64
		err = r.Scan(&at, &v.Request, &v.Why, &v.Detail)
		v.At = db.Instant(at)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT at, request, reason, detail FROM refused_plays WHERE player_id = $1
		ORDER BY id DESC`, numberOf(id))
}
