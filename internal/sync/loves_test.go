package sync_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
	syncer "reprise/internal/sync"
)

// inLove tells a story about what Alice loves at Last.fm, ListenBrainz and Navidrome, which are read and kept the same.
func inLove(t *testing.T, story func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64)) {
	opt := syncer.Options{ListensEvery: 24 * time.Hour, PlaylistsEvery: 24 * time.Hour}
	restartableWith(t, opt, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		up.ReadsLoves = true
		e := start()
		e.Carry()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectLastFM(user, "alice"))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		e.Registry.Replace(providertest.New(registry.Describe("navidrome")))
		_, err := e.Connections.Connect(t.Context(), e.Registry.Get("navidrome"), library.Connection{User: user,
			ID: "navidrome", Credentials: library.Credentials{"url": up.Navidrome.URL, "username": "alice",
				"password": up.Navidrome.Password("alice")}})
		require.NoError(t, err)
		for i := range 30 { // what the library at home has
			one := demo.Song{Artist: "Nina", Title: fmt.Sprint("Song ", i), Local: true}
			up.Hear(demo.ListenBrainz, "somebody", one, time.Now())
		}
		time.Sleep(time.Minute)
		for _, conn := range lovers {
			require.NoError(t, e.Deliveries.KeepLoves(t.Context(), user, conn))
		}
		time.Sleep(time.Minute)
		story(t, up, e, user)
	})
}

var lovers = []library.ConnectionID{"lastfm", "listenbrainz", "navidrome"}

// lovedAt returns the titles that Alice loves at a service, in the order of the alphabet.
func lovedAt(up *enginetest.Upstreams, service string) (titles []string) {
	for _, v := range up.Loves(service, "alice") {
		if v.Score > 0 {
			titles = append(titles, v.Title)
		}
	}
	slices.Sort(titles)
	return titles
}

// lovedHere returns the titles that Alice loves here, in the order of the alphabet.
func lovedHere(t *testing.T, e *enginetest.Engine, user int64) (titles []string) {
	all, _, err := e.Store.Loves(t.Context(), library.LoveFilter{User: user, Score: library.Loved}, 0, 1000)
	require.NoError(t, err)
	for _, v := range all {
		titles = append(titles, v.Title)
	}
	slices.Sort(titles)
	return titles
}

func say(t *testing.T, e *enginetest.Engine, user int64, title string, score int) {
	t.Helper()
	require.NoError(t, e.Store.SaveLove(t.Context(), user, library.Love{Title: title, Artist: "Nina", Score: score,
		At: time.Now()}))
}

// Promise: What is loved at one service is loved at the others, and what is taken back anywhere is taken back
// everywhere.
func TestWhatIsLovedAnywhereIsLovedEverywhere(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		everywhere := func(titles ...string) {
			t.Helper()
			time.Sleep(3 * time.Hour)
			require.Equal(t, titles, lovedHere(t, e, user))
			for _, conn := range lovers {
				require.Equal(t, titles, lovedAt(up, string(conn)), conn)
			}
		}
		up.Love(demo.LastFM, "alice", "Nina", "Song 1", 1)
		everywhere("Song 1")
		say(t, e, user, "Song 2", library.Loved)
		everywhere("Song 1", "Song 2")
		up.Love(demo.Navidrome, "alice", "Nina", "Song 1", 0)
		everywhere("Song 2")
		up.Love(demo.ListenBrainz, "alice", "Nina", "Song 3", 1)
		everywhere("Song 2", "Song 3")
		say(t, e, user, "Song 2", library.Unrated)
		everywhere("Song 3")
		require.Empty(t, e.Open(user), "there is nothing to tell")
	})
}

