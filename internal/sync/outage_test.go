package sync_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
)

// bubble runs a test with an engine and one user, who has connected nothing yet, in fake time.
func bubble(t *testing.T, story func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64)) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		story(t, e, up, user)
	})
}

// restartable runs a test whose engine is stopped and started again.
func restartable(t *testing.T, story func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine)) {
	restartableWith(t, syncer.Options{}, story)
}

// restartableWith is restartable with options, so that a test of days need not live through every tick.
func restartableWith(t *testing.T, opt syncer.Options,
	story func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		story(t, up, func() *enginetest.Engine { return enginetest.Start(t, dir, up, opt, nil) })
	})
}

// attempts are the times of the calls to one path, relative to since.
func attempts(calls []enginetest.Call, path string, since time.Time) (at []time.Duration) {
	for _, c := range calls {
		if c.Path == path && !c.Time.Before(since) {
			at = append(at, c.Time.Sub(since))
		}
	}
	return at
}

const recent = "/v1/me/player/recently-played"

// Promise: Backoff 30 s, doubling to 30 min: soon enough for a blip, rare enough for an outage.
func TestFirstFailuresWaitLongerAndLonger(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		time.Sleep(time.Second)
		up.Fail("spotify", enginetest.Status(500)) // which is not repeated inside a call
		began := time.Now()
		time.Sleep(20 * time.Minute)
		at := attempts(up.Calls("spotify"), recent, began)
		require.GreaterOrEqual(t, len(at), 5)
		for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
			require.InDelta(t, want.Seconds(), (at[i+1] - at[i]).Seconds(), want.Seconds()/4, "wait %d", i+1)
		}
	})
}

func TestOutagesThatAreNobodysFaultOfThePerson(t *testing.T) {
	cut := func(req *http.Request) (*http.Response, error) {
		resp := enginetest.Answer(req, 200, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"items":[{"pla`), failing{}))
		return resp, nil
	}
	page := func(status int) enginetest.Fault {
		return func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, status, "<!doctype html><title>Sign in to the hotel's network</title>",
				"Content-Type", "text/html"), nil
		}
	}
	for name, c := range map[string]struct {
		service  string
		fault    enginetest.Fault
		category resilience.Category
	}{
		"token endpoint down":          {"spotify accounts", enginetest.Status(503), resilience.Upstream},
		"token endpoint behind a page": {"spotify accounts", page(200), resilience.Upstream},
		"token endpoint unreachable":   {"spotify accounts", enginetest.Unreachable, resilience.Network},
		"upstream down":                {"spotify", enginetest.Status(502), resilience.Upstream},
		"unreachable":                  {"spotify", enginetest.Unreachable, resilience.Network},
		"cut in the middle of a body":  {"spotify", cut, resilience.Network},
		"a page with 200":              {"spotify", page(200), resilience.Upstream},
		"a page with 502":              {"spotify", page(502), resilience.Upstream},
		"a page with 403":              {"spotify", page(403), resilience.Upstream},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
				require.NoError(t, e.ConnectSpotify(up, user, "alice"))
				enginetest.Settle()
				time.Sleep(2 * time.Hour) // the access token has ended
				up.Fail(c.service, c.fault)
				time.Sleep(12 * time.Minute)
				s := e.Status(user, "spotify")
				require.Contains(t, []syncer.Condition{syncer.Waiting, syncer.Syncing}, s.Condition)
				require.Equal(t, c.category, s.State.Category)
				require.Empty(t, e.Open(user))
				up.Fail(c.service, nil)
				time.Sleep(time.Hour)
				require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)
			})
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

func TestOurOwnEndInTheMiddleOfACallTeachesNothing(t *testing.T) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, start func() *enginetest.Engine) {
		e := start()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Silent)
		for e.Status(user, "spotify").Condition != syncer.Syncing {
			time.Sleep(time.Second)
		}
		e.Stop()
		up.Fail("spotify", nil)
		e = start()
		enginetest.Settle()
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Healthy, s.Condition)
		require.Empty(t, s.Detail, "no failure was noted")
	})
}

func TestASilentUpstreamEndsTheRunNotTheLoop(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Silent)
		began := time.Now()
		time.Sleep(time.Hour)
		require.GreaterOrEqual(t, len(attempts(up.Calls("spotify"), recent, began)), 4, "it is tried again and again")
		require.GreaterOrEqual(t, len(attempts(up.Calls("listenbrainz"), "/1/user/alice/listens", began)), 10,
			"and the others keep their interval")
		require.Equal(t, resilience.Network, e.Status(user, "spotify").State.Category)
	})
}

func TestOneDeadUserOfTenDisturbsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, _ int64) {
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		for _, name := range names {
			require.NoError(t, e.ConnectSpotify(up, e.AddUser(name, accounts.Member), name))
		}
		enginetest.Settle()
		up.Revoke("a")
		time.Sleep(10 * time.Minute)
		began := time.Now()
		time.Sleep(time.Hour)
		per := map[string]int{}
		for _, c := range up.Calls("spotify") {
			if c.Path == recent && !c.Time.Before(began) {
				per[c.User]++
			}
		}
		require.Zero(t, per["a"]+per[""])
		for _, name := range names[1:] {
			require.GreaterOrEqual(t, per[name], 11, name)
			require.LessOrEqual(t, per[name], 14, name)
		}
	})
}

func TestListensGoOnWhilePlaylistsFail(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(req.URL.Path, "/v1/me/playlists") {
				return enginetest.Answer(req, 503, `{}`), nil
			}
			return enginetest.Answer(req, 200, `{"items":[]}`), nil
		})
		began := time.Now()
		time.Sleep(2 * time.Hour)
		require.GreaterOrEqual(t, len(attempts(up.Calls("spotify"), recent, began)), 22, "listens keep their rhythm")
		require.LessOrEqual(t, len(attempts(up.Calls("spotify"), "/v1/me/playlists", began)), 12+5,
			"playlists back off further and further, after the first run has repeated its call")
		s := e.Status(user, "spotify")
		require.Equal(t, syncer.Healthy, s.Streams[0].Condition)
		require.Equal(t, syncer.Waiting, s.Streams[1].Condition)
	})
}

// Promise: A hold is kept to the second, by everyone who shares it: the service said so.
func TestAWaitThatIsDictatedIsKept(t *testing.T) {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		header func() string
		wait   time.Duration
		held   bool
	}{
		"seconds":      {func() string { return "3600" }, time.Hour, true},
		"a date":       {func() string { return at(2 * time.Hour) }, 2 * time.Hour, true},
		"zero":         {func() string { return "0" }, 30 * time.Second, false},
		"negative":     {func() string { return "-5" }, 30 * time.Second, false},
		"in the past":  {func() string { return at(-time.Hour) }, 30 * time.Second, false},
		"a billion":    {func() string { return "1000000000" }, 30 * time.Second, false},
		"not readable": {func() string { return "soon" }, 30 * time.Second, false},
		"none":         {func() string { return "" }, 30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
				require.NoError(t, e.ConnectSpotify(up, user, "alice"))
				enginetest.Settle()
				time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
				up.Fail("spotify", enginetest.Status(429, "Retry-After", c.header()))
				now := time.Now()
				require.NoError(t, e.Connections.SyncNow(context.Background(), user, "spotify"))
				enginetest.Settle()
				s := e.Status(user, "spotify")
				if c.held {
					require.Equal(t, syncer.Held, s.Condition)
					require.WithinDuration(t, now.Add(c.wait), s.State.Until, time.Second)
				} else {
					require.Equal(t, syncer.Waiting, s.Condition)
					require.InDelta(t, c.wait.Seconds(), s.State.Until.Sub(now).Seconds(), c.wait.Seconds()/4)
				}
			})
		})
	}
}

// Promise: *Retry* lifts a backoff, never a hold: a person can't overrule the service.
func TestTryAgainLiftsABackoffButNeverAHold(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Status(503))
		time.Sleep(3 * time.Hour)
		up.Fail("spotify", nil)
		require.Equal(t, syncer.Waiting, e.Status(user, "spotify").Condition)
		require.NoError(t, e.Connections.Retry(ctx, user, "spotify"))
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(user, "spotify").Condition)

		up.Fail("spotify", enginetest.Status(429, "Retry-After", "7200"))
		time.Sleep(6 * time.Minute)
		up.Fail("spotify", nil)
		calls := len(up.Calls("spotify"))
		_, held := errors.AsType[*backoff.NotBeforeError](e.Connections.Retry(ctx, user, "spotify"))
		require.True(t, held)
		time.Sleep(time.Hour)
		require.Len(t, up.Calls("spotify"), calls)
	})
}

func TestPausedMeansNoCalls(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		enginetest.Settle()
		require.NoError(t, e.Connections.Pause(ctx, user, "spotify"))
		calls := len(up.Calls("spotify"))
		time.Sleep(24 * time.Hour)
		require.Len(t, up.Calls("spotify"), calls)
		require.Equal(t, syncer.Paused, e.Status(user, "spotify").Condition)
		require.NoError(t, e.Connections.Resume(ctx, user, "spotify"))
		enginetest.Settle()
		require.Greater(t, len(up.Calls("spotify")), calls)
	})
}

