package sync_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	syncer "reprise/internal/sync"
)

var rare = syncer.Options{ListensEvery: 48 * time.Hour, PlaylistsEvery: 10 * time.Minute}

// keyed runs a test with two people who have connected YouTube and like a video each, at that moment.
func keyed(t *testing.T, at string, story func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin,
	member int64)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		begin, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		time.Sleep(time.Until(begin))
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, rare, nil)
		admin, member := e.AddUser("Alice", accounts.Admin), e.AddUser("Bob", accounts.Member)
		up.Like("alice", "Alice's first")
		up.Like("bob", "Bob's first")
		require.NoError(t, e.ConnectYouTube(up, admin, "alice"))
		enginetest.Settle()
		require.NoError(t, e.ConnectYouTube(up, member, "bob"))
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		require.Equal(t, []string{"aaaa", "bbbb"}, up.KeyCalls())
		story(t, e, up, admin, member)
	})
}

func refuseAll(up *enginetest.Upstreams, why string) {
	for _, k := range enginetest.YouTubeKeys {
		up.RefuseKey(k, why)
	}
}

const newYear = "2000-01-01T20:00:00Z"

func TestASpentKeyChangesNothingForAnybody(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
		up.RefuseKey(enginetest.YouTubeKeys[2], "spent")
		up.Like("alice", "Another")
		before := len(up.KeyCalls())
		time.Sleep(20 * time.Minute)
		require.Equal(t, []string{"cccc", "aaaa"}, up.KeyCalls()[before:],
			"the same request goes out with the next key, once")
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		require.Empty(t, e.Open(admin))
		lists, err := e.Store.Playlists(context.Background(), admin)
		require.NoError(t, err)
		require.Len(t, lists, 1)
		require.Equal(t, 2, lists[0].TrackCount)
		for i := range 5 {
			up.Like("bob", fmt.Sprint("More ", i))
			time.Sleep(10 * time.Minute)
		}
		require.NotContains(t, up.KeyCalls()[before+1:], "cccc", "it cools")
	})
}

// All three keys are spent: what people's own permissions may read goes on, and nobody has to know. When the project
// of the client id is spent too, everybody is held until midnight in Los Angeles, which is also kept on the two days of
// the year that have 23 and 25 hours, and across a restart.
func TestWithAllKeysSpentPermissionsGoOn(t *testing.T) {
	for at, midnight := range map[string]string{
		newYear:                "2000-01-02T08:00:00Z",
		"2000-07-01T20:00:00Z": "2000-07-02T07:00:00Z",
		"2000-04-02T09:30:00Z": "2000-04-03T07:00:00Z", // half an hour before the clocks went forward
		"2000-10-29T08:30:00Z": "2000-10-30T08:00:00Z", // half an hour before they went back
	} {
		t.Run(at, func(t *testing.T) {
			keyed(t, at, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
				reset, err := time.Parse(time.RFC3339, midnight)
				require.NoError(t, err)
				everybody := func(want syncer.Condition) {
					t.Helper()
					for _, user := range []int64{admin, member} {
						require.Equal(t, want, e.Status(user, "youtube").Condition)
					}
				}
				refuseAll(up, "spent")
				up.SetYouTubePlaylist("alice", "PLrain", "public", "rain-1", "rain-2")
				keysBefore := len(up.KeyCalls())
				time.Sleep(15 * time.Minute)
				require.Len(t, up.KeyCalls(), keysBefore+3, "each key once")
				everybody(syncer.Healthy)
				require.Empty(t, e.Open(admin))
				lists, err := e.Store.Playlists(context.Background(), admin)
				require.NoError(t, err)
				require.Len(t, lists, 2)
				require.Equal(t, 2, lists[0].TrackCount)

				e.Stop()
				e = e.Again()
				for _, k := range e.Registry.Get("youtube").Keys.Keys() {
					require.Equal(t, reset, k.Until.UTC(), "the keys cool on")
				}
				up.Like("bob", "After the restart")
				time.Sleep(15 * time.Minute)
				require.Len(t, up.KeyCalls(), keysBefore+3, "no key before midnight")
				everybody(syncer.Healthy)

				up.SpendProject(true)
				time.Sleep(15 * time.Minute)
				everybody(syncer.Held)
				require.Equal(t, resilience.Quota, e.Status(member, "youtube").State.Category)
				require.Equal(t, reset, e.Status(member, "youtube").State.Until.UTC())
				require.Len(t, e.Open(admin), 1)
				require.Equal(t, notify.CauseQuota, e.Open(admin)[0].Cause)
				require.Empty(t, e.Open(member), "it is the administrator's")
				before := len(up.Calls("youtube"))
				e.Stop()
				e = e.Again()
				everybody(syncer.Held)
				var held *backoff.NotBeforeError
				require.ErrorAs(t, e.Connections.SyncNow(context.Background(), member, "youtube"), &held)
				require.ErrorAs(t, e.Connections.Retry(context.Background(), member, "youtube"), &held)
				time.Sleep(time.Until(reset) - time.Second)
				require.Len(t, up.Calls("youtube"), before, "no request before midnight")
				require.Len(t, e.Open(admin), 1, "one message")

				up.SpendProject(false)
				refuseAll(up, "")
				time.Sleep(12 * time.Minute)
				everybody(syncer.Healthy)
				require.Empty(t, e.Open(admin), "the message goes by itself")
			})
		})
	}
}

