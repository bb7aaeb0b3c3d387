package library

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAHugeTitleIsCutOnceAndForAll: a play that is reported again is the same play.
func TestAHugeTitleIsCutOnceAndForAll(t *testing.T) {
	t.Parallel()
	l := Listen{Track: Track{Title: strings.Repeat("aé\x00", 100_000), Artist: "Bj\ufffdrk\u202e",
		Album: strings.Repeat("音", 5_000), ISRC: strings.Repeat("x", 100), SourceID: strings.Repeat("i", 400),
		Duration: -time.Second}, SourceID: "1:" + strings.Repeat("i", 400), PlayedAt: time.Now()}
	require.True(t, l.Clean(time.Now()))
	require.Equal(t, strings.Repeat("aé", 249)+"a…", l.Title)
	require.Equal(t, "Bjrk", l.Artist)
	require.Equal(t, strings.Repeat("音", 332)+"…", l.Album)
	require.Empty(t, l.ISRC)
	require.Zero(t, l.Duration)
	require.Less(t, len(l.SourceID), 100)
	require.NotEqual(t, l.SourceID, l.Track.SourceID)
	again := l
	require.True(t, again.Clean(time.Now()))
	require.Equal(t, l, again)
	honest := Listen{Track: Track{Title: "Jóga", Artist: "Björk", Album: "Homogenic", ISRC: "GBAYE9700123",
		SourceID: "5a", Duration: 5 * time.Minute}, SourceID: "x@1", PlayedAt: time.Now(), PlayCount: 3}
	same := honest
	require.True(t, same.Clean(time.Now()))
	require.Equal(t, honest, same)
}

// A list that a service has found for a text counts only if it is about the same artists.
func TestListedArtistsAreInTheText(t *testing.T) {
	t.Parallel()
	ike, tina := Credit{Name: "Ike", MBID: "1"}, Credit{Name: "Tina Turner"}
	require.Equal(t, []Credit{ike, tina}, Listed("IKE & TINA TURNER", []Credit{ike, tina}))
	require.Nil(t, Listed("Ike", []Credit{ike, tina}))
	require.Nil(t, Listed("Ike", []Credit{{}}))
	require.Nil(t, Listed("Ike", nil))
	long := make([]Credit, 100)
	for i := range long {
		long[i] = Credit{Name: strings.Repeat("x", i*10), MBID: strings.Repeat("y", i)}
	}
	track := Track{Artists: long}
	track.Clean()
	require.Len(t, track.Artists, maxArtists-1, "without the one that has no name")
	require.Equal(t, Credit{Name: strings.Repeat("x", 10), MBID: "y"}, track.Artists[0])
}

func TestImpossibleTimesAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for at, want := range map[string]bool{
		"1989-12-31T23:59:59Z": false, "1990-01-01T00:00:00Z": true, "0001-01-01T00:00:00Z": false,
		"2026-05-02T12:00:00Z": true, "2026-05-02T12:00:01Z": false, "3000-01-01T00:00:00Z": false,
	} {
		played, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, want, (&Listen{PlayedAt: played}).Clean(now), at)
	}
}

func BenchmarkClean(b *testing.B) {
	l := Listen{Track: Track{Title: "A title of a song", Artist: "Sigur Rós", Album: "Ágætis byrjun",
		ISRC: "GBAYE9700123", SourceID: "5aBCdefghij"}, SourceID: "1700000000:5aBCdefghij", PlayedAt: time.Now()}
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		l.Clean(now)
	}
}
