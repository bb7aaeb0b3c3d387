package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
)

// bothServers opens the database of a directory twice, as two servers do that follow a leader.
func bothServers(t *testing.T, dir string) (one, other *Store) {
	t.Helper()
	made, at := openIn(t, dir), in(t, dir)
	require.NoError(t, made.Close())
	var both [2]*Store
	for i := range both {
		opt := Options{}
		opt.Shared, opt.Server = true, fmt.Sprint("server", i)
		s, err := Open(t.Context(), at, made.Key, opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		both[i] = s
	}
	return both[0], both[1]
}

// played is a play of a track at a service that makes the ids of plays from the time and the track.
func played(title string, minute float64) library.Listen {
	l := listen(minute)
	l.Title, l.SourceID = title, fmt.Sprintf("%d-%s", l.PlayedAt.Unix(), title)
	return l
}

// Promise: Plays of different people are stored at once by all servers; what they share waits its turn.
func TestPlaysOfPeopleAreStoredAtOnce(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return // a file has one writer
	}
	one, other := bothServers(t, t.TempDir())
	alice, bob := addUser(t, one, "Alice", accounts.Admin), addUser(t, one, "Bob", accounts.Member)
	save(t, one, bob, "spotify", played("Known", 0))
	begun, end := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		err := one.WriteFor(t.Context(), alice, func(context.Context, *sql.Tx) error {
			close(begun)
			<-end
			return nil
		})
		require.NoError(t, err)
	})
	<-begun
	save(t, other, bob, "spotify", played("Known", 10)) // while Alice's is under way
	stored := make(chan struct{})
	work.Go(func() {
		save(t, other, bob, "spotify", played("New", 20))
		close(stored)
	})
	require.Eventually(t, func() bool {
		var waits int
		require.NoError(t, one.Reader.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&waits))
		return waits > 0
	}, 10*time.Second, time.Millisecond, "new names wait for everybody")
	select {
	case <-stored:
		require.Fail(t, "it did not wait")
	default:
	}
	close(end)
	<-stored
}

// A phone sends what it has kept, many plays at once and some of them of new music: what is acknowledged is stored.
func TestNoPlayThatWasAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	one, _ := bothServers(t, t.TempDir())
	bob := addUser(t, one, "Bob", accounts.Admin)
	send := sender(t, one, bob)
	const senders, plays = 12, 25
	var work sync.WaitGroup
	for who := range senders {
		work.Go(func() {
			for n := range plays {
				l := played(fmt.Sprint("Track ", who*n%40), float64(who+senders*n))
				require.NoError(t, send([]library.Listen{l}))
			}
		})
	}
	work.Wait()
	require.Equal(t, senders*plays, count(t, one, bob))
}

// Two servers store the plays of twenty people at once, most of them of the same new music, and forward them.
func TestServersStoreWithoutDoubles(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	one, other := bothServers(t, t.TempDir())
	const people, plays = 20, 12
	var work sync.WaitGroup
	for i := range people {
		user := addUser(t, one, fmt.Sprint("Person ", i), accounts.Member)
		connect(t, one, user, "listenbrainz")
		forward(t, one, user, "listenbrainz", 1, 0)
		for n, s := range []*Store{one, other} { // each play reaches both, from two services
			conn := []library.ConnectionID{"spotify", "lastfm"}[n]
			work.Go(func() {
				for n := range plays {
					save(t, s, user, conn, played(fmt.Sprint("Track ", n), float64(10*n)))
				}
			})
		}
	}
	work.Wait()
	rows := func(query string) (n int) {
		require.NoError(t, one.Reader.QueryRow(query).Scan(&n))
		return n
	}
	require.Equal(t, people*plays, rows("SELECT count(*) FROM listens"))
	require.Equal(t, 2*people*plays, rows("SELECT count(*) FROM listen_sources"))
	require.Equal(t, plays, rows("SELECT count(*) FROM spellings"))
	require.Equal(t, people*plays, rows("SELECT count(*) FROM forwards"))
	require.Equal(t, people*plays, rows("SELECT count(*) FROM deliveries"))
}
