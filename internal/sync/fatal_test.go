package sync_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Promise: Only a person ends a stop: a dead credential is never sent again.
func TestHoursOf401AreOneCallAndOneNotification(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Second)
		watch := e.Bus.Subscribe(user)
		defer watch.Close()
		up.Fail("spotify", enginetest.Status(401))
		began := time.Now()
		time.Sleep(12 * time.Hour)
		require.Len(t, attempts(up.Calls("spotify"), recent, began), 2,
			"the call, and its repetition after one refresh")
		require.Len(t, attempts(up.Calls("spotify accounts"), "/api/token", began), 1)
		require.Len(t, e.Open(user), 1)
		announced := 0
		for len(watch.C) > 0 {
			if ev := <-watch.C; ev.Type == events.Notification {
				announced++
			}
		}
		require.Equal(t, 1, announced, "one toast")
	})
}

// TestARefusalOfTheCallItselfStopsItsStreamOnly: there is no object that could be skipped, and nothing to reconnect.
func TestARefusalOfTheCallItselfStopsItsStreamOnly(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.FailPath("spotify", recent, enginetest.Status(404))
		time.Sleep(time.Hour)
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.NeedsAdmin, s.Streams[0].Condition)
		require.Equal(t, resilience.Contract, s.State.Category)
		require.Equal(t, syncer.Healthy, s.Streams[1].Condition)
	})
}

func TestInvalidGrantAfterARestartReadsTheSame(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		alice, bob := e.AddUser("Alice", accounts.Admin), e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, alice, "alice"))
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"))
		enginetest.Settle()
		up.Revoke("alice") // found during a run
		time.Sleep(10 * time.Minute)
		e.Stop()
		up.Revoke("bob") // found by the first run after a restart
		time.Sleep(time.Hour)
		e = start()
		time.Sleep(time.Minute)
		for _, user := range []int64{alice, bob} {
			s := e.Status(user, "spotify")
			require.Equal(t, syncer.NeedsReconnect, s.Condition)
			require.Equal(t, resilience.Auth, s.State.Category)
			require.Len(t, e.Open(user), 1)
		}
		require.Equal(t, e.Status(alice, "spotify").Words, e.Status(bob, "spotify").Words)
		require.Equal(t, e.Open(alice)[0].Message.String(), e.Open(bob)[0].Message.String())
	})
}

func TestAStopSurvivesARestart(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Revoke("alice")
		time.Sleep(12 * time.Hour)
		first := e.Open(user)
		require.Len(t, first, 1)
		e.Stop()
		e = start()
		time.Sleep(12 * time.Hour)
		require.Equal(t, first, e.Open(user), "the same one, not another")
		require.Equal(t, first[0].CreatedAt.Truncate(time.Second),
			e.Status(user, "spotify").State.Since.Truncate(time.Second))
	})
}

func TestAReconnectDuringACallOfTheOldCredential(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		// A run with the old credential is under way and will be refused, after the person has reconnected.
		release := make(chan struct{})
		var once sync.Once
		held := make(chan struct{})
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == recent {
				once.Do(func() { close(held) })
				<-release
				return enginetest.Answer(req, 401, `{}`), nil
			}
			return enginetest.Answer(req, 200, `{"id":"alice","display_name":"alice","items":[],"total":0}`), nil
		})
		<-held
		up.Revoke("alice")
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		up.Fail("spotify", nil)
		up.Play("alice", "After", time.Now())
		close(release)
		enginetest.Settle()
		require.Equal(t, 1, e.Listens(user), "the old run is followed by one with the new credential, at once")
		time.Sleep(time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		require.Empty(t, e.Open(user))
	})
}

