package sync_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/notify"
	"reprise/internal/resilience/backoff"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

func refusesTheClient(req *http.Request) (*http.Response, error) {
	return enginetest.Answer(req, 400, `{"error":"invalid_client"}`), nil
}

func speaksAnotherLanguage(req *http.Request) (*http.Response, error) {
	return enginetest.Answer(req, 200, `{"x":1}`), nil
}

func TestARestartClosesAlertsWithoutACause(t *testing.T) {
	t.Run("the administrator has corrected the client's secret", func(t *testing.T) {
		restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
			e := start()
			user := e.AddUser("Alice", accounts.Admin)
			require.NoError(t, e.ConnectSpotify(up, user, "alice"))
			enginetest.Settle()
			up.Fail("spotify accounts", refusesTheClient)
			time.Sleep(2 * time.Hour)
			require.Len(t, e.Open(user), 1)
			e.Stop()
			up.Fail("spotify accounts", nil)
			e = start()
			time.Sleep(time.Minute)
			require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
			require.Empty(t, e.Open(user))
		})
	})
	t.Run("the upstream works again after a day of trouble", func(t *testing.T) {
		restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
			e := start()
			user := e.AddUser("Alice", accounts.Admin)
			require.NoError(t, e.ConnectSpotify(up, user, "alice"))
			enginetest.Settle()
			up.Fail("spotify", enginetest.Status(503))
			time.Sleep(30 * time.Hour)
			require.Len(t, e.Open(user), 1)
			e.Stop()
			up.Fail("spotify", nil)
			e = start()
			time.Sleep(time.Minute)
			require.Empty(t, e.Open(user))
		})
	})
}

func TestASuccessClosesOnlyItsStreamsAlert(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		var once atomic.Bool
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			switch {
			case strings.Contains(req.URL.Path, "playlists"):
				return enginetest.Answer(req, 403, `{}`), nil
			case once.CompareAndSwap(true, false):
				return enginetest.Answer(req, 503, `{}`), nil
			}
			return enginetest.Answer(req, 200, `{"items":[]}`), nil
		})
		time.Sleep(time.Hour)
		require.Len(t, e.Open(user), 1)
		once.Store(true) // listens fail, and recover
		time.Sleep(time.Hour)
		require.Equal(t, syncer.NeedsReconnect, e.Status(user, "spotify").Streams[1].Condition)
		require.Len(t, e.Open(user), 1)
	})
}

func TestAdminAlertsFollowTheirConnection(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, member, "bob"))
		enginetest.Settle()
		up.Fail("spotify", speaksAnotherLanguage)
		time.Sleep(2 * time.Hour)
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "spotify").Condition)
		require.Len(t, e.Open(admin), 1)
		require.Len(t, e.Open(admin)[0].Also, 1, "it is about both streams")
		up.Fail("spotify", nil)
		require.NoError(t, e.ConnectSpotify(up, admin, "alice"))
		time.Sleep(time.Hour)
		require.Len(t, e.Open(admin), 1, "the administrator's own connection says nothing about it")
		require.NoError(t, e.Connections.Retry(context.Background(), member, "spotify"))
		time.Sleep(time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(member, "spotify").Condition)
		require.Empty(t, e.Open(admin))

		up.Fail("spotify accounts", refusesTheClient)
		time.Sleep(2 * time.Hour)
		require.Len(t, e.Open(admin), 1)
		require.NoError(t, e.Connections.Disconnect(context.Background(), member, "spotify", true))
		require.Len(t, e.Open(admin), 1, "it still concerns the administrator's own")
		require.NoError(t, e.Connections.Disconnect(context.Background(), admin, "spotify", true))
		require.Empty(t, e.Open(admin), "nobody is left whom it concerns")
	})
}

// keeping is bubble for an engine with another store.
func keeping(t *testing.T, kept func(*store.Store) enginetest.Store,
	story func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{}, kept)
		story(t, e, up, e.AddUser("Alice", accounts.Admin))
	})
}

// forgetfulStore fails to store a notification once.
type forgetfulStore struct {
	*store.Store
	failed atomic.Bool
}

func (s *forgetfulStore) OpenNotification(ctx context.Context, n notify.Notification) (notify.Changes, error) {
	if s.failed.CompareAndSwap(false, true) {
		return notify.Changes{}, errors.New("disk full")
	}
	return s.Store.OpenNotification(ctx, n)
}

func TestAnAlertThatCouldNotBeStoredIsToldLater(t *testing.T) {
	kept := func(db *store.Store) enginetest.Store { return &forgetfulStore{Store: db} }
	keeping(t, kept, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Revoke("alice")
		time.Sleep(30 * time.Minute)
		require.Equal(t, syncer.NeedsReconnect, e.Status(user, "spotify").Condition)
		require.Len(t, e.Open(user), 1)
	})
}

