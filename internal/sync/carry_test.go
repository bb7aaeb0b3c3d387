package sync_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/soak"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// titles are those of an account's history at a service, the oldest first.
func titles(up *enginetest.Upstreams, service, account string) []string {
	all := []string{}
	for _, p := range up.Plays(service, account) {
		all = append(all, p.Title)
	}
	return all
}

// submissions is how many times ListenBrainz was sent listens.
func submissions(up *enginetest.Upstreams) (n int) {
	for _, c := range up.Calls("listenbrainz") {
		if c.Path == "/1/submit-listens" {
			n++
		}
	}
	return n
}

// forwarding lets a test live with a person whose plays at Spotify are carried to ListenBrainz.
func forwarding(t *testing.T, story func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64)) {
	forwardingWith(t, nil, story)
}

// forwardingWith is forwarding with something between the engine and its store.
func forwardingWith(t *testing.T, wrap func(*store.Store) enginetest.Store,
	story func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64)) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// services refuse plays from before they began
		time.Sleep(time.Until(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)))
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{}, wrap)
		e.Carry()
		user := e.AddUser("Alice", accounts.Admin)
		require.NoError(t, e.ConnectSpotify(up, user, "alice"))
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		_, err := e.Deliveries.Forward(context.Background(), user, "listenbrainz", false)
		require.NoError(t, err)
		story(t, e, up, user)
	})
}

func account(t *testing.T, e *enginetest.Engine, user int64) delivery.ForwardingCounts {
	t.Helper()
	a, err := e.Store.ForwardingCounts(context.Background(), user, "listenbrainz")
	require.NoError(t, err)
	a.Next = time.Time{}
	return a
}

func TestListensAreCarriedOnAndComeBackAsTheSame(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		time.Sleep(10 * time.Minute)
		for i := range 3 {
			up.PlayOn("spotify", "alice", fmt.Sprintf("Song %d", i), time.Now().Add(time.Duration(i-3)*time.Minute))
		}
		time.Sleep(10 * time.Minute)
		require.Equal(t, []string{"Song 0", "Song 1", "Song 2"}, titles(up, "listenbrainz", "alice"))
		require.Equal(t, 1, submissions(up))
		require.Equal(t, delivery.ForwardingCounts{Sent: 3}, account(t, e, user))
		time.Sleep(15 * time.Minute)
		require.Equal(t, 3, e.Listens(user), "what comes back is the same listen")
		require.Equal(t, 1, submissions(up), "and is not sent again")
	})
}

// noteless is a store that cannot note the success of a delivery.
type noteless struct{ *store.Store }

func (s noteless) SaveSuccess(ctx context.Context, user int64, conn library.ConnectionID, stream string,
	at time.Time) error {
	if stream == library.Deliveries {
		return errors.New("the disk is full")
	}
	return s.Store.SaveSuccess(ctx, user, conn, stream, at)
}

// ListenBrainz would count a listen only once; other servers with its API would not.
func TestWhatArrivedIsNotSentAgain(t *testing.T) {
	wrap := func(s *store.Store) enginetest.Store { return noteless{s} }
	forwardingWith(t, wrap, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		hear(e, up, user, "Song", 1)
		time.Sleep(10 * time.Minute)
		require.Equal(t, 1, submissions(up))
		require.Equal(t, delivery.ForwardingCounts{Sent: 1}, account(t, e, user))
	})
}

// hear lets alice play n songs at Spotify, ten seconds apart, and waits until they have been read.
func hear(e *enginetest.Engine, up *enginetest.Upstreams, user int64, name string, n int) {
	before := e.Listens(user)
	for i := range n {
		up.PlayOn("spotify", "alice", fmt.Sprintf("%s %03d", name, i), time.Now())
		time.Sleep(10 * time.Second)
	}
	for e.Listens(user) < before+n {
		time.Sleep(time.Minute)
	}
}

// unauthorizedSubmissions is a ListenBrainz that reads without a token and refuses to be sent anything with this one.
func unauthorizedSubmissions(up *enginetest.Upstreams) {
	up.FailPath("listenbrainz", "/1/submit-listens", enginetest.Status(401))
}

func TestAReconnectReleasesParkedListensInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		unauthorizedSubmissions(up)
		hear(e, up, user, "Song", 250)
		time.Sleep(10 * time.Minute)
		require.Equal(t, 1, submissions(up), "one request, and no other with a dead token")
		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.NeedsReconnect, s.Condition)
		require.Equal(t, 250, s.Waiting.Listens)
		require.Equal(t, 250, s.Waiting.Parked)
		require.Contains(t, s.Words.Message.String(), "Nothing is lost: 250 listens are waiting.")
		open := e.Open(user)
		require.Len(t, open, 1, "said once")
		require.Contains(t, open[0].Message.String(), "are waiting.")
		require.Empty(t, up.Plays("listenbrainz", "alice"))

		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		order := up.Taken()
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		require.Empty(t, e.Open(user))
		time.Sleep(10 * time.Minute)
		require.Len(t, titles(up, "listenbrainz", "alice"), 250)
		require.True(t, slices.IsSorted(order()), "the oldest first")
		require.Equal(t, 250, e.Listens(user))
		counts, err := e.Store.CountDeliveries(ctx, delivery.Filter{User: user})
		require.NoError(t, err)
		require.Equal(t, []delivery.State{delivery.Done}, slices.Collect(maps.Keys(counts)))
	})
}

