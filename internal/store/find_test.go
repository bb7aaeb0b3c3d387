package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/store/intake"
	"reprise/internal/store/listens"
)

// foundBy returns the titles of all listens that a filter selects, page by page. Only the first page names the filter.
func foundBy(t *testing.T, s *Store, f library.ListenFilter, limit int) (titles []string) {
	t.Helper()
	n, err := s.CountFound(t.Context(), f)
	require.NoError(t, err)
	for next, asked := "", f; ; asked = (library.ListenFilter{User: f.User}) {
		page, after, err := s.FindListens(t.Context(), asked, next, limit)
		require.NoError(t, err)
		for _, l := range page {
			titles = append(titles, l.Title)
		}
		if next = after; next == "" {
			require.Len(t, titles, n)
			return titles
		}
	}
}

func TestListensAreFoundByArtist(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", "member")
	var plays []library.Listen
	for i, artist := range []string{"Björk", "BJÖRK", "Bjork", "björk & Arca", "Bjo\u0308rk", "", "ARCA", "100%",
		"Arca"} {
		l := listen(-10 * float64(i))
		l.Title, l.Artist = fmt.Sprint(i), artist
		plays = append(plays, l)
	}
	save(t, s, user, "spotify", plays...)
	save(t, s, bob, "spotify", plays[6])
	for _, limit := range []int{1, 2, 3, 100} {
		for artist, want := range map[string][]string{
			"Björk": {"0", "1", "4"}, " bJÖRK ": {"0", "1", "4"}, "bjork": {"2"}, "arca": {"6", "8"}, "1__%": nil,
			"Björk & Arca": {"3"}, "Nobody": nil, "100%": {"7"}, strings.Repeat("x", 5000): nil, "\xff": nil,
		} {
			require.Equal(t, want, foundBy(t, s, library.ListenFilter{User: user, Artist: artist}, limit), artist)
		}
		require.Len(t, foundBy(t, s, library.ListenFilter{User: user}, limit), 9)
		require.Equal(t, []string{"6"}, foundBy(t, s, library.ListenFilter{User: bob, Artist: "Arca"}, limit))
		span := library.ListenFilter{User: user, From: plays[6].PlayedAt, To: plays[3].PlayedAt}
		require.Equal(t, []string{"4", "5", "6"}, foundBy(t, s, span, limit))
		span.Artist = "björk"
		require.Equal(t, []string{"4"}, foundBy(t, s, span, limit))
	}
	_, next, err := s.FindListens(t.Context(), library.ListenFilter{User: user, Artist: "Arca"}, "", 1)
	require.NoError(t, err)
	_, _, err = s.FindListens(t.Context(), library.ListenFilter{User: user, Artist: "Arca"}, next, 1)
	require.NoError(t, err)
	_, _, err = s.FindListens(t.Context(), library.ListenFilter{User: user, Artist: "Björk"}, next, 1)
	require.ErrorIs(t, err, library.ErrBadCursor, "it belongs to another filter")
}

// The listens of a rare artist are read by index.
func TestPickedListensAreFoundByTheIndex(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("Postgres counts what is in its tables")
	}
	s, user := setup(t)
	save(t, s, user, "spotify", repeat(5, 5)...)
	rows, err := s.Reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+listens.StatementAt(2), user, 1, 1, 2, 2)
	require.NoError(t, err)
	plan := planOf(t, rows)
	require.True(t, slices.ContainsFunc(plan, func(line string) bool {
		return strings.Contains(line, "USING INDEX listens_newest (user_id=? AND played_at>? AND played_at<?")
	}), plan)
}

// planOf returns the lines of an answer to EXPLAIN QUERY PLAN.
func planOf(t *testing.T, rows *sql.Rows) (plan []string) {
	t.Helper()
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var text string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &text))
		plan = append(plan, text)
	}
	require.NoError(t, rows.Err())
	return plan
}

// A page is compared with the sources of the same keys, not with all that are stored.
func TestKnownPlaysAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	onlyInAFile(t)
	s, user := setup(t)
	rows, err := s.Reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+intake.KnownSources(intake.Kept)+"($3, $4)",
		user, "spotify", 1, 2)
	require.NoError(t, err)
	require.Equal(t, "SEARCH s USING INDEX listen_sources_key (source_key=?)", planOf(t, rows)[0])
}

// BenchmarkFindListens reads a page of a rare artist among 500,000 listens of 20,000 artists.
func BenchmarkFindListens(b *testing.B) {
	s, user := setup(b)
	all := history()
	for part := range 5 {
		for i := range all {
			all[i].SourceID = fmt.Sprintf("%d-%d", part, i)
			all[i].PlayedAt = all[i].PlayedAt.Add(-time.Duration(part) * 10000 * time.Hour)
			all[i].Artist = fmt.Sprintf("Artist %d", i%20_000)
		}
		for page := range slices.Chunk(all, benchPage) {
			save(b, s, user, "spotify", page...)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		page, _, err := s.FindListens(b.Context(), library.ListenFilter{User: user, Artist: "ARTIST 17"}, "", 20)
		require.NoError(b, err)
		require.Len(b, page, 20)
	}
}