// Promise: An emptied list of loved tracks is asked about before anything follows from it.
func TestAnEmptiedListOfLovesIsAskedAbout(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		for i := range 20 {
			say(t, e, user, fmt.Sprint("Song ", i), library.Loved)
		}
		all := lovedHere(t, e, user)
		time.Sleep(2 * time.Hour)
		require.Equal(t, all, lovedAt(up, demo.LastFM))
		empty := func() {
			for i := range 20 {
				up.Love(demo.LastFM, "alice", "Nina", fmt.Sprint("Song ", i), 0)
			}
			time.Sleep(30 * time.Hour)
			require.Equal(t, all, lovedHere(t, e, user))
			require.Equal(t, all, lovedAt(up, demo.ListenBrainz))
			require.Empty(t, lovedAt(up, demo.LastFM), "and it is not filled again without a word")
			open := e.Open(user)
			require.Len(t, open, 1)
			require.Contains(t, open[0].Message.String(), "20 tracks")
		}
		empty()
		n, err := e.Store.DecideLoves(t.Context(), user, "lastfm", false)
		require.NoError(t, err)
		require.Equal(t, 20, n)
		require.NoError(t, e.Connections.DecidedLoves(t.Context(), user, "lastfm"))
		require.Empty(t, e.Open(user))
		time.Sleep(2 * time.Hour)
		require.Equal(t, all, lovedAt(up, demo.LastFM), "what stays is loved there again")
		empty()
		_, err = e.Store.DecideLoves(t.Context(), user, "lastfm", true)
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		require.Empty(t, lovedHere(t, e, user))
		for _, conn := range lovers {
			require.Empty(t, lovedAt(up, string(conn)), conn)
		}
	})
}

// Promise: However loves change at three services at once, they end in one state, the same everywhere.
func TestAStormOfLovesEndsInOneState(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		rnd := rand.New(rand.NewPCG(7, 7))
		for i := range 30 {
			say(t, e, user, fmt.Sprint("Song ", i), library.Loved)
		}
		time.Sleep(3 * time.Hour)
		for range 120 {
			title, score := fmt.Sprint("Song ", rnd.IntN(30)), rnd.IntN(2)
			switch i := rnd.IntN(4); {
			case i == 3:
				say(t, e, user, title, score)
			case score == 1 || len(lovedAt(up, string(lovers[i]))) > 15:
				up.Love(string(lovers[i]), "alice", "Nina", title, score)
			}
			time.Sleep(time.Duration(rnd.IntN(20)) * time.Minute)
			for _, conn := range lovers { // now and then so much goes at once that she is asked
				_, err := e.Store.DecideLoves(t.Context(), user, conn, true)
				require.True(t, err == nil || errors.Is(err, library.ErrNotFound), err)
			}
		}
		time.Sleep(60 * time.Hour)
		here := lovedHere(t, e, user)
		require.NotEmpty(t, here)
		for _, conn := range lovers {
			require.Equal(t, here, lovedAt(up, string(conn)), conn)
		}
	})
}

// Promise: While nothing changes, reading what somebody loves costs a call an hour.
func TestAnUnchangedListOfLovesCostsOneCall(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		for i := range 450 { // three pages
			up.Love(demo.LastFM, "alice", "Nina", fmt.Sprint("Song ", i), 1)
		}
		time.Sleep(26 * time.Hour)
		require.Len(t, lovedHere(t, e, user), 450)
		before := len(up.Calls("lastfm"))
		time.Sleep(12 * time.Hour)
		require.LessOrEqual(t, len(up.Calls("lastfm"))-before, 16)
	})
}

// Promise: A track that a service refuses is not sent again at once, says why, and stops no other.
func TestALoveThatIsRefusedStopsNoOther(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		say(t, e, user, "Not at home", library.Loved)
		say(t, e, user, "Song 4", library.Loved)
		time.Sleep(3 * time.Hour)
		require.Equal(t, []string{"Song 4"}, lovedAt(up, demo.Navidrome))
		require.Equal(t, []string{"Not at home", "Song 4"}, lovedAt(up, demo.LastFM))
		refused, err := e.Store.LovesRefused(t.Context(), user, "navidrome")
		require.NoError(t, err)
		require.Len(t, refused, 1)
		require.Equal(t, "This song isn't in your library there.", refused[0].Refused.String())
		waits, err := e.Store.Waiting(t.Context(), user)
		require.NoError(t, err)
		require.Empty(t, waits)
	})
}