// slowStore takes its time to store a stop.
type slowStore struct {
	*store.Store
	begun, goOn chan struct{}
}

func (s *slowStore) SaveStop(ctx context.Context, v backoff.Stop) error {
	close(s.begun)
	<-s.goOn
	return s.Store.SaveStop(ctx, v)
}

func TestNoAlertAboutAReplacedCredential(t *testing.T) {
	var slow *slowStore
	kept := func(db *store.Store) enginetest.Store {
		slow = &slowStore{db, make(chan struct{}), make(chan struct{})}
		return slow
	}
	keeping(t, kept, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Revoke("alice")
		<-slow.begun
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		close(slow.goOn)
		time.Sleep(time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		require.Empty(t, e.Open(user))
	})
}

func TestAHoldThatAReconnectLiftedStaysLifted(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(503, "Retry-After", "86400"))
		time.Sleep(20 * time.Minute)
		require.Equal(t, syncer.Held, e.Status(user, "spotify").Condition)
		up.Fail("spotify", nil)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		e.Stop()
		e = start()
		time.Sleep(time.Minute)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
	})
}

func TestAWaitDictatedWhileConnectingHoldsAll(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		bob := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(429, "Retry-After", "86400"))
		require.Error(t, e.ConnectSpotify(up, bob, "bob"))
		up.Fail("spotify", nil)
		calls := len(up.Calls("spotify"))
		time.Sleep(time.Hour)
		require.Error(t, e.ConnectSpotify(up, bob, "bob"))
		require.Len(t, up.Calls("spotify"), calls)
		time.Sleep(24 * time.Hour)
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"), "and it is over when it is over")
	})
}

func TestAnotherAccountIsReadFromTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		for i := range 300 {
			up.Play("bob", "Of Bob", time.Now().Add(time.Duration(i-300)*10*time.Minute))
		}
		held, release := make(chan struct{}), make(chan struct{})
		var hold atomic.Bool
		hold.Store(true)
		late := `{"payload":{"listens":[{"listened_at":946684700,"recording_msid":"m",
			"track_metadata":{"artist_name":"x","track_name":"Of Alice"}}],"oldest_listen_ts":1}}`
		up.Fail("listenbrainz", func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/alice/listens") && hold.CompareAndSwap(true, false) {
				close(held)
				<-release
				return enginetest.Answer(req, 200, late), nil
			}
			who := up.AccountOf("listenbrainz", req)
			return enginetest.Answer(req, 200,
				`{"valid":true,"user_name":"`+who+`","playlists":[],"payload":{"listens":[],"count":0}}`), nil
		})
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		<-held
		require.Error(t, e.ConnectListenBrainz(user, "bob"))
		_, err := e.Connections.Choose(context.Background(), user, "listenbrainz", syncer.Replace)
		require.NoError(t, err)
		up.Fail("listenbrainz", nil)
		close(release)
		enginetest.Settle()
		require.Equal(t, 300, e.Listens(user), "all of Bob's, and not the page of Alice's that came too late")
	})
}

func TestSyncNowSaysWhatItDoes(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(503))
		time.Sleep(3 * time.Hour)
		_, refused := errors.AsType[*backoff.NotBeforeError](e.Connections.SyncNow(ctx, user, "spotify"))
		require.True(t, refused, "waiting")
		require.NoError(t, e.Connections.Pause(ctx, user, "spotify"))
		require.ErrorIs(t, e.Connections.SyncNow(ctx, user, "spotify"), syncer.ErrPaused)
		require.ErrorIs(t, e.Connections.Retry(ctx, user, "spotify"), syncer.ErrPaused)

		// While the first call after a hold is under way, it is joined.
		require.NoError(t, e.Connections.Resume(ctx, user, "spotify"))
		up.Fail("spotify", enginetest.Status(429, "Retry-After", "3600"))
		time.Sleep(31 * time.Minute)
		up.Fail("spotify", enginetest.Silent)
		time.Sleep(time.Until(e.Status(user, "spotify").State.Until) + 5*time.Second)
		require.Equal(t, syncer.Syncing, e.Status(user, "spotify").Condition)
		require.NoError(t, e.Connections.SyncNow(ctx, user, "spotify"))
	})
}

func TestTryAgainStartsWhatIsNotHeld(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "playlists") {
				return enginetest.Answer(req, 403, `{}`), nil
			}
			return enginetest.Answer(req, 503, `{}`, "Retry-After", "21600"), nil
		})
		time.Sleep(time.Hour)
		up.Fail("spotify", nil)
		require.NoError(t, e.Connections.Retry(context.Background(), user, "spotify"))
		enginetest.Settle()
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Held, s.Streams[0].Condition)
		require.Equal(t, syncer.Healthy, s.Streams[1].Condition)
	})
}
