package sync_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// noted are the sentences of the log, the oldest first: what is about a user and about the installation.
func noted(t *testing.T, e *enginetest.Engine, user int64) (all []string) {
	t.Helper()
	page, _, err := e.Store.Activity(context.Background(), activity.Filter{User: user, Installation: true}, "", 1000)
	require.NoError(t, err)
	for i := range page {
		entry := page[len(page)-1-i]
		name := string(entry.Connection)
		if p := e.Registry.Get(entry.Connection.Provider()); p != nil {
			name = p.DisplayName
		}
		all = append(all, entry.Sentence(words.Plain(name)).String())
	}
	return all
}

// by is a context in which that person acts.
func by(name string) context.Context {
	return activity.WithActor(context.Background(), activity.Actor{ID: 1, Name: name})
}

func TestALongOutageIsNotedAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.Equal(t, []string{"Reprise connected Spotify as alice."}, noted(t, e, user), "nobody was named")

		up.Fail("spotify", enginetest.Status(503))
		time.Sleep(40 * time.Minute)
		require.Len(t, noted(t, e, user), 1, "a wait that passes by itself is no news")
		up.Fail("spotify", nil)
		time.Sleep(time.Hour)
		log := noted(t, e, user)
		require.Regexp(t, `^Reading (listens|playlists) from Spotify works again, after \d+ minutes\.$`, log[1])

		up.Revoke("alice")
		time.Sleep(2 * time.Hour)
		stopped := noted(t, e, user)[len(log):]
		require.Len(t, stopped, 1, "once, however many ticks")
		require.Contains(t, stopped[0], "Reprise no longer contacts Spotify.")
		require.NoError(t, e.Connections.Retry(by("Alice"), user, "spotify"))
		time.Sleep(time.Hour)
		again := noted(t, e, user)[len(log)+1:]
		require.Len(t, again, 2)
		require.Equal(t, "Alice retried Spotify.", again[0])
		require.Equal(t, stopped[0], again[1], "it has stopped once more")
	})
}

func TestResettingAKeyEndsEverybodysStop(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
		refuseAll(up, "invalid")
		up.Like("alice", "Another")
		time.Sleep(15 * time.Minute)
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "youtube").Condition)
		for range 2 {
			before := len(up.KeyCalls())
			// That may be wrong: one call finds out, and the stop is back.
			was, err := e.Connections.ResetKey(by("Alice"), e.Registry.Get("youtube"), "bbbb")
			require.NoError(t, err)
			require.Equal(t, keys.Refused, was.State())
			enginetest.Settle()
			require.Equal(t, []string{"bbbb"}, up.KeyCalls()[before:])
			require.Equal(t, syncer.NeedsAdmin, e.Status(member, "youtube").Condition)
			e.Stop()
			e = e.Again()
		}
		up.RefuseKey(enginetest.YouTubeKeys[1], "")
		_, err := e.Connections.ResetKey(by("Alice"), e.Registry.Get("youtube"), "bbbb")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		require.Equal(t, syncer.Healthy, e.Status(member, "youtube").Condition)
		require.Empty(t, e.Open(admin))
		require.Contains(t, noted(t, e, admin), "Alice put the YouTube key …bbbb back into use.")
	})
}

func TestWhatTheClientIDWasToldIsNotLiftedByAKey(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		refuseAll(up, "spent")
		up.Like("alice", "Another")
		time.Sleep(15 * time.Minute)
		until := time.Now().Add(time.Hour)
		hold := backoff.Hold{Key: backoff.Key{Connection: "youtube", Provider: "youtube",
			App: e.Registry.Get("youtube").App(nil)},
			Category: resilience.RateLimit, Since: time.Now(), Until: until}
		require.NoError(t, e.Store.SaveHold(context.Background(), hold))
		before := len(up.Calls("youtube"))
		_, err := e.Connections.ResetKey(by("Alice"), e.Registry.Get("youtube"), "bbbb")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, until.UnixMilli(), e.Status(admin, "youtube").State.Until.UnixMilli())
		require.Len(t, up.Calls("youtube"), before)
	})
}

func TestKeysThatWereRefusedStaySoAcrossARestart(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		up.RefuseKey(enginetest.YouTubeKeys[2], "invalid")
		up.Like("alice", "Another")
		time.Sleep(15 * time.Minute)
		require.Equal(t, keys.Refused, e.Registry.Get("youtube").Keys.Keys()[2].State())
		e.Stop()
		e = e.Again()
		require.Equal(t, keys.Refused, e.Registry.Get("youtube").Keys.Keys()[2].State())
		require.NoError(t, e.Store.Tidy(context.Background()))
		require.NoError(t, e.Connections.Retry(context.Background(), admin, "youtube"))
		e.Stop()
		e = e.Again()
		require.Equal(t, keys.Ready, e.Registry.Get("youtube").Keys.Keys()[2].State(),
			"somebody has said that it is mended")
	})
}

func TestAReconnectIsNotNotedAsARecovery(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		up.Revoke("alice")
		time.Sleep(time.Hour)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Hour)
		before := noted(t, e, user)
		up.Fail("spotify", enginetest.Unreachable)
		time.Sleep(5*time.Minute + time.Second)
		up.Fail("spotify", nil)
		time.Sleep(time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		require.Equal(t, before, noted(t, e, user), "a short wait is no news")
	})
}

func TestEveryLongWaitIsNoted(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		holds := func() (n int) {
			for _, s := range noted(t, e, user) {
				if strings.HasPrefix(s, "Spotify is limiting requests") {
					n++
				}
			}
			return n
		}
		for n := range 2 {
			up.FailPath("spotify", "/v1/me/playlists", enginetest.Status(503))
			time.Sleep(16 * time.Minute)
			up.Fail("spotify", enginetest.Status(429, "Retry-After", "3600"))
			time.Sleep(30 * time.Minute)
			require.Equal(t, n+1, holds())
			up.Fail("spotify", nil)
			up.FailPath("spotify", "/v1/me/playlists", nil)
			up.FailPath("spotify", "/v1/me/player/recently-played", enginetest.Status(503))
			time.Sleep(2 * time.Hour)
			up.FailPath("spotify", "/v1/me/player/recently-played", nil)
			time.Sleep(2 * time.Hour)
			require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		}
	})
}

func TestInstallationRecoveryIsNotedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		source := &providers.Provider{Description: providers.Description{Name: "facts", DisplayName: "Facts"}}
		ask := func(err error) error {
			return e.Guard.Do(t.Context(), providers.OfInstallation(source, library.Enrichment),
				func(context.Context, resilience.Call, providers.Adapter) error { return err })
		}
		require.Error(t, ask(&resilience.AnswerError{Endpoint: "GET /", Status: 429,
			NotBefore: time.Now().Add(time.Hour)}))
		time.Sleep(2 * time.Hour)
		require.NoError(t, ask(nil))
		log := noted(t, e, user)
		require.Len(t, log, 2, "%v", log)
		require.Equal(t, "facts works again, after 2 hours.", log[1])
	})
}
