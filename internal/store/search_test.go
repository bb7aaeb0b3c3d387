package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/store/lookup"
)

// heardOnce stores a listen of each of these tracks, an hour apart: "title / artist / album".
func heardOnce(t testing.TB, s *Store, user int64, tracks ...string) {
	t.Helper()
	plays := make([]library.Listen, len(tracks))
	for i, text := range tracks {
		parts := append(strings.Split(text, " / "), "", "")
		plays[i] = library.Listen{SourceID: fmt.Sprint(user, i, text), PlayedAt: at(60 * float64(i)),
			Track: library.Track{Title: parts[0], Artist: parts[1], Album: parts[2], Duration: 3 * time.Minute}}
	}
	save(t, s, user, "spotify", plays...)
}

// results searches, and returns what was found as "kind: name" in order.
func results(t testing.TB, s *Store, user int64, text, kind string) (all []string) {
	t.Helper()
	f, err := s.Search(t.Context(), library.Search{User: user, Text: text, Kind: kind, Most: 6})
	require.NoError(t, err, "%q", text)
	for _, list := range [][]library.Heard{f.Artists, f.Albums, f.Tracks} {
		for _, h := range list {
			require.Positive(t, h.Plays)
			all = append(all, h.Kind+": "+h.Name())
		}
	}
	for _, p := range f.Playlists {
		all = append(all, "playlist: "+p.Name)
	}
	for _, l := range f.Listens {
		require.NotEmpty(t, l.Sources)
		all = append(all, "listen: "+l.Title)
	}
	return all
}

var library1 = []string{"Jóga / Björk / Homogenic", "Don’t Stop / Fleetwood Mac / Rumours",
	"Svefn-g-englar / Sigur Rós / Ágætis byrjun", "Thunderstruck / AC/DC / The Razors Edge",
	"Creep / Radiohead / Pablo Honey", "Air / Talking Heads", "Kelly Watch the Stars / Air / Moon Safari",
	"Eple / Røyksopp / Melody A.M.", "Under Pressure / Queen feat. David Bowie / Hot Space",
	"群青日和 / 東京事変 / 教育", "The Boxer / Simon & Garfunkel", "Me and a Gun / !!!", "Группа крови / Кино"}

func TestSearchForgivesHowNamesAreWritten(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	heardOnce(t, s, user, library1...)
	for question, want := range map[string]string{
		"bjork": "artist: Björk", "BJÖRK": "artist: Björk", "bj": "artist: Björk", "bojrk": "artist: Björk",
		"bjrk": "artist: Björk", "bjork joga": "track: Jóga", "dont stop": "track: Don’t Stop",
		"Don't Stop": "track: Don’t Stop", "DON`T ST": "track: Don’t Stop", "mac stop": "track: Don’t Stop",
		"SIGUR ROS": "artist: Sigur Rós", "sigurros": "artist: Sigur Rós", "sigr ross": "artist: Sigur Rós",
		"svefn g englar": "track: Svefn-g-englar", "acdc": "artist: AC/DC", "ac dc": "artist: AC/DC",
		"radio head": "artist: Radiohead", "radoihead": "artist: Radiohead", "raidohea": "artist: Radiohead",
		"air": "artist: Air", "royksop": "artist: Røyksopp", "melody am": "album: Melody A.M.",
		"david bowie": "artist: David Bowie", "queen": "artist: Queen", "事変": "artist: 東京事変",
		"simon and garfunkel": "artist: Simon & Garfunkel", "!!!": "artist: !!!", "кино": "artist: Кино",
		"agaetis": "album: Ágætis byrjun", "homogenik": "album: Homogenic",
	} {
		found := results(t, s, user, question, "")
		require.NotEmpty(t, found, question)
		require.Equal(t, want, found[0], "%q in %v", question, found)
	}
	listed := listen(999)
	listed.Track = library.Track{Title: "Everything Now", Artist: "Everybody",
		Artists: []library.Credit{{Name: "Everybody"}, {Name: "Zoë Quiet"}}}
	save(t, s, user, "spotify", listed)
	require.Equal(t, "artist: Zoë Quiet", results(t, s, user, "zoe", "")[0], "a service listed her")
	require.NotContains(t, results(t, s, user, "bowie", ""), "artist: Queen", "she is not her guest")
	for _, question := range []string{"", "  ", "nobody by that name", "\x00", "qqqqqqq", "bj rk zz"} {
		require.Empty(t, results(t, s, user, question, ""), question)
	}
	require.Equal(t, []string{"listen: Creep"}, results(t, s, user, "radiohead", library.KindListen))
	require.Equal(t, []string{"track: Creep"}, results(t, s, user, "radiohead", library.KindTrack))
	require.Equal(t, []string{"album: Pablo Honey"}, results(t, s, user, "radiohead", library.KindAlbum))
}

