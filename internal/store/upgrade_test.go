package store

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
)

// table is the content of a table: its columns, and each row as one text.
type table struct {
	columns []string
	rows    []string
}

// asBefore reads the tables that the library's rows have changed as they were before.
var asBefore = map[string]string{
	"listens": `(SELECT l.id, l.user_id, p.match_key, p.title, p.artist, p.album, l.played_at, p.duration_ms, p.isrc,
		p.recording_mbid, l.approximate FROM listens l JOIN spellings p ON p.id = l.spelling_id ORDER BY l.id)`,
	"listen_sources": `(SELECT l.user_id, n.connection, s.source_id, s.listen_id, l.played_at + s.later AS played_at,
		1000 * s.stored_at AS stored_at
		FROM listen_sources s JOIN listens l ON l.id = s.listen_id JOIN connection_numbers n ON n.number = s.connection
		ORDER BY s.source_id, s.listen_id)`,
}

// contents returns the tables of a database file by name. Where only has columns, it reads only those.
func contents(t testing.TB, path string, only map[string]table) map[string]table {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	names, err := list(t.Context(), db, func(r scanner) (s string, err error) { return s, r.Scan(&s) },
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
			AND name NOT LIKE 'search_texts%'`) // whose tables are SQLite's own
	require.NoError(t, err)
	all := map[string]table{}
	for _, name := range names {
		columns, from := "*", name+" ORDER BY rowid"
		switch name { // those without a rowid
		case "listen_sources":
			from = name + " ORDER BY source_id, listen_id"
		case "removed_sources":
			from = name + " ORDER BY source_id, listen_id"
		}
		if only != nil {
			if len(only[name].columns) == 0 {
				continue
			}
			columns = strings.Join(only[name].columns, ", ")
			if asBefore[name] != "" {
				from = asBefore[name]
			}
		}
		rows, err := db.Query("SELECT " + columns + " FROM " + from)
		require.NoError(t, err)
		defer rows.Close()
		var v table
		v.columns, err = rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			values, pointers := make([]any, len(v.columns)), make([]any, len(v.columns))
			for i := range values {
				pointers[i] = &values[i]
			}
			require.NoError(t, rows.Scan(pointers...))
			v.rows = append(v.rows, fmt.Sprintf("%#v", values))
		}
		require.NoError(t, rows.Err())
		all[name] = v
	}
	return all
}

// oldDatabase returns the directory of a database at the first migration, and its content.
func oldDatabase(t testing.TB) (dir string, held map[string]table) {
	t.Helper()
	dir, held = databaseOf(t, 1)
	require.Equal(t, 17, len(held))
	for name, v := range held {
		require.NotEmpty(t, v.rows, name)
	}
	return dir, held
}

// databaseOf returns the directory of a database at the given migration, and its content.
func databaseOf(t testing.TB, step int) (dir string, held map[string]table) {
	t.Helper()
	dump, err := os.ReadFile(fmt.Sprintf("testdata/version-%d.sql", step))
	require.NoError(t, err)
	dir = t.TempDir()
	path := filepath.Join(dir, FileName)
	db, err := sql.Open("sqlite", dsn(path, ""))
	require.NoError(t, err)
	_, err = db.Exec(string(dump))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return dir, contents(t, path, nil)
}

// byConnection renames the columns of a content as migration 10 does.
func byConnection(held map[string]table) map[string]table {
	all := map[string]table{}
	for name, v := range held {
		if name != "key_cooldowns" && name != "quarters" { // what belongs to a provider
			v.columns = slices.Clone(v.columns)
			if i := slices.Index(v.columns, "provider"); i >= 0 {
				v.columns[i] = "connection"
			}
		}
		all[name] = v
	}
	return all
}

func TestAnUpgradeKeepsEveryRow(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, held := oldDatabase(t)
	require.NoError(t, openIn(t, dir).Close())

	require.Equal(t, map[string]bool{FileName: true, FileName + ".1.bak": true}, names(t, dir))
	require.Equal(t, held, contents(t, filepath.Join(dir, FileName+".1.bak"), nil),
		"the copy is the unchanged database")
	held = byConnection(held)
	now := contents(t, filepath.Join(dir, FileName), held)
	steps := now["goose_db_version"].rows
	require.Equal(t, held["goose_db_version"].rows, steps[:2])
	require.Len(t, steps, 1+len(stepFiles(t)))
	require.Subset(t, now["sequences"].rows, held["sequences"].rows)
	for _, name := range []string{"goose_db_version", "sequences"} {
		delete(held, name)
		delete(now, name)
	}
	require.Equal(t, held, now)
	all := contents(t, filepath.Join(dir, FileName), nil)
	for _, name := range []string{"river_job", "river_leader", "river_queue", "deliveries", "forwarding", "forwards",
		"copies", "track_matches", "joined_keys", "joined_ids", "enrichment_marks", "enrichment", "digests",
		"digest_people"} {
		require.Contains(t, all, name)
		require.Empty(t, all[name].rows, name)
	}

	before := snapshot(t, dir)
	s := openIn(t, dir)
	require.NoError(t, s.Close())
	after := snapshot(t, dir)
	require.Equal(t, before[FileName+".1.bak"], after[FileName+".1.bak"], "no upgrade, no further copy")
}

func TestConnectionsGetIdsWithoutLosingARow(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, held := databaseOf(t, 9)
	full := 0
	for _, v := range held {
		full += min(len(v.rows), 1)
	}
	require.Equal(t, 39, full, "tables with rows")
	require.NoError(t, openIn(t, dir).Close())
	require.Equal(t, held, contents(t, filepath.Join(dir, FileName+".9.bak"), nil),
		"the copy is the unchanged database")
	held = byConnection(held)
	now := contents(t, filepath.Join(dir, FileName), held)
	for _, name := range []string{"goose_db_version", "entity_names"} {
		delete(held, name)
		delete(now, name)
	}
	for _, name := range []string{"entities", "sequences"} { // others have come
		require.Subset(t, now[name].rows, held[name].rows[:1])
		delete(held, name)
		delete(now, name)
	}
	require.Equal(t, held, now)

	s := openIn(t, dir)
	c, err := s.Connection(t.Context(), 1, "spotify")
	require.NoError(t, err)
	require.EqualValues(t, "spotify", c.ID)
	waiting, _, err := s.Deliveries(t.Context(), delivery.Filter{User: 1, Connection: "listenbrainz"}, "", 10)
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	runs, _, err := s.Runs(t.Context(), 1, "spotify", time.Time{}, "", 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	gaps, err := s.Gaps(t.Context(), 1, "spotify")
	require.NoError(t, err)
	require.Len(t, gaps, 1)
}

func TestAnUpgradedDatabaseReadsAsBefore(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, _ := oldDatabase(t)
	s := openIn(t, dir)
	u, err := s.UserByName(t.Context(), "böb")
	require.NoError(t, err)
	require.Equal(t, "hash of Böb", u.PasswordHash)
	session, ok, err := s.Sessions().Find("alices-token")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "alices session", string(session))

	credentials := map[string]library.Credentials{}
	everybodys, err := s.Connections(t.Context())
	require.NoError(t, err)
	for _, c := range everybodys {
		credentials[fmt.Sprint(c.User, " ", c.ID, " ", c.Generation, " ", c.Paused)] = c.Credentials
	}
	require.Equal(t, map[string]library.Credentials{
		"1 spotify 2 false":      {"access_token": "alices-access", "refresh_token": "alices-refresh"},
		"1 listenbrainz 1 false": {"token": "credential-of-listenbrainz"},
		"2 navidrome 1 false": {"url": "http://nas.lan:4533", "username": "böb", "password": "quote ' and \" mark",
			"auth": "token"},
		"2 spotify 1 true": {"token": "credential-of-spotify"},
	}, credentials)
	waiting, err := s.Pending(t.Context(), 1, "spotify")
	require.NoError(t, err)
	require.Equal(t, "id-2", waiting.AccountID)
	request, err := s.TakeState(t.Context(), oauth.State{ID: "state", Session: "session", User: 1})
	require.NoError(t, err)
	require.Equal(t, "verifier", request.Verifier)

	requireOldData(t, s)
}

// requireOldData requires the data from before the upgrade, and that reading continues at its position.
func requireOldData(t *testing.T, s *Store) {
	t.Helper()
	listens, _ := all(t, s, 1, 7)
	require.Len(t, listens, 45)
	require.Equal(t, []library.ConnectionID{"listenbrainz", "spotify"}, connectionsOf(listens[20]))
	require.Equal(t, "It's; a -- \"title\"\nof two lines", listens[3].Title)
	requireWhole(t, s, 1)
	counts, err := s.PlayCounts(t.Context(), 2, "navidrome", []string{"nd-track-4"})
	require.NoError(t, err)
	require.Equal(t, 5, counts["nd-track-4"].PlayCount)
	_, songs, err := s.Playlist(t.Context(), 1, 1)
	require.NoError(t, err)
	require.Equal(t, tracks(25), songs)

	reading, err := s.Position(t.Context(), 2, "navidrome", library.Listens)
	require.NoError(t, err)
	require.Equal(t, "scan-7", reading)
	stops, err := s.Stops(t.Context())
	require.NoError(t, err)
	require.Len(t, stops, 2)
	holds, err := s.Holds(t.Context())
	require.NoError(t, err)
	require.Len(t, holds, 2)
	open, err := s.Notifications(t.Context(), 1, true)
	require.NoError(t, err)
	require.Len(t, open, 1, "one of two about a connection")
	all, err := s.Notifications(t.Context(), 1, false)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NotEqual(t, all[0].AcknowledgedAt, all[1].AcknowledgedAt)
	changes, err := s.OpenNotification(t.Context(), notify.Notification{User: 1, Connection: "spotify",
		Cause: "auth", Generation: 2, CreatedAt: at(99)})
	require.NoError(t, err)
	require.Empty(t, changes, "a known notification is not opened again")

	// Listens from before the upgrade are known, and a new one gets a new ID.
	require.Equal(t, 1, save(t, s, 2, "navidrome", library.Listen{SourceID: "nd-0", PlayedAt: at(0)},
		library.Listen{SourceID: "new", PlayedAt: at(50)}))
}

func TestForwardingReachesListensBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	dir, _ := oldDatabase(t)
	s := openInWith(t, dir, Options{Attempts: 5})
	rule := func(user int64, conn library.ConnectionID, kind string, batch int) delivery.Rule {
		return delivery.Rule{User: user, Connection: conn, Kind: kind, Batch: batch, Since: time.Now()}
	}
	n, err := s.StartForwarding(t.Context(), rule(1, "listenbrainz", delivery.SubmitListens, 10), true)
	require.NoError(t, err)
	require.Equal(t, 15, n, "those with Spotify as the only source")
	n, err = s.StartForwarding(t.Context(), rule(2, "lastfm", delivery.Scrobble, 50), true)
	require.NoError(t, err)
	require.Equal(t, 9, n, "all with an exact time")
	n, err = s.StartForwarding(t.Context(), rule(2, "s3", delivery.Archive, 1), true)
	require.NoError(t, err)
	require.Equal(t, 1, n, "one month")

	owing, err := s.Waiting(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, map[library.ConnectionID]delivery.Waiting{"listenbrainz": {Listens: 15}}, owing)
	waiting, _, err := s.Deliveries(t.Context(), delivery.Filter{User: 1}, "", 10)
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	first, err := s.ListensOf(t.Context(), waiting[1].ID)
	require.NoError(t, err)
	require.Len(t, first, 10)
	require.Equal(t, "Track 14", first[0].Title, "the oldest first")
	account, err := s.ForwardingCounts(t.Context(), 1, "listenbrainz")
	require.NoError(t, err)
	require.Equal(t, 15, account.Waiting)
	require.Equal(t, 15, account.There)
	forwarded, err := s.ForwardedListens(t.Context(), 1, "listenbrainz", 100)
	require.NoError(t, err)
	require.Len(t, forwarded, 30)
	require.Equal(t, "there", forwarded[20].Outcome)
	require.Zero(t, forwarded[20].ThereSince, "the time was not stored then")
	save(t, s, 1, "spotify", library.Listen{SourceID: "new", PlayedAt: at(99), Track: library.Track{Title: "New"}})
	owing, err = s.Waiting(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 16, owing["listenbrainz"].Listens)
}

func TestMusicHeardBeforeAnUpgradeIsFound(t *testing.T) {
	t.Parallel()
	dir, _ := oldDatabase(t)
	s := openIn(t, dir)
	lookedThrough(t, s)
	listens, _ := all(t, s, 1, 100)
	tracks := make([]library.Track, len(listens))
	for i, l := range listens {
		tracks[i] = l.Track
	}
	links, err := s.Links(t.Context(), tracks)
	require.NoError(t, err)
	for i, l := range links {
		m, err := s.Music(t.Context(), 1, library.KindTrack, l.Track)
		require.NoError(t, err)
		require.Positive(t, m.Plays)
		require.NotZero(t, l.Artist, tracks[i].Title)
	}
}
