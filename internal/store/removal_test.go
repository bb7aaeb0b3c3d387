package store

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/postgrestest"
	"reprise/internal/removal"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// shared are the tables whose rows belong to the installation. A new table is either listed here, or a removal has to
// empty it of a person's rows.
var shared = []string{"servers", "leader", "leases", "requests", "tries", "facts", "sequences", "key_cooldowns",
	"entities", "enrichment_marks", "enrichment", "spellings", "track_artists", "joined_keys", "joined_ids",
	"connection_numbers", "players",
	"source_names", "quarters", "videos", "settings", "search_words", "music_rules", "music_rule_parts",
	"chosen_pictures"}

// column is a column of a table of ours.
type column struct{ table, name, kind string }

// schema returns the columns of all tables of ours. River's are not among them, nor those of an index of texts.
func schema(t testing.TB, s *Store) map[string][]column {
	t.Helper()
	query := `SELECT m.name, c.name, lower(c.type) FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table'`
	if postgrestest.On() {
		query = "SELECT table_name, column_name, data_type FROM information_schema.columns " +
			"WHERE table_schema = current_schema()"
	}
	scan := func(r db.Scanner) (c column, err error) { return c, r.Scan(&c.table, &c.name, &c.kind) }
	all, err := db.List(t.Context(), s.Reader, scan, query)
	require.NoError(t, err)
	tables := map[string][]column{}
	for _, c := range all {
		if !strings.HasPrefix(c.table, "river_") && c.table != "schema_version" &&
			!strings.HasPrefix(c.table, "sqlite_") && !strings.HasPrefix(c.table, "search_texts") {
			tables[c.table] = append(tables[c.table], c)
		}
	}
	return tables
}

// fillTables gives a person a row in every table. All its numbers are n, also the person's own, so that a row refers to
// the others of that person; all its texts contain n.
func fillTables(t testing.TB, s *Store, n int64) {
	t.Helper()
	left := schema(t, s)
	for len(left) > 0 {
		before := len(left)
		for table, columns := range left {
			var names []string
			var values []any
			for i, c := range columns {
				names = append(names, c.name)
				switch {
				case strings.Contains(c.kind, "int"):
					values = append(values, n)
				case strings.Contains(c.kind, "double"):
					values = append(values, float64(n))
				default:
					values = append(values, fmt.Sprintf("text %d of %d", i, n))
				}
			}
			insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", table, strings.Join(names, ", "),
				db.Numbered(1, len(names)))
			_, err := s.Writer.Exec(insert, values...)
			if err == nil { // otherwise a row that it refers to is still missing
				delete(left, table)
			}
		}
		require.Less(t, len(left), before, "these tables cannot be filled: %v", left)
	}
	require.NoError(t, s.Exec(t.Context(), "UPDATE users SET role = 'admin' WHERE id = $1", n))
}

// rowsWith counts the rows of a table that have the number n anywhere.
func rowsWith(t testing.TB, s *Store, table string, columns []column, n int64) int {
	t.Helper()
	var has []string
	for _, c := range columns {
		condition := fmt.Sprintf("%s = %d", c.name, n)
		if !strings.Contains(c.kind, "int") && !strings.Contains(c.kind, "double") {
			condition = fmt.Sprintf("%s LIKE '%%of %d'", c.name, n)
		}
		has = append(has, condition)
	}
	return number(t, s, "SELECT count(*) FROM "+table+" WHERE "+strings.Join(has, " OR "))
}

// removeAll removes a person to the end.
func removeAll(t testing.TB, s *Store, user int64) {
	t.Helper()
	_, err := s.BeginRemoval(t.Context(), user)
	require.NoError(t, err)
	for range 10_000 {
		left, err := s.RemoveSome(t.Context(), user)
		require.NoError(t, err)
		if left == removal.Gone {
			return
		}
	}
	t.Fatal("it does not end")
}

func TestARemovalLeavesNothingAndTakesOnlyThat(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	const gone, stays = 4711, 5822
	fillTables(t, s, gone)
	fillTables(t, s, stays)
	tables := schema(t, s)
	require.Greater(t, len(tables), 30)
	for table, columns := range tables {
		require.Equal(t, 1, rowsWith(t, s, table, columns, gone), table)
	}
	removeAll(t, s, gone)
	for table, columns := range tables {
		want := 0
		if slices.Contains(shared, table) {
			want = 1
			require.False(t, slices.ContainsFunc(columns, func(c column) bool { return c.name == "user_id" }), table)
		}
		require.Equal(t, want, rowsWith(t, s, table, columns, gone), "what the removed person had in %s", table)
		require.Equal(t, 1, rowsWith(t, s, table, columns, stays), "what the other has in %s", table)
	}
}

