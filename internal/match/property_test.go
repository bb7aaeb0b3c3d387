package match

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

// scraps are what arbitrary names are put together from: words that mean something to the matching, letters of many
// scripts, marks without a letter, half characters.
var scraps = []string{"Love", "love", "Live", "the", "The ", " ", " ", " - ", " -", "(", ")", "[", "]", "{", "feat. ",
	" feat. ", " ft. ", "with", "Remaster", "2011", "Remix",
	"Radio Edit", "Karaoke", "Instrumental",
	"Pt. ", "II", "2", "&", ",", ";", "/", " and ", " und ", " x ", "'", ".", "!", "$", "R.E.M.",
	"ø", "Æ", "ß", "İ", "é", "e\u0301", "\u0301",
	"東京", "がき", "ﾊﾟ", "（", "）", "Кино", "Й", "עִבְרִית", "عربي", "हिन्दी", "ไทย", "🎵", "\u200b", "\x00", "\xff",
	"\xe3\x81", "…", "Ⅳ", "№", "ﬁ", strings.Repeat("long", 20)}

func anyName(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(9) {
		b.WriteString(scraps[rnd.IntN(len(scraps))])
	}
	return b.String()
}

func anyTrack(rnd *rand.Rand) library.Track {
	t := song(anyName(rnd), anyName(rnd), anyName(rnd), float64(rnd.IntN(4)*rnd.IntN(400)))
	switch rnd.IntN(8) {
	case 0:
		t.ISRC = isrc
	case 1:
		t.RecordingMBID = mbid
	case 2:
		t.ISRC, t.RecordingMBID = anyName(rnd), anyName(rnd)
	}
	return t
}

// oneOfAFew is a track of a small world, in which many are alike.
func oneOfAFew(rnd *rand.Rand) library.Track {
	pick := func(names ...string) string { return names[rnd.IntN(len(names))] }
	return song(pick("Wonderwall", "Wonderwal", "The Wonderwall")+pick("", "", " - Live", " (Remix)",
		" (Live in Rome)", " - Remastered 2014", " (Part 2)", " (So Far)"),
		pick("Oasis", "The Oasis", "Oassis", "Oasis & Ann", "Ann feat. Oasis", "Blur"), pick("", "Hits",
			"Hits (Live)", "Gold"), float64(pick("\x00", "\xc8", "\xca", "\xce", "\xff")[0]))
}

func TestATrackIsAlwaysFoundInItself(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		track := anyTrack(rnd)
		got := Choose(track, []library.Track{track})
		if strings.TrimSpace(track.Title) == "" {
			continue
		}
		require.Equal(t, track, got.Found, "%+q", track)
		require.Contains(t, []How{ByISRC, ByMBID, ByName}, got.How, "%+q", track)
		require.Equal(t, 1.0, got.Score)
	}
}

func TestWhatIsChosenIsAlwaysAmongTheCandidates(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		track := oneOfAFew
		if seed%2 == 0 {
			track = anyTrack
		}
		want := track(rnd)
		var candidates []library.Track
		for i := range rnd.IntN(6) {
			c := track(rnd)
			c.SourceID = fmt.Sprint(i)
			candidates = append(candidates, c)
		}
		got := Choose(want, candidates)
		require.Equal(t, want, got.Track)
		require.True(t, got.Score >= 0 && got.Score <= 1, "score %v", got.Score)
		if got.How == ByNothing {
			require.Zero(t, got.Found)
			require.Zero(t, got.Score)
			continue
		}
		found++
		require.Contains(t, candidates, got.Found)
		require.Equal(t, got.How == ByScore, got.Score < 1)
	}
	require.Greater(t, found, 100, "the property was tried on too few matches")
}

func TestAScoreIsTheSameInBothDirections(t *testing.T) {
	t.Parallel()
	above := 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		track := oneOfAFew
		if seed%2 == 0 {
			track = anyTrack
		}
		a, b := track(rnd), track(rnd)
		there, back := likeness(recordingOf(a), recordingOf(b)), likeness(recordingOf(b), recordingOf(a))
		require.InDelta(t, there, back, 1e-9, "%+q and %+q", a, b)
		require.True(t, there >= 0 && there < 1+1e-9)
		require.Equal(t, Choose(a, []library.Track{b}).How, Choose(b, []library.Track{a}).How, "%+q and %+q", a, b)
		if there >= scoreFloor {
			above++
		}
	}
	require.Greater(t, above, 40, "the property was tried on too few pairs that are alike")
}

