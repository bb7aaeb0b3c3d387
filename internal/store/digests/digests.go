package digests

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

const selectDigest = `SELECT id, user_id, week, state, language, instructions, prompt, text, model, cut,
	prompt_tokens, completion_tokens, cost, currency, reason, detail, created_at, written_at FROM digests `

func scanDigest(r db.Scanner) (d digest.Digest, err error) {
	var created, written int64
	err = r.Scan(&d.ID, &d.User, &d.Week, &d.State, &d.Language, &d.Prompt.System, &d.Prompt.User, &d.Text, &d.Model,
		&d.Cut, &d.PromptTokens, &d.CompletionTokens, &d.Cost.Micros, &d.Cost.Currency, &d.Reason, &d.Detail, &created,
		&written)
	d.CreatedAt, d.WrittenAt = db.Instant(created), db.Instant(written)
	return d, err
}

// Digests returns a person's latest 104 digests, the newest week first. It leaves out deleted ones.
func (s *Store) Digests(ctx context.Context, user int64) ([]digest.Digest, error) {
	return db.List(ctx, s.db.Reader, scanDigest,
		selectDigest+"WHERE user_id = $1 AND state <> 'deleted' ORDER BY week DESC LIMIT 104", user)
}

// Digest returns one digest of a person, or library.ErrNotFound if there is none or it was deleted.
func (s *Store) Digest(ctx context.Context, user, id int64) (digest.Digest, error) {
	d, err := scanDigest(s.db.Reader.QueryRowContext(ctx,
		selectDigest+"WHERE user_id = $1 AND id = $2 AND state <> 'deleted'", user, id))
	return d, db.Found(err)
}

// DigestsWanted reports whether a person wants a digest every week.
func (s *Store) DigestsWanted(ctx context.Context, user int64) (bool, error) {
	var n int
	err := s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM digest_people WHERE user_id = $1", user).Scan(&n)
	return n > 0, db.Explain(err)
}