// TestLovesWaitForAServiceThatIsDown has Last.fm down for a day.
func TestLovesWaitForAServiceThatIsDown(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		require.NoError(t, up.Switch(demo.LastFM, demo.Unavailable))
		up.Love(demo.ListenBrainz, "alice", "Nina", "Song 5", 1)
		time.Sleep(24 * time.Hour)
		require.Equal(t, []string{"Song 5"}, lovedHere(t, e, user))
		require.Equal(t, []string{"Song 5"}, lovedAt(up, demo.Navidrome))
		require.NoError(t, up.Switch(demo.LastFM, demo.Normal))
		time.Sleep(3 * time.Hour)
		require.Equal(t, []string{"Song 5"}, lovedAt(up, demo.LastFM))
	})
}

// TestATrackThatVanishesWhileReadStaysLoved has a list change while it is read.
func TestATrackThatVanishesWhileReadStaysLoved(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		for i := range 450 {
			up.Love(demo.LastFM, "alice", "Nina", fmt.Sprint("Song ", i), 1)
		}
		time.Sleep(2 * time.Hour)
		require.Len(t, lovedHere(t, e, user), 450)
		once := true
		up.Fail(demo.LastFM, func(r *http.Request) (*http.Response, error) {
			if err := r.ParseForm(); err == nil && once && r.Form.Get("method") == "user.getLovedTracks" &&
				r.Form.Get("page") == "2" {
				once = false
				return enginetest.Answer(r, 200,
					`{"lovedtracks":{"track":[],"@attr":{"totalPages":"3","total":"451"}}}`), nil
			}
			return nil, nil
		})
		up.Love(demo.LastFM, "alice", "Nina", "One more", 1)
		time.Sleep(2 * time.Hour)
		require.False(t, once)
		require.Len(t, lovedHere(t, e, user), 451)
		require.Empty(t, e.Open(user))
		require.True(t, strings.HasPrefix(string(e.Status(user, "lastfm").Condition), "healthy"))
	})
}

// Promise: What people love uses at most half of YouTube's quota of a day, so that reading goes on.
func TestLovesLeaveQuotaForReading(t *testing.T) {
	inLove(t, func(t *testing.T, up *enginetest.Upstreams, e *enginetest.Engine, user int64) {
		up.AddPerson("alice")
		p := e.Registry.Get("youtube")
		scopes := append(slices.Clone(p.OAuth.Scopes), p.OAuth.Further[providers.WriteLoves]...)
		credentials := oauth.Credentials(up.YouTube.Authorize("alice", scopes...))
		credentials[providers.ScopeField] = strings.Join(scopes, " ")
		_, err := e.Connections.ConnectOAuth(t.Context(), p, user, oauth.Grant{AuthorizedAt: time.Now(),
			Credentials: credentials})
		require.NoError(t, err)
		likes := 0
		up.Fail(demo.YouTube, func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/videos/rate") {
				likes++
				return enginetest.Answer(r, http.StatusNoContent, ""), nil
			}
			return nil, nil
		})
		var listed []library.Track
		for i := range 130 {
			title := fmt.Sprint("Video ", i)
			listed = append(listed, library.Track{Title: title, Artist: "Nina", SourceID: fmt.Sprintf("video-%05d", i)})
			say(t, e, user, title, library.Loved)
		}
		require.NoError(t, e.Store.SavePlaylist(t.Context(), user, "youtube", library.Playlist{SourceID: "1",
			Name: "Mine"}, 0, listed))
		require.NoError(t, e.Deliveries.KeepLoves(t.Context(), user, "youtube"))
		time.Sleep(10 * time.Minute)
		require.Equal(t, 100, likes)
		time.Sleep(25 * time.Hour)
		require.GreaterOrEqual(t, likes, 130)
	})
}
