package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// A listen takes at most 120 bytes with all its rows and indexes, whichever service or file it comes from, if each song
// is heard ten times.
func TestAListenTakesLittleRoom(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	const plays, songs = 5000, 500
	for name, v := range map[string]struct{ connection, id string }{
		"Spotify":              {"spotify", "%d:3hxIUxnT27p5WcmjGU%04d"},
		"Spotify's long file":  {"spotify", library.FromExport + "extended:%d:3hxIUxnT27p5WcmjGU%04d"},
		"Spotify's short file": {"spotify", library.FromExport + "short:%d:ceabb6336dfd44e7935492af4ce0%04d"},
		"ListenBrainz":         {"listenbrainz", "%d:db9a7483-a8f4-4a2c-99af-c8ab5885%04d"},
		"ListenBrainz' file":   {"listenbrainz", library.FromExport + "listens:%d:ceabb6336dfd44e7935492af4ce0%04d"},
		"Last.fm":              {"lastfm", "%d:ceabb6336dfd44e7935492af4ce0%04d"},
		"Last.fm's file":       {"lastfm", library.FromExport + "minutes:%d:ceabb6336dfd44e7935492af4ce0%04d"},
		"Navidrome":            {"navidrome", "%[2]022d@%[1]d"},
		"a file of Reprise's":  {"reprise", library.FromExport + "listens:%d:ceabb6336dfd44e7935492af4ce0%04d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, user := setup(t)
			all := make([]library.Listen, plays)
			for i := range all {
				song, at := i*7%songs, int64(1_600_000_000+i*2000)
				all[i] = library.Listen{SourceID: fmt.Sprintf(v.id, at, song), PlayedAt: time.Unix(at, 0),
					Track: library.Track{Title: fmt.Sprint("Song ", song), Artist: fmt.Sprint("Artist ", song%200)}}
			}
			for page := range slices.Chunk(all, 1000) {
				require.Equal(t, 1000, save(t, s, user, library.ConnectionID(v.connection), page...))
			}
			require.Zero(t, save(t, s, user, library.ConnectionID(v.connection), all[3000:4000]...), "they are known")
			require.NoError(t, s.BuildColumns(t.Context()))
			require.NoError(t, s.Exec(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"))
			size := number(t, s, `SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master
				WHERE tbl_name IN ('listens', 'listen_sources', 'source_names', 'listen_columns'))`)
			require.Less(t, size, 120*plays)
		})
	}
}

// What is stored of an id gives the same id again, wherever its digits are.
func TestIDsOfSourcesComeBackUnchanged(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var plays []library.Listen
	for i, id := range []string{"1795197851:a", "1795197851123:a", "a@1795197851", "17951978511795197851", "no time",
		"99999999999:beyond 2038", "0", "00000000000000", "1795197851", "it's 100 %", "\\1", "Jóga:1795197851"} {
		plays = append(plays, library.Listen{SourceID: id, PlayedAt: at(float64(-10 * i)),
			Track: library.Track{Title: id, Artist: "Björk"}})
	}
	require.Equal(t, len(plays), save(t, s, user, "spotify", plays...))
	require.Zero(t, save(t, s, user, "spotify", plays...), "they are known")
	stored, _, err := s.Listens(t.Context(), user, "", 100)
	require.NoError(t, err)
	require.Len(t, stored, len(plays))
	for _, l := range stored {
		require.Equal(t, []library.Source{{Connection: "spotify", SourceID: l.Title}}, l.Sources)
	}
}