// A key reads what anybody may see, and never a private playlist: that is no fault of the key.
func TestKeysReadWhatIsPublic(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		up.SetYouTubePlaylist("alice", "PLpublic", "public", "a-1")
		up.SetYouTubePlaylist("alice", "PLunlisted", "unlisted", "b-1", "b-2")
		up.SetYouTubePlaylist("alice", "PLprivate", "private", "c-1", "c-2", "c-3")
		before := len(up.Calls("youtube"))
		time.Sleep(11 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		lists, err := e.Store.Playlists(context.Background(), admin)
		require.NoError(t, err)
		counts := map[string]int{}
		for _, l := range lists {
			counts[l.SourceID] = l.TrackCount
		}
		require.Equal(t, map[string]int{"PLpublic": 1, "PLunlisted": 2, "PLprivate": 3, "LL": 1}, counts)
		by := map[string]int{}
		for _, c := range up.Calls("youtube")[before:] {
			who := "permission"
			if strings.HasPrefix(c.User, "key ") {
				who = "key"
			}
			by[strings.TrimPrefix(c.Path, "/youtube/v3/")+" by "+who]++
		}
		require.Equal(t, 2, by["playlistItems by key"], "one public, one unlisted: %v", by)
		require.Zero(t, by["playlists by key"])
		for _, k := range e.Registry.Get("youtube").Keys.Keys() {
			require.Equal(t, keys.Ready, k.State())
			require.Zero(t, k.Failures)
		}
	})
}

// A playlist that was made private since it was listed is refused to the keys, and read by its owner's permission.
func TestAPlaylistMadePrivateIsReadOn(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, _ int64) {
		up.SetYouTubePlaylist("alice", "PLrain", "public", "a-1")
		up.FailPath("youtube", "/youtube/v3/playlistItems", func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("X-Goog-Api-Key") != "" {
				return enginetest.Answer(req, 403,
					`{"error":{"code":403,"errors":[{"reason":"playlistItemsNotAccessible"}]}}`), nil
			}
			return nil, nil
		})
		time.Sleep(11 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		lists, err := e.Store.Playlists(context.Background(), admin)
		require.NoError(t, err)
		require.Equal(t, 1, lists[0].TrackCount)
		for _, k := range e.Registry.Get("youtube").Keys.Keys() {
			require.Equal(t, keys.Ready, k.State())
		}
	})
}

func TestAllKeysRefusedNeedTheAdministrator(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
		refuseAll(up, "invalid")
		up.Like("bob", "Another")
		before := len(up.KeyCalls())
		time.Sleep(time.Hour)
		require.Len(t, up.KeyCalls(), before+3, "each key once")
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "youtube").Condition)
		require.Equal(t, syncer.NeedsAdmin, e.Status(admin, "youtube").Condition)
		require.Len(t, e.Open(admin), 1)
		require.Contains(t, e.Open(admin)[0].Message.String(), "Google's console")
		require.Empty(t, e.Open(member))

		// The administrator has mended it at Google, and says so.
		refuseAll(up, "")
		require.NoError(t, e.Connections.Retry(context.Background(), admin, "youtube"))
		time.Sleep(11 * time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(member, "youtube").Condition)
		require.Equal(t, syncer.Healthy, e.Status(admin, "youtube").Condition)
		require.Empty(t, e.Open(admin))
	})
}

// The project behind the client id has a quota too. No pool knows of it, so that everybody waits.
func TestTheQuotaOfTheClientIDIsEverybodys(t *testing.T) {
	keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin, member int64) {
		up.Fail("youtube", enginetest.Refusal(403, `{"error":{"code":403,"errors":[{"reason":"quotaExceeded"}]}}`))
		time.Sleep(15 * time.Minute)
		for _, user := range []int64{admin, member} {
			s := e.Status(user, "youtube")
			require.Equal(t, syncer.Held, s.Condition)
			require.Equal(t, "2000-01-02T08:00:00Z", s.State.Until.UTC().Format(time.RFC3339))
		}
		require.Len(t, e.Open(admin), 1)
		before := len(up.Calls("youtube"))
		third := e.AddUser("Carol", accounts.Member)
		require.Error(t, e.ConnectYouTube(up, third, "carol"), "not even to connect")
		require.Len(t, up.Calls("youtube"), before)
	})
}

func TestAServiceWithoutAKeyDoesNotAnswerWell(t *testing.T) {
	for why, kind := range map[string]backoff.Kind{"spent": backoff.Held, "invalid": backoff.Stopped} {
		t.Run(why, func(t *testing.T) {
			keyed(t, newYear, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, _, _ int64) {
				p := e.Registry.Get("youtube")
				require.Equal(t, backoff.Ready, e.Connections.ServiceState(p).Kind)
				p.Pool.Instead = false
				refuseAll(up, why)
				up.SetYouTubePlaylist("alice", "PLrain", "public", "rain-1", "rain-2")
				time.Sleep(20 * time.Minute)
				require.Equal(t, kind, e.Connections.ServiceState(p).Kind)
			})
		})
	}
}