func TestAdversarialNamesCostNoTime(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, s := range []string{"(", "([{", " -", "a ", "é", "e\u0301", "\u0301", "a,", "x & ", "feat. ", " feat. ",
		"(live", "!", "$", "'", ".", "\xff", "が", "(remix) ", "a - "} {
		huge := song(strings.Repeat(s, n/len(s)), strings.Repeat(s, n/len(s)), strings.Repeat(s, n/len(s)), 200)
		other := huge
		other.Title += "b"
		began := time.Now()
		Choose(huge, []library.Track{other, huge})
		require.Less(t, time.Since(began), 5*time.Second, "%q", s)
	}
}

func FuzzChoose(f *testing.F) {
	for _, p := range pairs {
		f.Add(p.want.Title, p.want.Artist, p.candidate.Title, p.candidate.Artist, int64(p.want.Duration),
			int64(p.candidate.Duration))
	}
	f.Add("A Forest ((Live)Live)", "The Cure", "A Forest (Live Paris)", "The Cure", int64(400*time.Second),
		int64(401*time.Second))
	f.Fuzz(func(t *testing.T, title, artist, otherTitle, otherArtist string, length, otherLength int64) {
		a := library.Track{Title: title, Artist: artist, Duration: time.Duration(length)}
		b := library.Track{Title: otherTitle, Artist: otherArtist, Duration: time.Duration(otherLength)}
		require.Equal(t, Choose(a, []library.Track{b}).How, Choose(b, []library.Track{a}).How)
		if strings.TrimSpace(title) != "" {
			require.Equal(t, ByName, Choose(a, []library.Track{a}).How)
		}
	})
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab",
			1}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}, {"東京", "京東", 1}, {"é", "e", 1}, {strings.Repeat("a", 64), strings.Repeat("a", 63),
			1}, {strings.Repeat("a", 65), strings.Repeat("a", 64), 65},
	} {
		require.Equal(t, c.want, distance(c.a, c.b), "%q and %q", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%q and %q", c.b, c.a)
	}
}

func TestNamesNeverBecomeNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		name := anyName(rand.New(rand.NewPCG(seed, 4)))
		if strings.TrimSpace(name) == "" {
			continue
		}
		require.NotEmpty(t, readTitle(name).plain, "%+q", name)
		if utf8.ValidString(name) {
			require.True(t, utf8.ValidString(readTitle(name).plain), "%+q", name)
		}
	}
	for _, name := range []string{"東京", "Кино", "हिन्दी", "ไทย", "עברית", "عربي", "한국어", "Ελλάδα", "🎵", "+", "?",
		"(Live)", "[]", "-", "\u0301"} {
		require.NotEmpty(t, readTitle(name).plain, name)
		require.NotEmpty(t, readArtists(name, nil).plain, name)
	}
}

// crowd is what a search offers beside what was looked for: the same words by others, other words by the same.
func crowd(n int) (tracks []library.Track) {
	titles := []string{"Yesterday Once More", "Yesterday", "Yesterday (Karaoke Version)",
		"Hey Jude - Remastered 2015", "Yesterday's Hero", "Only Yesterday", "Yesterday, When I Was Young"}
	artists := []string{"Carpenters", "Boyz II Men", "The Beatles Karaoke", "The Beatles feat. Billy Preston",
		"Shirley Bassey & The Orchestra", "Björk", "Ray Charles"}
	for i := range n {
		t := song(titles[i%len(titles)], artists[i*3%len(artists)], fmt.Sprint("Album ", i), float64(100+i*7))
		t.SourceID = fmt.Sprint("tr-", i)
		tracks = append(tracks, t)
	}
	return tracks
}

// alike are candidates that have to be looked at to the end: all by the same artists, with nearly the same title.
func alike(n int) (tracks []library.Track) {
	for i := range n {
		tracks = append(tracks, song("Yesterday (Live at The Hollywood Bowl) - Remastered 2009",
			"The Beatles & Billy Preston", fmt.Sprint("Help! (Deluxe Edition), Volume ", i), float64(100+i)))
	}
	return tracks
}

func BenchmarkChoose(b *testing.B) {
	want := song("Yesterday - Remastered 2009", "The Beatles", "Help! (Remastered)", 125)
	for name, candidates := range map[string][]library.Track{"found by name": append(crowd(29),
		song("Yesterday", "The Beatles", "Help!", 125)), "none": crowd(30), "all alike": alike(30)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Choose(want, candidates)
			}
		})
	}
}