// DigestsSpent returns the costs of a person's digests since a time, deleted ones included, the newest first. User 0
// selects all users.
func (s *Store) DigestsSpent(ctx context.Context, user int64, since time.Time) ([]digest.Spent, error) {
	scan := func(r db.Scanner) (v digest.Spent, err error) {
		var at int64
		err = r.Scan(&at, &v.PromptTokens, &v.CompletionTokens, &v.Cost.Micros, &v.Cost.Currency)
		v.At = db.Instant(at)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT written_at, prompt_tokens, completion_tokens, cost, currency
		FROM digests WHERE written_at >= $1 AND ($2 = 0 OR user_id = $2) AND written_at > 0
		ORDER BY written_at DESC`,
		db.Millis(since), user)
}

// DueDigests implements digest.Store.
func (s *Store) DueDigests(ctx context.Context, w digest.Week) ([]digest.Due, error) {
	scan := func(r db.Scanner) (d digest.Due, err error) { return d, r.Scan(&d.User, &d.Week, &d.Asked) }
	return db.List(ctx, s.db.Reader, scan, `SELECT user_id, week, 1 FROM digests WHERE state = 'waiting'
		UNION ALL
		SELECT user_id, CAST($1 AS TEXT), 0 FROM digest_people p WHERE since < $2
			AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.user_id = p.user_id AND d.week = $1)
			AND EXISTS (SELECT 1 FROM listens l
				WHERE l.user_id = p.user_id AND l.played_at >= $3 AND l.played_at < $4)
		ORDER BY 1, 2`, w.Name(), db.Millis(w.To.AddDate(0, 0, 7)), db.Millis(w.From), db.Millis(w.To))
}

// Heard implements digest.Store.
func (s *Store) Heard(
	ctx context.Context, user int64, w digest.Week, most digest.Limits,
) (h digest.Heard, err error) {
	from, to := db.Millis(w.From), db.Millis(w.To)
	var earlier int
	err = s.db.Reader.QueryRowContext(ctx, `SELECT count(*),
			(SELECT count(*) FROM (SELECT 1 FROM listens WHERE user_id = $1 AND played_at < $2 LIMIT 1) AS earlier)
		FROM listens WHERE user_id = $1 AND played_at >= $2 AND played_at < $3`, user, from, to).
		Scan(&h.Plays, &earlier)
	if err != nil || h.Plays == 0 {
		return h, db.Explain(err)
	}
	music, err := s.statistics.Meanings(ctx)
	if err != nil {
		return h, err
	}
	artists, albums, tracks := map[uint32]int{}, map[uint32]int{}, map[uint32]int{}
	_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var spelt uint32
		var n int
		err = r.Scan(&spelt, &n)
		by, album, track := music.Of(spelt)
		for _, id := range by {
			artists[id] += n
		}
		albums[album] += n
		tracks[track] += n
		return none, err
	}, `SELECT spelling_id, count(*) FROM listens WHERE user_id = $1 AND played_at >= $2 AND played_at < $3
		GROUP BY spelling_id`, user, from, to)
	if err != nil {
		return h, err
	}
	fresh := maps.Clone(artists)
	if earlier > 0 { // otherwise everything is new
		_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			var spelt uint32
			err = r.Scan(&spelt)
			by, _, _ := music.Of(spelt)
			for _, id := range by {
				delete(fresh, id)
			}
			return none, err
		}, "SELECT DISTINCT spelling_id FROM listens WHERE user_id = $1 AND played_at < $2", user, from)
	} else {
		fresh = nil
	}
	for _, some := range []struct {
		kind   string
		counts map[uint32]int
		most   int
		to     *[]digest.Counted
	}{{library.KindArtist, artists, most.Artists, &h.Artists}, {library.KindAlbum, albums, most.Albums, &h.Albums},
		{library.KindTrack, tracks, most.Tracks, &h.Tracks}, {library.KindArtist, fresh, most.New, &h.New}} {
		if err == nil {
			*some.to, err = s.mostHeard(ctx, some.kind, some.counts, some.most)
		}
	}
	return h, err
}

// mostHeard returns the n artists, albums or tracks that were heard most.
func (s *Store) mostHeard(ctx context.Context, kind string, counts map[uint32]int, n int) (all []digest.Counted,
	err error) {
	names, err := s.catalogue.Entities(ctx, slices.Collect(maps.Keys(counts)))
	ids := slices.Sorted(maps.Keys(names))
	for _, id := range ids {
		if e := names[id]; e.Kind == kind {
			all = append(all, digest.Counted{Artist: e.Artist, Title: e.Title, Plays: counts[id]})
		}
	}
	slices.SortStableFunc(all, func(a, b digest.Counted) int {
		return cmp.Or(cmp.Compare(b.Plays, a.Plays), cmp.Compare(a.Artist, b.Artist), cmp.Compare(a.Title, b.Title))
	})
	return all[:min(n, len(all))], err
}

// AskDigest implements digest.Store.
func (s *Store) AskDigest(ctx context.Context, d digest.Digest) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var state digest.State
		err := tx.QueryRowContext(ctx, "SELECT state FROM digests WHERE user_id = $1 AND week = $2",
			d.User, d.Week).Scan(&state)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			id, err := db.NextIDs(ctx, tx, "digests", 1)
			if err != nil {
				return err
			}
			return db.ExecTx(ctx, tx, `INSERT INTO digests (id, user_id, week, state, created_at)
				VALUES ($1, $2, $3, $4, $5)`, id, d.User, d.Week, d.State, db.Millis(d.CreatedAt))
		case err != nil:
			return err
		case state == digest.Waiting || state == digest.Written:
			return digest.ErrThere
		}
		return db.ExecTx(ctx, tx, `UPDATE digests SET state = $1, reason = '', detail = '', created_at = $2
			WHERE user_id = $3 AND week = $4`, d.State, db.Millis(d.CreatedAt), d.User, d.Week)
	})
}

// SaveDigest implements digest.Store.
func (s *Store) SaveDigest(ctx context.Context, d digest.Digest) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var deleted int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM digests
			WHERE user_id = $1 AND week = $2 AND state = 'deleted'`, d.User, d.Week).Scan(&deleted)
		if err != nil {
			return err
		}
		if deleted > 0 { // store only what it cost
			d = digest.Digest{
				User:      d.User,
				Week:      d.Week,
				State:     digest.Deleted,
				Cost:      d.Cost,
				CreatedAt: d.CreatedAt,
				WrittenAt: d.WrittenAt,
				Completion: providers.Completion{
					PromptTokens: d.PromptTokens, CompletionTokens: d.CompletionTokens},
			}
		}
		id, err := db.NextIDs(ctx, tx, "digests", 1)
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx,
			`INSERT INTO digests (id, user_id, week, state, instructions, prompt, text, model, cut,
			prompt_tokens, completion_tokens, cost, currency, reason, detail, created_at, written_at, language)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
			ON CONFLICT (user_id, week) DO UPDATE
			SET state = excluded.state, language = excluded.language,
				instructions = excluded.instructions, prompt = excluded.prompt,
				text = excluded.text, model = excluded.model, cut = excluded.cut,
				prompt_tokens = digests.prompt_tokens + excluded.prompt_tokens,
				completion_tokens = digests.completion_tokens + excluded.completion_tokens,
				cost = digests.cost + excluded.cost,
				currency = CASE WHEN excluded.currency <> '' THEN excluded.currency ELSE digests.currency END,
				reason = excluded.reason, detail = excluded.detail,
				written_at = CASE WHEN excluded.written_at > 0 THEN excluded.written_at ELSE digests.written_at END`,
			id, d.User, d.Week, d.State, d.Prompt.System, d.Prompt.User, d.Text, d.Model, db.Flag(d.Cut),
			d.PromptTokens, d.CompletionTokens, d.Cost.Micros, d.Cost.Currency, d.Reason, d.Detail,
			db.Millis(d.CreatedAt), db.Millis(d.WrittenAt), cmp.Or(d.Language, words.English.Code()))
	})
}

// SwitchDigests implements digest.Store.
func (s *Store) SwitchDigests(ctx context.Context, user int64, on bool, at time.Time) error {
	if !on {
		return s.db.Exec(ctx, "DELETE FROM digest_people WHERE user_id = $1", user)
	}
	return s.db.Exec(ctx, "INSERT INTO digest_people (user_id, since) VALUES ($1, $2) ON CONFLICT (user_id) DO NOTHING",
		user, db.Millis(at))
}

// DeleteDigest implements digest.Store. The week and the cost stay.
func (s *Store) DeleteDigest(ctx context.Context, user, id int64) error {
	return db.Changed(s.db.Change(ctx, `UPDATE digests
		SET state = 'deleted', instructions = '', prompt = '', text = '', model = '', cut = 0,
			reason = '', detail = ''
		WHERE user_id = $1 AND id = $2 AND state <> 'deleted'`, user, id))
}
