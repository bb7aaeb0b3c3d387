package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/music"
)

func TestSpellingsOfATrackHaveOneMatchKey(t *testing.T) {
	t.Parallel()
	same := [][]string{ // title, artist, title, artist …
		{"Svefn-g-englar", "Sigur Rós", "SVEFN-G-ENGLAR", "sigur ros", "Svefn‐g‐englar", "Sigur Ro\u0301s"},
		{"Crazy in Love", "Beyoncé", "Crazy In Love (feat. JAY-Z)", "Beyonce", "Crazy in Love [feat. Jay-Z]",
			"Beyoncé, JAY-Z",
			"Crazy in Love feat. Jay-Z", "Beyoncé feat. Jay-Z", "Crazy in Love (ft. Jay-Z)", "Beyoncé ft. Jay-Z",
			"Crazy in Love (with Jay-Z)", "Beyoncé & Jay-Z", "Crazy in Love (Feat Jay-Z)", "Beyoncé; Jay-Z",
			"Crazy in Love featuring Jay-Z", "Beyoncé • JAY-Z", "Crazy in Love [ft. Jay-Z]", "Beyoncé × JAY-Z"},
		{"Heroes", "David Bowie", "Heroes - 2017 Remaster", "David Bowie", "Heroes (2017 Remaster)", "David Bowie",
			"\"Heroes\" - Remastered", "David Bowie",
			"Heroes - Remastered 2017", "David Bowie", "Heroes [2017 Remaster]", "David Bowie",
			"Heroes (Remastered 2017)", "David Bowie",
			"Heroes [2017 - Remaster]", "David Bowie", "Heroes – Remaster", "David Bowie"},
		{"Under Pressure", "Queen", "Under Pressure", "Queen & David Bowie", "Under Pressure",
			"Queen and David Bowie", "Under Pressure", "Queen x David Bowie",
			"Under Pressure", "Queen / David Bowie", "Under Pressure", "Queen with David Bowie",
			"Under Pressure", "Queen vs. David Bowie"},
		{"Don't Stop", "Fleetwood Mac", "Don’t Stop", "Fleetwood Mac", "Dont stop", "FLEETWOOD MAC"},
		{"İstanbul", "Sezen Aksu", "istanbul", "Sezen Aksu", "İstanbul (feat. X)", "Sezen Aksu"},
		{"Twenty-One", "The Eagles", "Twenty-One - Remaster", "The Eagles", "Twenty-One (Remastered)", "The Eagles"},
		{"???", "!!!", "???", "!!!"},
	}
	seen := map[int64]string{}
	for _, group := range same {
		want := music.MatchKey(group[0], group[1])
		require.Empty(t, seen[want], "%s has another key than the groups before", group[0])
		seen[want] = group[0]
		for pair := range slices.Chunk(group, 2) {
			require.Equal(t, want, music.MatchKey(pair[0], pair[1]), "%s by %s", pair[0], pair[1])
		}
	}
	for _, other := range [][2]string{
		{"Heroes", "Mando Diao"}, {"Hero", "David Bowie"}, {"Heroes - Live", "David Bowie"}, {"!!!", "!!!"}, {"??",
			"!!!"},
		{"Remaster", "David Bowie"}, {"Twenty", "The Eagles"}, {"(feat. Nobody)", "X"}, {"", ""}, {"", "x"},
		{"x", ""},
	} {
		key := music.MatchKey(other[0], other[1])
		require.Empty(t, seen[key], "%s by %s is another track", other[0], other[1])
		seen[key] = other[0] + "?"
	}
}

// reported is a play as one service reports it.
type reported struct {
	conn   library.ConnectionID
	minute float64
	title  string
	artist string
	length time.Duration
}

func (v reported) listen() library.Listen {
	l := listen(v.minute)
	l.SourceID = fmt.Sprint(v.conn, "-", v.minute)
	if v.title != "" {
		l.Title = v.title
	}
	if v.artist != "" {
		l.Artist = v.artist
	}
	l.Duration = v.length
	return l
}