func TestAnotherAccountIsAskedAboutNotGuessed(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Revoke("alice")
		time.Sleep(10 * time.Minute)
		err := e.ConnectSpotify(up, user, "bob")
		var other *syncer.OtherAccountError
		require.ErrorAs(t, err, &other)
		require.Equal(t, syncer.OtherAccountError{Old: "alice", New: "bob"}, *other)
		enginetest.Settle()
		require.Len(t, e.Open(user), 1, "the alert stays until the person chooses")
		require.Equal(t, syncer.NeedsReconnect, e.Status(user, "spotify").Condition)

		_, err = e.Connections.Choose(ctx, user, "spotify", syncer.Keep)
		require.NoError(t, err)
		require.Equal(t, "alice", e.Status(user, "spotify").Connection.Account)
		require.Len(t, e.Open(user), 1)

		require.Error(t, e.ConnectSpotify(up, user, "bob"))
		_, err = e.Connections.Choose(ctx, user, "spotify", syncer.Replace)
		require.NoError(t, err)
		enginetest.Settle()
		require.Equal(t, "bob", e.Status(user, "spotify").Connection.Account)
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
		require.Empty(t, e.Open(user))
		_, err = e.Connections.Choose(ctx, user, "spotify", syncer.Replace)
		require.ErrorIs(t, err, library.ErrNotFound, "the choice is made once")
	})
}

func TestAReconnectStartsToReadAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Revoke("alice")
		time.Sleep(time.Hour)
		up.Play("alice", "Missed", time.Now().Add(-time.Minute))
		began := time.Now()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.LessOrEqual(t, time.Since(began), 2*time.Second, "no tick was waited for")
		require.Equal(t, 1, e.Listens(user))
		require.Equal(t, int64(2), e.Status(user, "spotify").Connection.Generation)

		// Nor is a call of the old credential that is under way and gets no answer.
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == recent {
				return enginetest.Silent(req)
			}
			return nil, nil
		})
		require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
		enginetest.Settle()
		up.Play("alice", "Missed, too", time.Now().Add(-time.Minute))
		up.Fail("spotify", nil)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.Equal(t, 2, e.Listens(user))
	})
}

func TestAConnectThatIsRefusedStoresNothing(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		_, err := e.Connections.Connect(ctx, e.Registry.Get("listenbrainz"), library.Connection{User: user,
			ID: "listenbrainz", Credentials: library.Credentials{"token": "token-of-"}})
		require.Equal(t, resilience.Auth, resilience.VerdictOf(err).Category)
		up.Fail("listenbrainz", enginetest.Unreachable)
		require.Error(t, e.ConnectListenBrainz(user, "alice"))
		_, err = e.Store.Connection(ctx, user, "listenbrainz")
		require.ErrorIs(t, err, library.ErrNotFound)
	})
}

func TestConnectingUnlistedTellsTheAdministrator(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Bob", accounts.Member)
		up.Fail("spotify", notListed)
		for range 3 {
			err := e.ConnectSpotify(up, member, "bob")
			w := notify.Refused(e.Registry.Get("spotify"), err)
			require.Equal(t, notify.Administrator, w.Owner)
			require.Contains(t, w.Message.String(), "The administrator has to add you")
		}
		require.Len(t, e.Open(admin), 1, "told once")
		require.Contains(t, e.Open(admin)[0].Message.String(), "Bob")
		require.Empty(t, e.Open(member))
		up.Fail("spotify", nil)
		require.NoError(t, e.ConnectSpotify(up, member, "bob"))
		require.Empty(t, e.Open(admin))
	})
}

func TestARenewedTokenIsUsedAfterAKill(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		time.Sleep(2 * time.Hour)
		renewed := len(up.Calls("spotify accounts"))
		// The renewal succeeds; the read after it hangs, and the process ends.
		up.Fail("spotify", enginetest.Silent)
		for len(up.Calls("spotify accounts")) == renewed {
			time.Sleep(time.Minute)
		}
		e.Stop()
		up.Fail("spotify", nil)
		renewed = len(up.Calls("spotify accounts"))
		e = start()
		enginetest.Settle()
		require.Len(t, up.Calls("spotify accounts"), renewed, "the stored token is used, not renewed again")
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
	})
}