// From the first step on the person cannot sign in, is listed nowhere, and their name is free.
func TestARemovalEndsAllAccessAtOnce(t *testing.T) {
	t.Parallel()
	s, admin := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	_, err := s.AddToken(t.Context(), accounts.Token{User: bob, Name: "script", Hash: "h"}, 10)
	require.NoError(t, err)
	connect(t, s, bob, "spotify")
	u, err := s.BeginRemoval(t.Context(), bob)
	require.NoError(t, err)
	require.Equal(t, "Bob", u.Name)
	_, err = s.UserByID(t.Context(), bob)
	require.ErrorIs(t, err, accounts.ErrUnknown)
	_, err = s.UserByName(t.Context(), "Bob")
	require.ErrorIs(t, err, accounts.ErrUnknown)
	require.Zero(t, number(t, s, "SELECT count(*) FROM tokens"))
	all, err := s.Users(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, admin, all[0].ID)
	c, err := s.Connection(t.Context(), bob, "spotify")
	require.NoError(t, err)
	require.True(t, c.Paused, "no run may begin")
	require.NotEqual(t, bob, addUser(t, s, "Bob", accounts.Member))

	leaving, err := s.Leaving(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{bob}, leaving, "a start goes on with it")
	again, err := s.BeginRemoval(t.Context(), bob)
	require.NoError(t, err, "asking twice is fine")
	require.Equal(t, bob, again.ID)
	_, err = s.BeginRemoval(t.Context(), 99)
	require.ErrorIs(t, err, accounts.ErrUnknown)
}

func TestTheLastAdministratorStays(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	_, err := s.BeginRemoval(t.Context(), alice)
	require.ErrorIs(t, err, accounts.ErrLastAdmin)
	_, err = s.SetRole(t.Context(), alice, accounts.Member)
	require.ErrorIs(t, err, accounts.ErrLastAdmin)
	before, err := s.SetRole(t.Context(), bob, accounts.Admin)
	require.NoError(t, err)
	require.Equal(t, accounts.Member, before)
	before, err = s.SetRole(t.Context(), bob, accounts.Admin)
	require.NoError(t, err)
	require.Equal(t, accounts.Admin, before, "may be repeated")
	_, err = s.SetRole(t.Context(), 99, accounts.Admin)
	require.ErrorIs(t, err, accounts.ErrUnknown)
	_, err = s.BeginRemoval(t.Context(), alice)
	require.NoError(t, err)
	_, err = s.SetRole(t.Context(), alice, accounts.Admin)
	require.ErrorIs(t, err, accounts.ErrUnknown, "a removal cannot be taken back this way")
	_, err = s.SetRole(t.Context(), bob, accounts.Member)
	require.ErrorIs(t, err, accounts.ErrLastAdmin)
}

// Eight administrators demote and remove each other at the same moment: one is left.
func TestAdministratorsCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	var all []int64
	for i := range 8 {
		all = append(all, addUser(t, s, fmt.Sprint("Admin ", i), accounts.Admin))
	}
	done := make(chan error)
	for i, id := range all {
		go func() {
			var err error
			if i%2 == 0 {
				_, err = s.BeginRemoval(context.Background(), id)
			} else {
				_, err = s.SetRole(context.Background(), id, accounts.Member)
			}
			done <- err
		}()
	}
	refused := 0
	for range all {
		if err := <-done; err != nil {
			require.ErrorIs(t, err, accounts.ErrLastAdmin)
			refused++
		}
	}
	require.Equal(t, 1, refused)
	admins, err := s.Admins(t.Context())
	require.NoError(t, err)
	require.Len(t, admins, 1)
}

// What a removed person did to others stays in their log, without the name.
func TestTheLogForgetsARemovedPersonsName(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Admin)
	ctx := activity.WithActor(t.Context(), activity.Actor{ID: bob, Name: "Bob"})
	require.NoError(t, s.Note(ctx, activity.Entry{User: alice, Action: activity.PasswordChanged}))
	removeAll(t, s, bob)
	page, _, err := s.Activity(t.Context(), activity.Filter{User: alice}, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "Someone who has left changed the password.", page[0].Sentence(words.Text{}).String())
	require.NoError(t, s.Note(ctx, activity.Entry{User: bob, Action: activity.Paused}))
	require.Zero(t, number(t, s, "SELECT count(*) FROM activity WHERE user_id = $1", bob), "nothing comes afterwards")
}

// Half a million listens go in small steps: what others write in between waits for one step at most.
func TestABigRemovalBlocksNobodyForLong(t *testing.T) {
	t.Parallel()
	listens := 20_000
	if n, err := strconv.Atoi(os.Getenv("REPRISE_TEST_LISTENS")); err == nil {
		listens = n
	}
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	connect(t, s, bob, "spotify")
	connect(t, s, bob, "lastfm")
	series := `WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO `
	for _, rows := range []string{
		`listens (id, user_id, spelling_id, played_at, approximate)
			SELECT 1000000 + i, $2, 1, 1600000000000 + i * 180000, 0 FROM n`,
		`listen_sources (listen_id, connection, source_key, name_id, later, stored_at)
			SELECT 1000000 + i, $2, i, 1, 0, 0 FROM n`,
		`forwards (listen_id, connection, user_id, delivery_id) SELECT 1000000 + i, 'lastfm', $2, 0 FROM n`,
	} {
		require.NoError(t, s.Exec(t.Context(), series+rows, listens, bob))
	}
	_, err := s.BeginRemoval(t.Context(), bob)
	require.NoError(t, err)
	var steps int
	var longest time.Duration
	began := time.Now()
	for left := removal.More; left == removal.More; steps++ {
		step := time.Now()
		left, err = s.RemoveSome(t.Context(), bob)
		require.NoError(t, err)
		longest = max(longest, time.Since(step))
	}
	t.Logf("%d listens: %d steps in %s, the longest %s", listens, steps, time.Since(began), longest)
	require.Greater(t, steps, 2*listens/removeAtOnce)
	require.Less(t, longest, 2*time.Second, "a loaded machine is slow, one transaction for all would be slower")
	require.Zero(t, number(t, s, "SELECT count(*) FROM listens"))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM users WHERE id = $1", alice))
}