func TestOnePlayAtTwoServicesIsOneListen(t *testing.T) {
	t.Parallel()
	three, two := 3*time.Minute, 2*time.Hour
	cases := map[string]struct {
		plays [2]reported
		want  int
	}{
		"the same instant": {[2]reported{{minute: 10, length: three}, {minute: 10, length: three}},
			1},
		"start and end": {[2]reported{{minute: 10, length: three}, {minute: 13, length: three}},
			1},
		"end and start": {[2]reported{{minute: 13.4, length: three},
			{minute: 10, length: three}}, 1},
		"one has no length":    {[2]reported{{minute: 10, length: three}, {minute: 13}}, 1},
		"the other has none":   {[2]reported{{minute: 10}, {minute: 13.4, length: three}}, 1},
		"neither has a length": {[2]reported{{minute: 10}, {minute: 14.5}}, 1},
		"start and end of half an hour": {[2]reported{{minute: 10, length: 30 * time.Minute},
			{minute: 40, length: 30 * time.Minute}}, 1},
		"start and end of the longer length": {[2]reported{{minute: 10, length: three},
			{minute: 30, length: 20 * time.Minute}}, 1},
		"half a minute more than the length": {[2]reported{{minute: 10, length: three},
			{minute: 13.5, length: three}}, 1},
		"longer than that apart": {[2]reported{{minute: 10, length: three}, {minute: 13.51, length: three}}, 2},
		"an hour apart, of two hours": {[2]reported{{minute: 10, length: two},
			{minute: 70, length: two}}, 1},
		"more than an hour apart, of two hours": {[2]reported{{minute: 10, length: two},
			{minute: 70.01, length: two}}, 2},
		"feat. in the title": {[2]reported{{minute: 10},
			{minute: 10, title: "Svefn-g-englar (feat. Steindór Andersen)"}}, 1},
		"feat. in the artist": {[2]reported{{minute: 10},
			{minute: 10, artist: "Sigur Rós feat. Steindór Andersen"}}, 1},
		"a remaster": {[2]reported{{minute: 10},
			{minute: 10, title: "Svefn-g-englar - 2019 Remaster"}}, 1},
		"without accents": {[2]reported{{minute: 10}, {minute: 10, artist: "SIGUR ROS"}}, 1},
		"artists joined otherwise": {[2]reported{{minute: 10, artist: "Sigur Rós, Hilmar"},
			{minute: 10, artist: "Sigur Rós & Hilmar"}}, 1},
		"longer apart than the track": {[2]reported{{minute: 10, length: three}, {minute: 14, length: three}},
			2},
		"longer apart than a track is as a rule": {[2]reported{{minute: 10}, {minute: 15}}, 2},
		"another track":                          {[2]reported{{minute: 10}, {minute: 10, title: "Starálfur"}}, 2},
	}
	s, _ := setup(t)
	for name, c := range cases {
		for i, order := range [][2]int{{0, 1}, {1, 0}} {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				user := addUser(t, s, t.Name(), accounts.Member)
				names, added := [2]library.ConnectionID{"spotify", "listenbrainz"}, 0
				for _, n := range order {
					added += save(t, s, user, names[n], c.plays[n].listen())
				}
				require.Equal(t, c.want, added)
				require.Equal(t, c.want, count(t, s, user))
				if c.want == 1 {
					page, _, err := s.Listens(t.Context(), user, "", 10)
					require.NoError(t, err)
					require.Equal(t, []library.ConnectionID{"listenbrainz", "spotify"}, connectionsOf(page[0]))
				}
			})
		}
	}
}

func connectionsOf(l library.StoredListen) (names []library.ConnectionID) {
	for _, s := range l.Sources {
		names = append(names, s.Connection)
	}
	return names
}

// inPages stores shuffled pages of plays, each the newest first, as providers return them.
func inPages(t testing.TB, s *Store, user int64, rnd *rand.Rand, pages [][]reported) (added int) {
	t.Helper()
	rnd.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	for _, page := range pages {
		listens := make([]library.Listen, len(page))
		for i, v := range page {
			listens[i] = v.listen()
		}
		slices.SortFunc(listens, func(a, b library.Listen) int { return b.PlayedAt.Compare(a.PlayedAt) })
		added += save(t, s, user, page[0].conn, listens...)
		added += save(t, s, user, page[0].conn, listens...) // read again, as after an interrupted run
	}
	return added
}

func TestRealPlaysAreNeverMerged(t *testing.T) {
	t.Parallel()
	length := 4 * time.Minute
	cases := map[string]struct {
		minutes []float64 // of the real plays
		offset  float64   // of the second service, which reports the end of a play
		one     bool      // only one service reports them
	}{
		"a minute apart, one service":   {[]float64{0, 1}, 0, true},
		"a minute apart, two services":  {[]float64{0, 1}, 0, false},
		"a minute apart, start and end": {[]float64{0, 1}, 4, false},
		"back to back, two services":    {[]float64{0, 4, 8}, 0, false},
		"back to back, start and end":   {[]float64{0, 4, 8, 12, 16}, 4, false},
		"back to back for an hour": {[]float64{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56,
			60}, 0, false},
		"back to back and skipped":             {[]float64{0, 1, 5, 6, 6.5, 10.5, 30, 31, 36}, 0.3, false},
		"back to back, skipped, clocks differ": {[]float64{0, 1, 5, 6, 6.5, 10.5, 30, 31, 36}, -0.4, false},
	}
	s, _ := setup(t)
	for name, c := range cases {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				user := addUser(t, s, t.Name(), accounts.Member)
				rnd := rand.New(rand.NewPCG(seed, 1))
				var pages [][]reported
				for _, m := range c.minutes {
					pages = append(pages, []reported{{conn: "listenbrainz", minute: m, length: length}})
					if !c.one {
						pages = append(pages, []reported{{conn: "spotify", minute: m + c.offset, length: length}})
					}
				}
				require.Equal(t, len(c.minutes), inPages(t, s, user, rnd, pages))
				require.Equal(t, len(c.minutes), count(t, s, user))
				requireWhole(t, s, user)
			})
		}
	}
}