// notListed is how Spotify refuses a person whom the administrator has not listed for an app in development mode.
var notListed = enginetest.Refusal(403, "User not registered in the Developer Dashboard")

func TestAPersonNotListedNeedsTheAdministrator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		admin, member := e.AddUser("Alice", accounts.Admin), e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, admin, "alice"))
		require.NoError(t, e.ConnectSpotify(up, member, "bob"))
		enginetest.Settle()
		up.Fail("spotify", func(req *http.Request) (*http.Response, error) {
			if up.AccountOf("spotify", req) == "bob" {
				return notListed(req)
			}
			return nil, nil
		})
		time.Sleep(2 * time.Hour)
		told := func(e *enginetest.Engine) {
			s := e.Status(member, "spotify")
			require.Equal(t, syncer.NeedsAdmin, s.Condition)
			require.Equal(t, notify.Administrator, s.Words.Owner)
			require.Equal(t, "Spotify isn't set up properly", s.Words.Title.String())
			require.Contains(t, s.Words.Message.String(), "The administrator has to add you")
			require.NotContains(t, s.Words.Message.String(), "econnect")
			require.Empty(t, e.Open(member), "not theirs to mend")
			require.Len(t, e.Open(admin), 1)
			n := e.Open(admin)[0]
			require.Contains(t, n.Message.String(), "https://developer.spotify.com/dashboard")
			require.Contains(t, n.Message.String(), "User Management")
			require.Contains(t, n.Message.String(), "Bob")
			require.Contains(t, n.Message.String(), "e-mail")
			require.NotEqual(t, "Reconnect", n.Action.Label)
			require.Equal(t, syncer.Healthy, e.Status(admin, "spotify").Condition, "other people go on")
		}
		told(e)
		e.Stop()
		e = e.Again()
		told(e)
		time.Sleep(2 * time.Hour)
		told(e)

		up.Fail("spotify", nil)
		require.NoError(t, e.Connections.Retry(context.Background(), member, "spotify"))
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(member, "spotify").Condition)
		require.Empty(t, e.Open(admin))
	})
}

func TestPremiumThatEndedIsToldToAdministrators(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, member, "bob"))
		enginetest.Settle()
		up.Fail("spotify", enginetest.Refusal(403,
			`{"error":{"status":403,"message":"Active premium subscription required for the owner of the app"}}`))
		time.Sleep(14 * time.Hour)
		require.Len(t, e.Open(admin), 1, "once, however often it is tried")
		require.Contains(t, e.Open(admin)[0].Message.String(), "Premium")
		require.Empty(t, e.Open(member))
		require.Equal(t, syncer.Held, e.Status(member, "spotify").Condition)
		up.Fail("spotify", nil)
		time.Sleep(7 * time.Hour)
		require.Equal(t, syncer.Healthy, e.Status(member, "spotify").Condition)
		require.Empty(t, e.Open(admin))
	})
}

func TestARefusedAppIsToldToAdministratorsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, admin int64) {
		member := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, admin, "alice"))
		require.NoError(t, e.ConnectSpotify(up, member, "bob"))
		enginetest.Settle()
		time.Sleep(2 * time.Hour)
		up.Fail("spotify accounts", func(req *http.Request) (*http.Response, error) {
			return enginetest.Answer(req, 400, `{"error":"invalid_client"}`), nil
		})
		time.Sleep(2 * time.Hour)
		require.Equal(t, syncer.NeedsAdmin, e.Status(admin, "spotify").Condition)
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "spotify").Condition)
		require.Len(t, e.Open(admin), 1)
		require.Empty(t, e.Open(member), "not theirs to mend")
		require.Equal(t, notify.Administrator, e.Status(member, "spotify").Words.Owner)
		up.Fail("spotify accounts", nil)
		require.NoError(t, e.Connections.Retry(context.Background(), admin, "spotify"))
		enginetest.Settle()
		require.Equal(t, syncer.Healthy, e.Status(admin, "spotify").Condition)
		require.Empty(t, e.Open(admin))

		// A new consent shows it as well, and those who are watching see that it concerned them.
		time.Sleep(2 * time.Hour)
		up.Fail("spotify accounts", refusesTheClient)
		time.Sleep(2 * time.Hour)
		require.Equal(t, syncer.NeedsAdmin, e.Status(member, "spotify").Condition)
		up.Fail("spotify accounts", nil)
		watch := e.Bus.Subscribe(member)
		defer watch.Close()
		require.NoError(t, e.ConnectSpotify(up, admin, "alice"))
		require.Empty(t, e.Open(admin))
		require.Equal(t, events.Connection, (<-watch.C).Type)
		require.Equal(t, syncer.Healthy, e.Status(member, "spotify").Condition)
	})
}
