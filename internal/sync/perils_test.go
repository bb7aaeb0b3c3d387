package sync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	"reprise/internal/store"
	syncer "reprise/internal/sync"
)

// doomed is a store that the process loses while a run has a large answer: what is marked stays so.
type doomed struct {
	*store.Store
	dying *bool
	marks *int
	fresh *bool // it still stored something new
}

func (d doomed) SaveListens(ctx context.Context, in library.Intake) (added int, err error) {
	added, err = d.Store.SaveListens(ctx, in)
	*d.fresh = added > 0
	return added, err
}

func (d doomed) MarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error {
	*d.marks++
	return d.Store.MarkRun(ctx, user, conn, stream)
}

func (d doomed) UnmarkRun(ctx context.Context, user int64, conn library.ConnectionID, stream string) error {
	if *d.dying && !*d.fresh {
		return errors.New("the process is gone")
	}
	return d.Store.UnmarkRun(ctx, user, conn, stream)
}

// honest is a large page of plays that holds nothing bad.
func honest(at time.Time) string {
	row := fmt.Sprintf(`{"listened_at":%d,"track_metadata":{"artist_name":"Björk","track_name":"Jóga","x":"%s"}}`,
		at.Unix(), strings.Repeat("y", 100_000))
	return `{"payload":{"count":1,"listens":[` + strings.Repeat(row+",", 12) + row + `]}}`
}

// life is a server that can die in the middle of a large answer.
type life struct {
	*enginetest.Engine
	alice int64
	up    *enginetest.Upstreams
	dying bool
	marks int
	fresh bool
}

// again is the next life, after the end of this one.
func (l *life) again() {
	l.Stop()
	l.Engine = l.Again()
}

// die ends the server n times in the first large answer of a life, and lets the next life be.
func (l *life) die(n int) {
	l.again()
	l.dying = true
	for l.marks = 0; l.marks < n; {
		l.again() // which reads at once
	}
	l.Stop()
	l.dying = false
	l.Engine = l.Again()
}

// perilous runs a test with a server whose ListenBrainz sends large answers.
func perilous(t *testing.T, story func(t *testing.T, l *life)) {
	restartable(t, func(t *testing.T, up *enginetest.Upstreams, _ func() *enginetest.Engine) {
		l := &life{up: up}
		l.Engine = enginetest.Start(t, t.TempDir(), up, syncer.Options{}, func(s *store.Store) enginetest.Store {
			return doomed{s, &l.dying, &l.marks, &l.fresh}
		})
		l.alice = l.AddUser("Alice", accounts.Admin)
		require.NoError(t, l.ConnectListenBrainz(l.alice, "alice"))
		enginetest.Settle()
		require.Zero(t, l.marks, "small answers are not marked")
		up.FailPath("listenbrainz", "/1/user/alice/listens", saying(honest(time.Now())))
		story(t, l)
	})
}

func (l *life) condition() syncer.Condition {
	return l.Status(l.alice, "listenbrainz").Streams[0].Condition
}

// TestTheThirdDeathSetsAStreamAside with a notification, and everything else goes on.
//
// Promise: Three ends of the process in a row set a stream aside: the next start must come up.
func TestTheThirdDeathSetsAStreamAside(t *testing.T) {
	perilous(t, func(t *testing.T, l *life) {
		l.die(3)
		bob := l.AddUser("Bob", accounts.Member)
		require.NoError(t, l.ConnectSpotify(l.up, bob, "bob"))
		l.up.PlayOn("spotify", "bob", "Hyperballad", time.Now())
		began := time.Now()
		time.Sleep(time.Hour)
		s := l.Status(l.alice, "listenbrainz")
		require.Equal(t, syncer.NeedsAdmin, s.Streams[0].Condition)
		require.Equal(t, syncer.Healthy, s.Streams[1].Condition, "its playlists are read")
		require.Contains(t, s.Words.Message.String(), "Reprise crashed several times in a row")
		require.Contains(t, s.Detail, "set aside: the server itself ended 3 times in a row while it read this")
		require.Empty(t, attempts(l.up.Calls("listenbrainz"), "/1/user/alice/listens", began))
		require.Len(t, l.Open(l.alice), 1)
		require.Equal(t, 1, l.Listens(bob))

		l.again()
		time.Sleep(time.Hour)
		require.Equal(t, syncer.NeedsAdmin, l.condition(), "until somebody says otherwise")
		require.NoError(t, l.Connections.Retry(t.Context(), l.alice, "listenbrainz"))
		time.Sleep(10 * time.Minute)
		require.Equal(t, syncer.Healthy, l.condition())
		require.Empty(t, l.Open(l.alice))
	})
}

// TestDeathsBeforeASuccessAreForgiven: a server that is killed now and then sets nothing aside.
func TestDeathsBeforeASuccessAreForgiven(t *testing.T) {
	perilous(t, func(t *testing.T, l *life) {
		for range 3 {
			l.die(2)
			time.Sleep(10 * time.Minute)
			require.Equal(t, syncer.Healthy, l.condition())
		}
		l.marks = 0
		time.Sleep(5 * time.Hour)
		require.Zero(t, l.marks, "what was survived once is not marked again before the next start")
		for range 5 {
			l.again()
		}
		require.Equal(t, syncer.Healthy, l.condition())
		crashes, err := l.Store.Crashes(t.Context())
		require.NoError(t, err)
		require.Empty(t, crashes, "a clean stop is none")
	})
}

// TestDeathsAmidALongHistoryAreForgiven: each life of the server got further than the one before.
func TestDeathsAmidALongHistoryAreForgiven(t *testing.T) {
	perilous(t, func(t *testing.T, l *life) {
		l.again()
		l.dying = true
		for range 5 {
			time.Sleep(time.Second)
			l.up.FailPath("listenbrainz", "/1/user/alice/listens", saying(honest(time.Now())))
			l.again()
		}
		require.Equal(t, syncer.Healthy, l.condition())
		require.Equal(t, 6, l.Listens(l.alice))
	})
}