// A late report can move an earlier one to a play that it could not be itself.
func TestALateReportFindsRoomAmongLongPlays(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	length := 59 * time.Minute
	for _, v := range []reported{{conn: "listenbrainz", minute: 100}, {conn: "listenbrainz", minute: 155},
		{conn: "spotify", minute: 150}, {conn: "spotify", minute: 92}} {
		v.length = length
		save(t, s, user, v.conn, v.listen())
	}
	require.Equal(t, 2, count(t, s, user), "the one at 150 is the second play, so that the one at 92 is the first")
	requireWhole(t, s, user)
}

// requireWhole requires that each listen has a source, and none has two plays of one connection.
func requireWhole(t testing.TB, s *Store, user int64) {
	t.Helper()
	require.Zero(t,
		number(t, s,
			`SELECT count(*) FROM listens
		WHERE user_id = $1 AND id NOT IN (SELECT listen_id FROM listen_sources)`, user), "listens without a source")
	require.Zero(t,
		number(t, s,
			`SELECT count(*) FROM (SELECT 1 FROM listen_sources s JOIN listens l ON l.id = s.listen_id
		WHERE l.user_id = $1 GROUP BY s.listen_id, s.connection HAVING count(*) > 1) AS twice`, user),
		"listens with two plays of one connection")
}

// TestAnyOrderOfArrival stores an evening of plays from two services, which both miss some, in pages of many orders and
// sizes. The number of listens must be the number of real plays.
func TestAnyOrderOfArrival(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			user := addUser(t, s, t.Name(), accounts.Member)
			rnd := rand.New(rand.NewPCG(seed, 2))
			offset := []float64{0, 4, -0.3, 0.4}[seed%4]
			var first, second []reported
			real, minute := 0, 0.0
			for range 60 {
				title := fmt.Sprint("Track ", rnd.IntN(4))
				// only one service has it: it must be far from other plays of the track to be distinguishable
				if rnd.IntN(4) == 0 {
					minute += 20
					first = append(first, reported{"listenbrainz", minute, title, "", 4 * time.Minute})
					minute += 20
				} else {
					first = append(first, reported{"listenbrainz", minute, title, "", 4 * time.Minute})
					second = append(second, reported{"spotify", minute + offset, title, "", 0})
					minute += []float64{1, 4, 4, 4.2}[rnd.IntN(4)]
				}
				real++
			}
			var pages [][]reported
			for _, plays := range [][]reported{first, second} {
				for len(plays) > 0 {
					n := min(1+rnd.IntN(9), len(plays))
					pages, plays = append(pages, plays[:n]), plays[n:]
				}
			}
			require.Equal(t, real, inPages(t, s, user, rnd, pages))
			require.Equal(t, real, count(t, s, user))
			require.Equal(t, len(second), number(t, s,
				`SELECT count(*) FROM (SELECT 1 FROM listen_sources s JOIN listens l ON l.id = s.listen_id
		WHERE l.user_id = $1 GROUP BY s.listen_id HAVING count(*) = 2) AS merged`, user))
			requireWhole(t, s, user)
		})
	}
}

func TestThreeServicesReportOnePlay(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for seed := range uint64(6) {
		user := addUser(t, s, fmt.Sprint(seed), accounts.Member)
		var pages [][]reported
		for _, minute := range []float64{0, 4, 8} {
			for i, p := range []library.ConnectionID{"listenbrainz", "navidrome", "spotify"} {
				pages = append(pages, []reported{{conn: p, minute: minute + float64(i)/10, length: 4 * time.Minute}})
			}
		}
		// Only whole pages are shuffled: for single plays of three services in any order, there is no unique answer.
		byService := [][]reported{{}, {}, {}}
		for i, p := range pages {
			byService[i%3] = append(byService[i%3], p[0])
		}
		require.Equal(t, 3, inPages(t, s, user, rand.New(rand.NewPCG(seed, 3)), byService))
		requireWhole(t, s, user)
	}
}
