package people

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/store/db"
)

// Leaving is the role of a person whose removal has begun. Such an account is listed nowhere and cannot sign in.
const Leaving = "leaving"

// Person returns an account, also one that is leaving.
func Person(ctx context.Context, tx *sql.Tx, user int64) (accounts.User, error) {
	u, err := scanUser(tx.QueryRowContext(ctx, selectUser+"WHERE id = $1", user))
	return u, known(err)
}

// HasUsers reports whether there is an account.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	var n int
	err := s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM users").Scan(&n)
	return n > 0, db.Explain(err)
}

// AddUser implements accounts.Store. It stores a new account and returns it with its ID. Names are compared without
// case.
func (s *Store) AddUser(ctx context.Context, u accounts.User, first bool) (accounts.User, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		u, err = insertUser(ctx, tx, u, first)
		return err
	})
	return u, err
}

func insertUser(ctx context.Context, tx *sql.Tx, u accounts.User, first bool) (accounts.User, error) {
	var all, same int
	err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN name_key = $1 THEN 1 ELSE 0 END), 0)
		FROM users`, accounts.NameKey(u.Name)).Scan(&all, &same)
	switch {
	case err != nil:
		return u, err
	case first && all > 0:
		return u, accounts.ErrNotFirst
	case same > 0:
		return u, accounts.ErrTaken
	}
	if u.ID, err = db.NextIDs(ctx, tx, "users", 1); err != nil {
		return u, err
	}
	return u, db.ExecTx(ctx, tx, `INSERT INTO users (id, name, name_key, password_hash, role, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.Name, accounts.NameKey(u.Name), u.PasswordHash, u.Role, db.Millis(u.CreatedAt))
}

const selectUser = `SELECT id, name, password_hash, role, created_at, language, zone, theme,
	browser_language, shares_listening FROM users `

// UserByName finds an account, or accounts.ErrUnknown.
func (s *Store) UserByName(ctx context.Context, name string) (accounts.User, error) {
	u, err := scanUser(s.db.Reader.QueryRowContext(ctx, selectUser+"WHERE name_key = $1", accounts.NameKey(name)))
	return u, known(err)
}

// UserByID finds an account, or accounts.ErrUnknown.
func (s *Store) UserByID(ctx context.Context, id int64) (accounts.User, error) {
	u, err := scanUser(s.db.Reader.QueryRowContext(ctx, selectUser+"WHERE id = $1 AND role <> $2", id, Leaving))
	return u, known(err)
}

func known(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return accounts.ErrUnknown
	}
	return db.Explain(err)
}

// Users returns all accounts, the oldest first, without those that are being removed.
func (s *Store) Users(ctx context.Context) ([]accounts.User, error) {
	return db.List(ctx, s.db.Reader, scanUser, selectUser+"WHERE role <> $1 ORDER BY id", Leaving)
}

// UsersPart returns a part of the accounts, the oldest first, without those that are being removed, and how many there
// are in all whose names contain that text.
func (s *Store) UsersPart(ctx context.Context, p accounts.Part) (part []accounts.User, total int, err error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(accounts.NameKey(p.Like)) + "%"
	const where = `WHERE role <> $1 AND name_key LIKE $2 ESCAPE '\'`
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM users "+where, Leaving, like).Scan(&total)
	if err != nil {
		return nil, 0, db.Explain(err)
	}
	part, err = db.List(ctx, s.db.Reader, scanUser, selectUser+where+" AND id > $3 ORDER BY id LIMIT $4 OFFSET $5",
		Leaving, like, p.After, p.Limit, p.Skip)
	return part, total, err
}

// LastSeen returns when these people last used a session or a token that still exists.
func (s *Store) LastSeen(ctx context.Context, users []int64) (map[int64]time.Time, error) {
	seen := make(map[int64]time.Time, len(users))
	type row struct{ user, at int64 }
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.user, &v.at) }
	for chunk := range slices.Chunk(users, 500) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		these := db.Numbered(1, len(chunk))
		rows, err := db.List(ctx, s.db.Reader, scan, `SELECT user_id, max(at) FROM (
			SELECT user_id, seen_at AS at FROM sessions WHERE user_id IN `+these+`
			UNION ALL SELECT user_id, last_used_at FROM tokens WHERE user_id IN `+these+`) AS used
			WHERE at > 0 GROUP BY user_id`, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			seen[r.user] = db.Instant(r.at)
		}
	}
	return seen, nil
}