func TestAPersonFindsOnlyWhatTheyHeard(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	connect(t, s, bob, "spotify")
	heardOnce(t, s, alice, "Creep / Radiohead / Pablo Honey", "Jóga / Björk / Homogenic")
	heardOnce(t, s, bob, "Lucky / Radiohead / OK Computer", "Airbag / Radiohead / OK Computer")
	require.NoError(t, s.SavePlaylist(t.Context(), alice, "spotify",
		library.Playlist{SourceID: "p", Name: "Songs for Björk"}, 0, nil))
	require.Equal(t, []string{"artist: Radiohead", "album: Pablo Honey", "track: Creep", "listen: Creep"},
		results(t, s, alice, "radiohead", ""))
	require.Equal(t, []string{"artist: Radiohead", "album: OK Computer", "track: Lucky", "track: Airbag",
		"listen: Airbag", "listen: Lucky"}, results(t, s, bob, "radiohead", ""))
	require.Equal(t, "playlist: Songs for Björk", results(t, s, alice, "bjork songs", "")[0])
	require.Empty(t, results(t, s, bob, "bjork", ""))

	c, err := s.DeleteListens(t.Context(), library.Selection{
		ListenFilter: library.ListenFilter{User: alice, Artist: "Björk"}})
	require.NoError(t, err)
	require.Equal(t, []string{"playlist: Songs for Björk"}, results(t, s, alice, "bjork", ""), "it was deleted")
	_, err = s.UndoCorrection(t.Context(), alice, c.ID)
	require.NoError(t, err)
	require.Equal(t, "artist: Björk", results(t, s, alice, "bjork", "")[0], "it is back")

	heardOnce(t, s, bob, "Army of Me / Björk / Post")
	require.Equal(t, "artist: Björk", results(t, s, bob, "bjork", "")[0], "at once")
	require.NoError(t, s.DeleteConnection(t.Context(), bob, "spotify", true))
	require.Empty(t, results(t, s, bob, "bjork", ""), "nor what is not there any more")
}

func TestTheFirstSearchSeesAllOfAnImport(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	tracks := make([]string, lookup.IndexAtOnce+1)
	for i := range tracks {
		tracks[i] = fmt.Sprintf("Song %d / Band %d", i, i%10)
	}
	tracks[lookup.IndexAtOnce] = "The Last One / Latecomer"
	heardOnce(t, s, user, tracks...)
	require.Equal(t, "artist: Latecomer", results(t, s, user, "latecomer", "")[0])
}

func TestAnyTextCanBeSearchedFor(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	heardOnce(t, s, user, library1...)
	for _, text := range []string{`"`, `'`, `"creep`, `creep"*`, "creep*", "%", "_", "*", "a NEAR(b)", "NEAR(creep)",
		"creep AND", "OR", "NOT creep", "title:creep", "{title}:", "(", ")", "^creep", "creep -creep", "\\", "';--",
		"creep:*", "creep:*A", "& | ! <->", "a\x00b", "\x01\x02", "\xff\xfe", "\u202ecreep", "\U0001F3B5",
		strings.Repeat("a", 1<<16), strings.Repeat("a b ", 1<<14), strings.Repeat("\"", 1<<12),
		strings.Repeat("é́", 1000), "😀 creep", "$1", "$$", "?1"} {
		for _, kind := range []string{"", library.KindArtist, library.KindListen, "nonsense"} {
			_, err := s.Search(t.Context(), library.Search{User: user, Text: text, Kind: kind, Most: 6})
			require.NoError(t, err, "%q", text[:min(len(text), 40)])
		}
	}
	for _, text := range []string{`"creep"`, "creep*", "creep:*", "😀 creep", "\u202ecreep"} {
		require.Contains(t, results(t, s, user, text, ""), "track: Creep", text)
	}
}

// coined returns a made-up word. Low numbers are short, and begin in many ways.
func coined(n int) string {
	const starts, ends = "bdfghjklmnprstvwz", "aeiou"
	var b strings.Builder
	for n++; n > 0; n /= len(starts) * len(ends) {
		b.WriteByte(starts[n%len(starts)])
		b.WriteByte(ends[n/len(starts)%len(ends)])
	}
	return b.String()
}

// coinedPlay is one of the plays of 30,000 tracks by 5,000 artists. Some words, and some tracks, are more frequent.
func coinedPlay(i int) library.Listen {
	l := largePlay(i)
	var n int
	_, _ = fmt.Sscanf(l.Title, "The Title of Track %d", &n)
	n = (2*n + i%2) % 30_000
	often := func(salt, of int) string { u := (n*salt + salt) % of; return coined(u * u / of) }
	l.Title = strings.Join([]string{"The", often(7, 500), "of", often(31, 20_000), often(13, 9000)}[n%3:], " ")
	l.Artist = coined(n%5000*17) + " " + coined(n%5000)
	l.Album = coined(n%4000*5) + " " + coined(n%4000)
	l.ISRC = fmt.Sprintf("GBAYE%07d", n)
	return l
}

// BenchmarkSearch searches 30,000 tracks of 500,000 listens as somebody types: an op is one key. It reports the slowest
// key as well, and what the index costs.
func BenchmarkSearch(b *testing.B) {
	s, user := setup(b)
	page := make([]library.Listen, benchPage)
	for n := 0; n < 500_000; n += benchPage {
		for i := range page {
			page[i] = coinedPlay(n + i)
		}
		save(b, s, user, "spotify", page...)
	}
	timed := func(do func() error) float64 {
		began := time.Now()
		require.NoError(b, do())
		return float64(time.Since(began).Microseconds()) / 1000
	}
	ask := func(text string) func() error {
		return func() error {
			_, err := s.Search(b.Context(), library.Search{User: user, Text: text, Most: 7})
			return err
		}
	}
	indexed := timed(func() error { return s.Index(b.Context()) })
	first := timed(ask("a"))
	slowest, keys := 0.0, 0
	for b.Loop() {
		for _, whole := range []string{"the " + coined(7), coinedPlay(0).Artist, coined(1234) + coined(77), "nothing"} {
			for i := range whole {
				took := timed(ask(whole[:i+1]))
				if testing.Verbose() {
					b.Logf("%8.2f ms %s", took, whole[:i+1])
				}
				slowest, keys = max(slowest, took), keys+1
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(keys), "ms/key")
	b.ReportMetric(slowest, "slowest-ms")
	b.ReportMetric(indexed, "index-ms")
	b.ReportMetric(first, "first-ms")
}
