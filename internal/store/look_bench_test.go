package store

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/store/runs"
)

// manyListens returns a library of n listens over ten years, to 30,000 tracks by 5,000 artists, with its columns built.
// The filter selects a rare artist.
func manyListens(b *testing.B, n int) (*Store, int64, library.ListenFilter) {
	b.Helper()
	s, user := setup(b)
	start := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	page := make([]library.Listen, 0, 5000)
	for i := range n {
		track := i * i % 29_989
		artist := fmt.Sprint("Artist ", track/6)
		if i%(n/12) == n/24 {
			artist, track = "Rare", 30_000
		}
		at := start.Add(time.Duration(i) * (10 * 365 * 24 * time.Hour / time.Duration(n)))
		page = append(page, library.Listen{PlayedAt: at, SourceID: fmt.Sprint(at.UnixMilli()), Track: library.Track{
			Title: fmt.Sprint("Track ", track), Artist: artist, Album: fmt.Sprint("Album ", track/10),
			Duration: 200 * time.Second}})
		if len(page) == cap(page) || i == n-1 {
			save(b, s, user, "spotify", page...)
			page = page[:0]
		}
	}
	require.NoError(b, s.BuildColumns(b.Context()))
	links, err := s.Links(b.Context(), []library.Track{{Artist: "Rare"}})
	require.NoError(b, err)
	return s, user, library.ListenFilter{User: user, ArtistID: uint32(links[0].Artist)}
}

// sizes are the numbers of listens that are measured.
func sizes() []int {
	if os.Getenv("SOAK") == "all" {
		return []int{500_000, 5_000_000}
	}
	return []int{500_000}
}

// BenchmarkListensOfARareArtist measures what the page of listens reads for an artist heard a dozen times. One op is
// one page; "of-newest" is the time relative to a page without a filter.
func BenchmarkListensOfARareArtist(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, user, rare := manyListens(b, n)
			all := library.ListenFilter{User: user}
			page := func(f library.ListenFilter) time.Duration {
				began := time.Now()
				page, _, err := s.FindListens(b.Context(), f, "", 50)
				require.NoError(b, err)
				require.NotEmpty(b, page)
				_, err = s.CountFound(b.Context(), f)
				require.NoError(b, err)
				return time.Since(began)
			}
			page(rare)
			page(all)
			var filtered, newest time.Duration
			for b.Loop() {
				filtered += page(rare)
				b.StopTimer()
				newest += page(all)
				b.StartTimer()
			}
			b.ReportMetric(filtered.Seconds()/newest.Seconds(), "of-newest")
		})
	}
}

// BenchmarkRuledPage measures a page of listens, with the meanings of their songs, in a library for which people have
// made a hundred rules. It is what the rules are kept in memory for.
func BenchmarkRuledPage(b *testing.B) {
	s, user, _ := manyListens(b, 20_000)
	for i := range 100 {
		links, err := s.Links(b.Context(), []library.Track{{Artist: fmt.Sprint("Artist ", i)}})
		require.NoError(b, err)
		_, err = s.RenameMusic(b.Context(), user, library.KindArtist, links[0].Artist, fmt.Sprint("The Artist ", i))
		require.NoError(b, err)
	}
	for b.Loop() {
		page, _, err := s.FindListens(b.Context(), library.ListenFilter{User: user}, "", 50)
		require.NoError(b, err)
		tracks := make([]library.Track, len(page))
		for i, l := range page {
			tracks[i] = l.Track
		}
		_, err = s.Links(b.Context(), tracks)
		require.NoError(b, err)
	}
}

// BenchmarkArtistPage measures the numbers on the page of an artist. BenchmarkListeningPage measures Listening for a
// week and for all time; "of-week" is the time of the latter relative to the former.
func BenchmarkArtistPage(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, user, rare := manyListens(b, n)
			now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
			year, err := listening.NewSpan(listening.Year, now)
			require.NoError(b, err)
			one := listening.Filter{Artist: rare.ArtistID}
			ask := listening.Question{Span: listening.Span{Name: listening.All}, Filter: one, Now: now,
				Bare: true}
			for b.Loop() {
				columns, music := counted(b, s, user)
				require.Positive(b, listening.Count(columns, music, ask).Totals.Listens)
				listening.RankOf(columns, music, one, year)
			}
		})
	}
}

func BenchmarkListeningPage(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, user, _ := manyListens(b, n)
			now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
			page := func(span string) time.Duration {
				began := time.Now()
				columns, music := counted(b, s, user)
				in, err := listening.NewSpan(span, now)
				require.NoError(b, err)
				a := listening.Count(columns, music, listening.Question{Span: in, Now: now})
				require.Positive(b, a.Totals.Listens)
				return time.Since(began)
			}
			var week, all time.Duration
			for b.Loop() {
				all += page(listening.All)
				b.StopTimer()
				week += page(listening.Week)
				b.StartTimer()
			}
			b.ReportMetric(all.Seconds()/week.Seconds(), "of-week")
			b.ReportMetric(float64(week.Milliseconds())/float64(b.N), "ms/week")
		})
	}
}

// counted returns what the statistics are counted from.
func counted(b *testing.B, s *Store, user int64) ([]*listening.Columns, *listening.Music) {
	b.Helper()
	columns, err := s.Columns(b.Context(), user)
	require.NoError(b, err)
	music, err := s.Meanings(b.Context())
	require.NoError(b, err)
	return columns, music
}

// BenchmarkOutages measures what pages of listens read to say which ones stand in for others, of somebody with twenty
// outages; "ms/decided" is how long it takes to decide once through which connections plays came, and "ms/counted" to
// count the plays of an outage of a month.
func BenchmarkOutages(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, user, _ := manyListens(b, n)
			from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			var again []library.Listen
			for before, more := "", true; more; {
				f := library.ListenFilter{User: user, From: from}
				page, next, err := s.FindListens(b.Context(), f, before, 1000)
				require.NoError(b, err)
				for _, l := range page {
					l.SourceID = fmt.Sprint("lastfm", l.PlayedAt.UnixMilli())
					again = append(again, l.Listen)
				}
				before, more = next, next != ""
			}
			for page := range slices.Chunk(again, 1000) {
				save(b, s, user, "lastfm", page...)
			}
			for i := range 20 {
				at := from.AddDate(0, 6, i)
				_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: "spotify",
					Gap: &library.Gap{From: at, To: at.AddDate(0, 1, 1), LostTo: at.AddDate(0, 1, 0)}})
				require.NoError(b, err)
			}
			var all []library.Outage
			for b.Loop() {
				var err error
				all, err = s.Outages(b.Context(), user)
				require.NoError(b, err)
			}
			require.Len(b, all, 20)
			began := time.Now()
			by, err := runs.StandIns(b.Context(), s.Reader, user, "spotify", from.AddDate(0, 6, 0))
			require.NoError(b, err)
			require.Equal(b, []library.ConnectionID{"lastfm"}, by)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms/decided")
			began = time.Now()
			_, err = s.StandIns(b.Context(), user, all[0])
			require.NoError(b, err)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms/counted")
		})
	}
}