func TestConcurrentFailuresAreOneNotification(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(401))
		c, err := e.Store.Connection(context.Background(), user, "spotify")
		require.NoError(t, err)
		watch := e.Bus.Subscribe(user)
		defer watch.Close()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_ = e.Guard.Do(context.Background(), providers.OfConnection(c, "listens"),
					func(context.Context, resilience.Call, providers.Adapter) error {
						time.Sleep(time.Second) // all of them are under way
						return &resilience.AnswerError{Endpoint: "GET /v1/me", Status: 401}
					})
			})
		}
		all.Wait()
		require.Len(t, e.Open(user), 1)
		announced := 0
		for len(watch.C) > 0 {
			if ev := <-watch.C; ev.Type == events.Notification {
				announced++
			}
		}
		require.Equal(t, 1, announced)
	})
}

func TestABrokenContractIsFatalAfterThreeInARow(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Second)
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "playlists") {
				return enginetest.Answer(req, 200, `{"items":[],"total":0}`), nil
			}
			return enginetest.Answer(req, 200, `{"items":"none today"}`), nil
		})
		began := time.Now()
		time.Sleep(6 * time.Hour)
		require.Len(t, attempts(up.Calls("spotify"), recent, began), 3)
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.NeedsAdmin, s.Condition)
		require.Equal(t, syncer.Healthy, s.Streams[1].Condition, "the other stream goes on")
		require.Len(t, e.Open(user), 1)
		require.NotContains(t, e.Open(user)[0].Title.String(), "reconnect")
		require.Equal(t, notify.Action{Label: words.New("alert.action.details"), URL: "/connections/spotify"},
			e.Open(user)[0].Action, "there it can be tried again")
	})
}

func TestTheNoticeOfAnEndGoesWhenTheEndHasCome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{ListensEvery: 48 * time.Hour,
			PlaylistsEvery: 48 * time.Hour}, nil)
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		time.Sleep(time.Until(e.Status(user, "spotify").Connection.ExpiresAt) - 29*24*time.Hour)
		require.Len(t, e.Open(user), 1)
		require.Equal(t, notify.CauseEnds30, e.Open(user)[0].Cause)
		up.Revoke("alice")
		time.Sleep(5 * 24 * time.Hour)
		require.Len(t, e.Open(user), 1)
		require.Equal(t, "auth", e.Open(user)[0].Cause)
		time.Sleep(40 * 24 * time.Hour)
		require.Len(t, e.Open(user), 1, "and no more notices of an end that has come")
	})
}

// TestAnEndIsAnnounced30And7And1DaysAhead: within two hours of each day, and not earlier.
//
// Promise: Reminders come 30, 7 and 1 days before access expires: time to reconnect, and a last call.
func TestAnEndIsAnnounced30And7And1DaysAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{ListensEvery: 48 * time.Hour,
			PlaylistsEvery: 48 * time.Hour}, nil)
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		ends := e.Status(user, "spotify").Connection.ExpiresAt
		causes := func() (all []string) {
			for _, n := range e.Open(user) {
				all = append(all, n.Cause)
			}
			return all
		}
		var before []string
		for _, notice := range []struct {
			days  int
			cause string
		}{{30, notify.CauseEnds30}, {7, notify.CauseEnds7}, {1, notify.CauseEnds1}} {
			day := ends.Add(-time.Duration(notice.days) * 24 * time.Hour)
			time.Sleep(time.Until(day) - time.Minute)
			require.Equal(t, before, causes(), "more than %d days ahead", notice.days)
			time.Sleep(2 * time.Hour)
			before = []string{notice.cause}
			require.Equal(t, before, causes(), "%d days ahead", notice.days)
		}
	})
}

// TestNoNoticeOfAnEndThatHasPassed: nobody is asked to do by a day what that day has passed.
func TestNoNoticeOfAnEndThatHasPassed(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		e.Stop()
		time.Sleep(190 * 24 * time.Hour)
		up.Fail("spotify", enginetest.Status(503)) // it is not known yet
		up.Fail("spotify accounts", enginetest.Status(503))
		e = start()
		time.Sleep(3 * time.Hour)
		require.Empty(t, e.Open(user))
		up.Fail("spotify", nil)
		up.Fail("spotify accounts", nil)
		up.Revoke("alice")
		time.Sleep(time.Hour)
		require.Len(t, e.Open(user), 1)
		require.Contains(t, e.Open(user)[0].Message.String(), "(it lasts 6 months)")
	})
}
