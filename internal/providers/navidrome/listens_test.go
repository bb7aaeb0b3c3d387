package navidrome_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/navidrome"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

var lastPlay = time.Date(2026, 11, 1, 20, 15, 0, 0, time.UTC)

func all(pages []providers.ListenPage) (listens []library.Listen) {
	for _, p := range pages {
		listens = append(listens, p.Listens...)
	}
	return listens
}

func TestEveryPlay(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.fill(1203, 700, lastPlay)
	s.plays = append(s.plays, play{2000, s.plays[0].MediaFileID, s.plays[0].SubmissionTime}) // sent twice
	s.tokenUses = 1                                                                          // each answer renews it
	s.unlisted["song000000000000000003"] = true
	delete(s.songs, "song000000000000000005") // its two plays have no name
	a := providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client}, s.credentials())

	pages, err := listens(t.Context(), a, library.Span{})
	require.NoError(t, err)
	require.Len(t, pages, 3)
	got := all(pages)
	require.Len(t, got, 1201)
	seen := map[string]bool{}
	for i, l := range got {
		require.False(t, seen[l.SourceID], l.SourceID)
		seen[l.SourceID] = true
		require.True(t, i == 0 || !l.PlayedAt.After(got[i-1].PlayedAt), "newest first")
	}
	require.Equal(t, library.Listen{
		Track: library.Track{Title: "Song 0", Artist: "Artist", Album: "Album", Duration: 180500 * time.Millisecond,
			SourceID: "song000000000000000000"},
		SourceID: "song000000000000000000@" + strconv.FormatInt(lastPlay.Unix(), 10), PlayedAt: lastPlay,
	}, got[0])
	require.Equal(t, "Song 3", got[3].Title, "left out of lists, but known")
	require.Equal(t, 1204, pages[0].Total)
	require.Equal(t, lastPlay.Add(-498*time.Minute), pages[0].Oldest, "the double is a row of the first page")
	require.Equal(t, 1, s.signIns)
	for id, n := range s.asked {
		require.Equal(t, 1, n, "%s was looked up more than once", id)
	}
}

// TestASongIsGoneOnlyWhenNavidromeSaysSo expects that no play is lost to the 404 of a proxy whose server is
// restarting.
func TestASongIsGoneOnlyWhenNavidromeSaysSo(t *testing.T) {
	t.Parallel()
	read := func(notFound string) ([]providers.ListenPage, error) {
		routes := navidromeRoutes(t)
		routes["GET /music/api/song"] = providertest.Always(200, "[]")
		routes["GET /music/api/song/{id}"] = providertest.Always(404, notFound)
		a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Routes(routes)),
			merge(geoff, library.Credentials{"auth": "token", "native": "yes"}))
		return listens(t.Context(), a, library.Span{})
	}
	pages, err := read(`{"error":"data not found"}`)
	require.NoError(t, err)
	require.Empty(t, all(pages))
	_, err = read(providertest.Golden(t, "traefik_404.txt"))
	requireVerdict(t, generic, err)
}

func TestSpan(t *testing.T) {
	t.Parallel()
	span := library.Span{After: lastPlay.Add(-20 * time.Minute), Before: lastPlay.Add(-10 * time.Minute)}
	for _, older := range []bool{false, true} {
		s := newServer(t)
		s.fill(60, 60, lastPlay)
		s.older = older
		pages, err := listens(t.Context(),
			providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client}, s.credentials()), span)
		require.NoError(t, err)
		within := 0
		for _, l := range all(pages) {
			require.False(t, l.PlayedAt.Before(span.After) || l.PlayedAt.After(span.Before), l.PlayedAt)
			if l.PlayedAt.After(span.After) && l.PlayedAt.Before(span.Before) {
				within++
			}
		}
		require.Equal(t, 9, within)
	}
}