func TestWhatIsParkedDoesNotAge(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		unauthorizedSubmissions(up)
		hear(e, up, user, "Song", 3)
		e.Stop()
		time.Sleep(60 * 24 * time.Hour) // longer than anything is tried or kept
		e = e.Again()
		e.Carry()
		enginetest.Settle()
		require.Equal(t, delivery.ForwardingCounts{Parked: 3}, account(t, e, user))
		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		time.Sleep(5 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Sent: 3}, account(t, e, user))
	})
}

func TestABadListenDoesNotBlockTheRest(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Refuse("Song 000") // the head of everything that waits
		up.FailPath("listenbrainz", "/1/submit-listens", enginetest.Status(503))
		hear(e, up, user, "Song", 40)
		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		time.Sleep(15 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Sent: 39, Refused: 1}, account(t, e, user))
		dead, _, err := e.Store.Deliveries(context.Background(), delivery.Filter{User: user, State: delivery.Dead},
			"", 10)
		require.NoError(t, err)
		require.Len(t, dead, 1)
		require.Equal(t, 1, dead[0].Items)
		require.Equal(t, "item", dead[0].Category)
		require.Contains(t, dead[0].Reason.String(), "ListenBrainz")
		require.Contains(t, dead[0].Answer, "cannot be stored")
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition, "the connection is fine")
	})
}

func TestARefusedBatchIsHalvedToFindBadListens(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	t.Parallel()
	dir, plays := t.TempDir(), soak.Count(t, 10_000, 3_000)
	bad := plays / 1000
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)))
		up := enginetest.NewUpstreams()
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		user := e.AddUser("Alice", accounts.Admin)
		var page []library.Listen
		for i := range plays {
			title := fmt.Sprintf("Song %05d", i)
			if i%1000 == 500+i/1000 {
				up.Refuse(title)
			}
			page = append(page, library.Listen{Track: library.Track{Title: title, Artist: "Sigur Rós"}, SourceID: title,
				PlayedAt: time.Now().Add(time.Duration(i-plays) * 4 * time.Minute)})
		}
		_, err := e.Store.SaveListens(context.Background(),
			library.Intake{User: user, Connection: "spotify", Listens: page})
		require.NoError(t, err)
		require.NoError(t, e.ConnectListenBrainz(user, "alice"))
		enginetest.Settle()
		e.Carry()
		n, err := e.Deliveries.Forward(context.Background(), user, "listenbrainz", true)
		require.NoError(t, err)
		require.Equal(t, plays, n)
		time.Sleep(time.Duration(bad) * 100 * time.Second)
		require.Equal(t, delivery.ForwardingCounts{Sent: plays - bad, Refused: bad}, account(t, e, user))
		require.Len(t, up.Plays("listenbrainz", "alice"), plays-bad)
		require.Less(t, submissions(up), bad*(2*10+8),
			"each bad one of a thousand costs two requests per halving, and a few where halves go out together")
		time.Sleep(6 * time.Minute)
		require.Equal(t, plays, e.Listens(user), "what comes back is nothing new")
	})
}

func TestAWaitPostponesAndUsesNoAttemptUp(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.FailPath("listenbrainz", "/1/submit-listens", enginetest.Status(429, "X-RateLimit-Reset-In", "1800"))
		hear(e, up, user, "Song", 5)
		time.Sleep(10 * time.Minute)
		require.Equal(t, 1, submissions(up))
		s := e.Status(user, "listenbrainz")
		require.Equal(t, syncer.Held, s.Condition)
		waiting, _, err := e.Store.Deliveries(context.Background(), delivery.Filter{User: user}, "", 10)
		require.NoError(t, err)
		for _, d := range waiting {
			require.Zero(t, d.Attempts)
			require.Equal(t, delivery.Scheduled, d.State)
			require.WithinDuration(t, s.State.Until, d.Due, time.Second)
		}
		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		time.Sleep(25 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Sent: 5}, account(t, e, user))
	})
}

func TestAnOutageIsTriedAgainAndAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.FailPath("listenbrainz", "/1/submit-listens", enginetest.Status(503))
		hear(e, up, user, "Song", 2)
		time.Sleep(time.Hour)
		require.Less(t, submissions(up), 40, "a good guest")
		require.Greater(t, submissions(up), 8)
		require.Equal(t, syncer.Waiting, e.Status(user, "listenbrainz").Condition, "not all is well")
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Reading.Condition, "it is read as before")
		require.Equal(t, 1, surveyed(t, e, "listenbrainz")[syncer.Waiting])
		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		time.Sleep(time.Hour)
		require.Equal(t, delivery.ForwardingCounts{Sent: 2}, account(t, e, user))
		require.Equal(t, syncer.Healthy, e.Status(user, "listenbrainz").Condition)
	})
}

func TestADisturbedReadingKeepsTheDeliveryWaiting(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		at := time.Now()
		up.PlayOn("spotify", "alice", "Song", at)
		up.PlayOn("listenbrainz", "alice", "Song", at.Add(-2*time.Second)) // another program has sent it there
		up.Fail("listenbrainz", enginetest.Status(503))
		time.Sleep(20 * time.Minute)
		require.Zero(t, submissions(up))
		up.Fail("listenbrainz", nil)
		time.Sleep(30 * time.Minute)
		require.Zero(t, submissions(up), "it is there already")
		require.Equal(t, delivery.ForwardingCounts{There: 1}, account(t, e, user))
	})
}

func TestAPausedConnectionIsSentNothing(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		require.NoError(t, e.Connections.Pause(ctx, user, "listenbrainz"))
		hear(e, up, user, "Song", 2)
		time.Sleep(10 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Parked: 2}, account(t, e, user))
		require.NoError(t, e.Connections.Resume(ctx, user, "listenbrainz"))
		time.Sleep(5 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Sent: 2}, account(t, e, user))
	})
}

func TestDeadLettersAreRetriedDaily(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.Refuse("Song 000")
		hear(e, up, user, "Song", 1)
		time.Sleep(20 * time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Refused: 1}, account(t, e, user))
		require.Equal(t, 1, submissions(up))
		e.Stop()
		time.Sleep(25 * time.Hour)
		e = e.Again()
		e.Carry()
		time.Sleep(5 * time.Minute)
		require.Equal(t, 2, submissions(up), "once a day")
		require.Equal(t, delivery.ForwardingCounts{Refused: 1}, account(t, e, user))
		up.Allow("Song 000")
		n, err := e.Deliveries.Redrive(context.Background(), delivery.Filter{User: user, State: delivery.Dead}, true)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		n, err = e.Deliveries.Redrive(context.Background(), delivery.Filter{User: user, State: delivery.Dead}, false)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		time.Sleep(time.Minute)
		require.Equal(t, delivery.ForwardingCounts{Sent: 1}, account(t, e, user))
	})
}

func TestWhatIsPostponedKeepsItsOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long under the race detector")
	}
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.FailPath("listenbrainz", "/1/submit-listens", enginetest.Status(429, "X-RateLimit-Reset-In", "3600"))
		for i := range 4 { // one delivery after the other, the later ones while the first are held
			hear(e, up, user, fmt.Sprintf("Song %d", i), 1)
			time.Sleep(6 * time.Minute)
		}
		up.FailPath("listenbrainz", "/1/submit-listens", nil)
		taken := up.Taken()
		time.Sleep(40 * time.Minute)
		require.Equal(t, []string{"Song 0 000", "Song 1 000", "Song 2 000", "Song 3 000"}, taken())
	})
}

// A service that does not offer its listens is sent to all the same, and is not asked for them again and again.
func TestAServiceWhoseListensCannotBeReadIsSentTo(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		up.FailPath("listenbrainz", "/1/user/alice/listens", enginetest.Status(403)) // not allowed to read them
		hear(e, up, user, "Song", 1)
		before := len(up.Calls("listenbrainz"))
		time.Sleep(30 * time.Minute)
		require.Equal(t, []string{"Song 000"}, titles(up, "listenbrainz", "alice"))
		require.Less(t, len(up.Calls("listenbrainz"))-before, 20)
	})
}

// One person's long backlog keeps nobody else waiting.
func TestTwoPeopleDoNotWaitForEachOther(t *testing.T) {
	forwarding(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
		ctx := context.Background()
		bob := e.AddUser("Bob", accounts.Member)
		require.NoError(t, e.ConnectSpotify(up, bob, "bob"))
		require.NoError(t, e.ConnectListenBrainz(bob, "bob"))
		enginetest.Settle()
		_, err := e.Deliveries.Forward(ctx, bob, "listenbrainz", false)
		require.NoError(t, err)
		up.FailPath("listenbrainz", "/1/submit-listens", up.Slow("alice", 20*time.Second))
		hear(e, up, user, "Hers", 40)
		up.PlayOn("spotify", "bob", "His", time.Now())
		time.Sleep(7 * time.Minute)
		require.Equal(t, []string{"His"}, titles(up, "listenbrainz", "bob"))
	})
}