// Rename implements accounts.Store. The same name in other letters is no other account's.
func (s *Store) Rename(ctx context.Context, user int64, name string) (before string, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		u, err := Person(ctx, tx, user)
		switch {
		case err != nil:
			return err
		case u.Role == Leaving:
			return accounts.ErrUnknown
		}
		before = u.Name
		var others int
		key := accounts.NameKey(name)
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE name_key = $1 AND id <> $2", key, user).
			Scan(&others)
		if err == nil && others > 0 {
			err = accounts.ErrTaken
		}
		if err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, "UPDATE users SET name = $1, name_key = $2 WHERE id = $3", name, key, user)
	})
	return before, err
}

// SetBrowserLanguage stores the language that a person's browser preferred when they signed in.
func (s *Store) SetBrowserLanguage(ctx context.Context, user int64, code string) error {
	return s.db.Exec(ctx, "UPDATE users SET browser_language = $1 WHERE id = $2", code, user)
}

// SetChoices stores how a person wants to read.
func (s *Store) SetChoices(ctx context.Context, user int64, c accounts.Choices) error {
	return s.db.Exec(ctx, "UPDATE users SET language = $1, zone = $2, theme = $3 WHERE id = $4", c.Language, c.Zone,
		c.Theme, user)
}

// ShareListening stores whether everybody with an account may see a person's page of numbers.
func (s *Store) ShareListening(ctx context.Context, user int64, on bool) error {
	return s.db.Exec(ctx, "UPDATE users SET shares_listening = $1 WHERE id = $2", db.Flag(on), user)
}

// Sharers returns the people whose page of numbers everybody with an account may see, by name.
func (s *Store) Sharers(ctx context.Context) ([]accounts.User, error) {
	return db.List(ctx, s.db.Reader, scanUser, selectUser+"WHERE shares_listening = 1 AND role <> $1 ORDER BY name_key",
		Leaving)
}

// Sharer finds one of the Sharers by name, or accounts.ErrUnknown.
func (s *Store) Sharer(ctx context.Context, name string) (accounts.User, error) {
	u, err := scanUser(s.db.Reader.QueryRowContext(ctx,
		selectUser+"WHERE name_key = $1 AND shares_listening = 1 AND role <> $2", accounts.NameKey(name), Leaving))
	return u, known(err)
}

// Admins returns the IDs of the administrators.
func (s *Store) Admins(ctx context.Context) ([]int64, error) {
	scan := func(r db.Scanner) (id int64, err error) { return id, r.Scan(&id) }
	return db.List(ctx, s.db.Reader, scan, "SELECT id FROM users WHERE role = $1 ORDER BY id", accounts.Admin)
}

// SetPassword stores a new password's hash. Links to choose another one stop working, and sessions end.
func (s *Store) SetPassword(ctx context.Context, user int64, hash string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error { return setPassword(ctx, tx, user, hash) })
}

func setPassword(ctx context.Context, tx *sql.Tx, user int64, hash string) error {
	return errors.Join(dropResets(ctx, tx, user), db.ExecTx(ctx, tx, "DELETE FROM sessions WHERE user_id = $1", user),
		db.ExecTx(ctx, tx, "UPDATE users SET password_hash = $1 WHERE id = $2", hash, user))
}

func scanUser(r db.Scanner) (accounts.User, error) {
	var u accounts.User
	var created, shares int64
	err := r.Scan(&u.ID, &u.Name, &u.PasswordHash, &u.Role, &created, &u.Language, &u.Zone, &u.Theme,
		&u.BrowserLanguage, &shares)
	u.SharesListening = shares != 0
	u.CreatedAt = db.Instant(created)
	return u, err
}