// TestLatePlays has an offline phone that submits its plays after newer plays of others.
func TestLatePlays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.fill(3, 3, lastPlay)
	onTheWay := lastPlay.Add(-6 * time.Hour)
	s.plays = append(s.plays, play{4, "song000000000000000001", onTheWay.Unix()})
	pages, err := listens(t.Context(), providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client},
		s.credentials()),
		library.Span{After: lastPlay})
	require.NoError(t, err)
	got := all(pages)
	require.Len(t, got, 4)
	require.Equal(t, onTheWay, got[3].PlayedAt)
}

func TestTokenEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.fill(1203, 20, lastPlay)
	s.revokeAt = 3
	a := providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client}, s.credentials())
	pages, err := listens(t.Context(), a, library.Span{})
	require.NoError(t, err)
	require.Len(t, all(pages), 1203)
	require.Equal(t, 2, s.signIns)
}

func TestTokenIsNeverAccepted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.tokenUses = -1
	p := providertest.New(navidrome.Describe())
	for want := 2; want <= 5; want++ { // two in the first run, then one, because the stored token is tried first
		_, err := listens(t.Context(), p.Open(resilience.Call{Client: s.client}, s.credentials()), library.Span{})
		requireVerdict(t, deadCredential, err)
		require.Equal(t, want, s.signIns)
	}
	_, err := listens(t.Context(), p.Open(resilience.Call{Client: s.client}, s.credentials()), library.Span{})
	v := resilience.VerdictOf(err) // the sixth sign-in
	require.Equal(t, resilience.RateLimit, v.Category, "%v", err)
	require.Equal(t, resilience.ScopeApp, v.Scope)
	require.WithinDuration(t, time.Now().Add(20*time.Second), v.NotBefore, 15*time.Second)
}

func TestTokenIsKept(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.fill(10, 10, lastPlay)
	s.tokenUses = 1
	p := providertest.New(navidrome.Describe())
	for range 8 {
		_, err := listens(t.Context(), p.Open(resilience.Call{Client: s.client}, s.credentials()), library.Span{})
		require.NoError(t, err)
	}
	require.Equal(t, 1, s.signIns, "one sign-in serves many runs")
	wrong := merge(s.credentials(), library.Credentials{"password": "wrong-horse"})
	_, err := listens(t.Context(), p.Open(resilience.Call{Client: s.client}, wrong), library.Span{})
	requireVerdict(t, deadCredential, err)
	require.Equal(t, 2, s.signIns, "another password does not find the token of the right one")
}

func TestOlderNavidrome(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.older = true
	s.fill(1203, 450, lastPlay)
	s.songs["never"] = map[string]any{"id": "never", "title": "Never played", "artist": "Nobody"}
	a := providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client}, s.credentials())

	pages, err := listens(t.Context(), a, library.Span{})
	require.NoError(t, err)
	require.Len(t, pages, 3)
	got := all(pages)
	require.Len(t, got, 450)
	require.Equal(t, "Song 0", got[0].Title)
	require.Equal(t, 3, got[0].PlayCount)
	require.Equal(t, 2, got[449].PlayCount)
	require.Equal(t, lastPlay, got[0].PlayedAt)
	require.Equal(t, "song000000000000000000@"+strconv.FormatInt(lastPlay.Unix(), 10), got[0].SourceID,
		"as a newer server names it")
	require.Equal(t, lastPlay.Add(-199*time.Minute), pages[0].Oldest)

	before := s.calls
	pages, err = listens(t.Context(), a, library.Span{After: lastPlay.Add(-5 * time.Minute)})
	require.NoError(t, err)
	require.Len(t, all(pages), 5)
	require.Equal(t, before+2, s.calls, "it stops at known plays")
}

// TestAMissingListOfPlaysOpensNoBreaker reads from an older server, whose missing list is not an outage.
func TestAMissingListOfPlaysOpensNoBreaker(t *testing.T) {
	t.Parallel()
	routes := navidromeRoutes(t)
	delete(routes, "GET /music/api/scrobble")
	call := resilience.Call{Client: transport.NewClient(&transport.Transport{Base: providertest.Routes(routes),
		Breakers: transport.NewBreakers(transport.BreakerOptions{Failures: 2})})}
	for range 5 {
		_, err := listens(t.Context(), providertest.New(navidrome.Describe()).Open(call,
			merge(geoff, library.Credentials{"auth": "token", "native": "yes"})), library.Span{})
		require.NoError(t, err)
	}
}

func TestAlbums(t *testing.T) {
	t.Parallel()
	creds := merge(geoff, library.Credentials{"auth": "token", "native": "no"})
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Routes(albumRoutes(t))), creds)
	read := func(span library.Span) (ids []string, oldest time.Time) {
		pages, err := listens(t.Context(), a, span)
		require.NoError(t, err)
		for _, l := range all(pages) {
			ids = append(ids, l.SourceID+"#"+strconv.Itoa(l.PlayCount))
		}
		if len(pages) > 0 {
			oldest = pages[len(pages)-1].Oldest
		}
		return ids, oldest
	}
	ids, oldest := read(library.Span{})
	require.Equal(t, []string{"tr-1@1793700000#7", "tr-4@1793613600#1", "tr-2@1790841600#2", "tr-5@1735689600#1"}, ids)
	require.Equal(t, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), oldest)
	ids, oldest = read(library.Span{After: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)})
	require.Equal(t, []string{"tr-1@1793700000#7", "tr-4@1793613600#1"}, ids)
	require.Equal(t, time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC), oldest)
	ids, _ = read(library.Span{After: time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)})
	require.Empty(t, ids)
}

// TestNoPlays reads from a server that lists recent albums but does not say when a song was played.
func TestNoPlays(t *testing.T) {
	t.Parallel()
	routes := albumRoutes(t)
	asked := 0
	list := `{"subsonic-response":{"status":"ok","albumList2":{"album":[` +
		`{"id":"1","played":"2026-11-03T10:00:00Z"},{"id":"2","played":1793700000},` +
		`{"id":"3","played":"1793700000000"},{"id":"4","played":"2026-11-01T10:00:00.123"},{"id":"5"}]}}}`
	routes["/music/rest/getAlbumList2.view"] = providertest.Always(200, list)
	routes["/music/rest/getAlbum.view"] = func(*http.Request) (int, http.Header, string) {
		asked++
		return 200, nil,
			`{"subsonic-response":{"status":"ok","album":{"song":[{"id":"tr-1","title":"Rain","artist":"Cloud"}]}}}`
	}
	a := providertest.New(navidrome.Describe()).Open(providertest.Call(providertest.Routes(routes)),
		merge(geoff, library.Credentials{"auth": "token"}))
	pages, err := listens(t.Context(), a, library.Span{})
	require.NoError(t, err)
	require.Empty(t, pages)
	require.Equal(t, 3, asked, "it stops after a few albums")

	routes["/music/rest/getAlbum.view"] = providertest.Always(200, providertest.Golden(t, "error_70.json"))
	pages, err = listens(t.Context(), a, library.Span{})
	require.NoError(t, err, "albums that are gone are no failure")
	require.Empty(t, pages)
}

// TestNonsenseIsNotNeverPlayed has times and counts that are none. Read as "never" and 0, they would end the history.
func TestNonsenseIsNotNeverPlayed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*server){
		"a time":        func(s *server) { s.songs["song000000000000000000"]["playDate"] = "yesterday" },
		"a time as yes": func(s *server) { s.songs["song000000000000000000"]["playDate"] = true },
		"a count":       func(s *server) { s.songs["song000000000000000000"]["playCount"] = "many" },
		"a total":       func(s *server) { s.older, s.total = false, "many" },
		"a total < 0":   func(s *server) { s.older, s.total = false, "-3" },
	} {
		s := newServer(t)
		s.older = true
		s.fill(3, 3, lastPlay)
		spoil(s)
		_, err := listens(t.Context(), providertest.New(navidrome.Describe()).Open(resilience.Call{Client: s.client},
			s.credentials()),
			library.Span{})
		require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%s: %v", name, err)
	}
}
