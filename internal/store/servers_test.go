package store

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/cluster"
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/store/servers"
	"reprise/internal/throttle"
	"reprise/internal/throttle/throttletest"
)

func TestServersOfPostgresTakeTurns(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		_, err := servers.Open(t.Context(), db.Place{Dir: t.TempDir()}, nil)
		require.ErrorContains(t, err, "can only share a Postgres database")
		return
	}
	dir := t.TempDir()
	s, at := openIn(t, dir), in(t, dir)
	book, err := servers.Open(t.Context(), at, s.Key)
	require.NoError(t, err)
	defer book.Close()
	other, err := db.NewKey(db.NewSecret())
	require.NoError(t, err)
	_, err = servers.Open(t.Context(), at, other)
	require.ErrorIs(t, err, db.ErrWrongKey)

	one := cluster.Server{ID: "1", Name: "music", Version: "1", Started: time.Now()}
	leader, err := book.Beat(t.Context(), one)
	require.NoError(t, err)
	require.True(t, leader.Released, "nobody has led yet")
	lease, err := book.Claim(t.Context(), one)
	require.NoError(t, err)
	require.EqualValues(t, 1, lease)
	leader, err = book.Beat(t.Context(), cluster.Server{ID: "2", Name: "music-2", Started: time.Now()})
	require.NoError(t, err)
	require.Equal(t, cluster.Leader{ID: "1", Lease: 1}, without(leader))
	all, err := s.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []any{"music", true, "music-2", false},
		[]any{all[0].Name, all[0].Leads, all[1].Name, all[1].Leads})

	lease, err = book.Claim(t.Context(), cluster.Server{ID: "2"})
	require.NoError(t, err)
	require.Zero(t, lease, "the first leads")
	_, err = s.Writer.Exec("UPDATE leader SET seen_at = seen_at - 11000")
	require.NoError(t, err)
	lease, err = book.Claim(t.Context(), cluster.Server{ID: "2"})
	require.NoError(t, err)
	require.EqualValues(t, 2, lease)
	still, err := book.Confirm(t.Context(), 1)
	require.NoError(t, err)
	require.False(t, still, "the first lease has ended")
	require.NoError(t, book.Resign(t.Context(), 1)) // which ends nobody else's
	still, err = book.Confirm(t.Context(), 2)
	require.NoError(t, err)
	require.True(t, still)
	require.NoError(t, book.Resign(t.Context(), 2))
	require.NoError(t, book.Leave(t.Context(), "1"))
	all, err = s.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.False(t, all[0].Leads)
}

// What a server leaves for another one can be read by that one only, once, and stays no longer than a minute.
func TestServersPassRequestsOn(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	s, at := openIn(t, dir), in(t, dir)
	book, err := servers.Open(t.Context(), at, s.Key)
	require.NoError(t, err)
	defer book.Close()
	ctx := t.Context()
	require.NoError(t, book.LeaveRequest(ctx, "a", "1", []byte("a password")))
	var all string
	require.NoError(t, s.Reader.QueryRow("SELECT string_agg(r::text, ' ') FROM requests r").Scan(&all))
	require.NotContains(t, all, "password")
	taken, err := book.TakeRequests(ctx, "2", 9)
	require.NoError(t, err)
	require.Empty(t, taken)
	for _, want := range []map[string][]byte{{"a": []byte("a password")}, {}} {
		taken, err = book.TakeRequests(ctx, "1", 9)
		require.NoError(t, err)
		require.Equal(t, want, taken)
	}
	gone, err := book.Withdraw(ctx, "a")
	require.NoError(t, err)
	require.False(t, gone, "it has been taken")
	answer, err := book.Answer(ctx, "a")
	require.NoError(t, err)
	require.Nil(t, answer)
	require.NoError(t, book.AnswerRequest(ctx, "a", []byte("an answer")))
	for _, want := range [][]byte{[]byte("an answer"), nil} {
		answer, err = book.Answer(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, want, answer)
	}

	for _, id := range []string{"b", "c", "d"} {
		require.NoError(t, book.LeaveRequest(ctx, id, "1", nil))
	}
	gone, err = book.Withdraw(ctx, "b")
	require.NoError(t, err)
	require.True(t, gone)
	require.NoError(t, book.Forget(ctx, "c"))
	require.NoError(t, book.AnswerRequest(ctx, "c", []byte("nobody waits for it")))
	require.NoError(t, s.Exec(ctx, "UPDATE requests SET request = 'of another key'"))
	taken, err = book.TakeRequests(ctx, "1", 9)
	require.NoError(t, err)
	require.Empty(t, taken)
	require.NoError(t, s.Exec(ctx, "UPDATE requests SET asked_at = asked_at - 61000"))
	_, err = book.Beat(ctx, cluster.Server{ID: "1"})
	require.NoError(t, err)
	var left int
	require.NoError(t, s.Reader.QueryRow("SELECT count(*) FROM requests").Scan(&left))
	require.Zero(t, left)
}

func TestServersOfPostgresCountTries(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	s, at := openIn(t, dir), in(t, dir)
	var all [2]throttle.Limits
	for i := range all {
		book, err := servers.Open(t.Context(), at, s.Key)
		require.NoError(t, err)
		defer book.Close()
		all[i] = book.Limits()
	}
	throttletest.CountsAlike(t, all[0], all[1])

	read := func() (names string) {
		require.NoError(t, s.Reader.QueryRow("SELECT string_agg(bucket, ' ') FROM tries").Scan(&names))
		return names
	}
	require.NotContains(t, read(), "ann", "a name may be a password")
	require.NoError(t, s.Exec(t.Context(), "UPDATE tries SET forgets_at = forgets_at - 7200000"))
	require.NoError(t, s.Tidy(t.Context()))
	require.Contains(t, read(), "many ", "it forgets in eight hours")
	require.NotContains(t, read(), "once ")

	require.NoError(t, s.Exec(t.Context(), "DROP TABLE tries"))
	_, err := all[0].Take(t.Context(), throttle.Limit{Name: "once", Rate: throttle.Rate{Burst: 1}}.Of("ann"))
	require.Error(t, err, "what can't be counted isn't allowed")
}

// without returns a leader without what depends on the time.
func without(l cluster.Leader) cluster.Leader { l.Age = 0; return l }

// What the leader of a lease has open ends when another server takes over, with what it has not committed.
//
// Promise: A server that no longer leads writes nothing more.
func TestALeaderThatWasWritesNothing(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	first, at := openIn(t, dir), in(t, dir)
	require.NoError(t, first.Close())
	open := func(lease int64) (*Store, error) {
		var opt Options
		opt.Shared, opt.Lease = true, lease
		return Open(t.Context(), at, first.Key, opt)
	}
	book, err := servers.Open(t.Context(), at, first.Key)
	require.NoError(t, err)
	defer book.Close()
	lease, err := book.Claim(t.Context(), cluster.Server{ID: "1"})
	require.NoError(t, err)
	leads, err := open(lease)
	require.NoError(t, err)
	defer leads.Close()
	beside, err := open(0)
	require.NoError(t, err)
	defer beside.Close()
	_, err = Open(t.Context(), at, first.Key, Options{})
	require.ErrorContains(t, err, "lock timeout", "who wants to be alone is refused")

	late, err := leads.Writer.Begin()
	require.NoError(t, err)
	_, err = late.Exec("INSERT INTO facts (name, value) VALUES ('late', '')")
	require.NoError(t, err)
	_, err = beside.Reader.Exec("SELECT 1")
	require.NoError(t, err)
	require.NoError(t, book.Resign(t.Context(), lease))
	lease, err = book.Claim(t.Context(), cluster.Server{ID: "2"})
	require.NoError(t, err)
	require.NoError(t, beside.Prove(t.Context()), "the transaction under way has been undone")
	require.Error(t, late.Commit())
	require.Error(t, leads.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ('late', '')"))
	err = leads.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ('late', '')")
	require.ErrorIs(t, err, context.Canceled, "River would repeat it for ever")
	require.Equal(t, db.LeaseEnded.String(), problemOf(t, err))
	require.Error(t, leads.Reader.PingContext(t.Context()))
	_, err = open(lease - 1)
	require.Equal(t, db.LeaseEnded.String(), problemOf(t, err))
	var late2 int
	require.NoError(t, beside.Reader.QueryRow("SELECT count(*) FROM facts WHERE name = 'late'").Scan(&late2))
	require.Zero(t, late2)
	next, err := open(lease)
	require.NoError(t, err)
	require.NoError(t, next.Close())
}

// Servers beside each other change the same row as if one had done it.
func TestServersWriteOneAfterTheOther(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	made, at := openIn(t, dir), in(t, dir)
	require.NoError(t, made.Exec(t.Context(), "INSERT INTO facts (name, value) VALUES ('n', '0')"))
	require.NoError(t, made.Close())
	var all sync.WaitGroup
	for range 3 {
		var opt Options
		opt.Shared = true
		s, err := Open(t.Context(), at, made.Key, opt)
		require.NoError(t, err)
		defer s.Close()
		for range 4 {
			all.Go(func() {
				for range 10 {
					err := s.Write(t.Context(), func(tx *sql.Tx) error {
						var n int
						if err := tx.QueryRow("SELECT value FROM facts WHERE name = 'n'").Scan(&n); err != nil {
							return err
						}
						return db.ExecTx(t.Context(), tx, "UPDATE facts SET value = $1 WHERE name = 'n'",
							strconv.Itoa(n+1))
					})
					assert.NoError(t, err)
				}
			})
		}
		defer func() {
			all.Wait()
			var n string
			require.NoError(t, s.Reader.QueryRow("SELECT value FROM facts WHERE name = 'n'").Scan(&n))
			require.Equal(t, "120", n)
		}()
	}
}

// Promise: A server that hangs while it writes holds up the others for seconds, and what it had begun is undone.
func TestAServerThatHangsIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() || testing.Short() {
		return
	}
	hangs, other := bothServers(t, t.TempDir())
	tx, err := hangs.Writer.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("INSERT INTO facts (name, value) VALUES ('late', '')")
	require.NoError(t, err)
	require.NoError(t, other.Prove(t.Context()))
	require.Error(t, tx.Commit())
	require.NoError(t, hangs.Prove(t.Context()), "it goes on with another connection")
}

// Promise: A server that no longer calls an app stores nothing more of it.
func TestNothingIsStoredUnderALeaseThatHasEnded(t *testing.T) {
	t.Parallel()
	if !postgrestest.On() {
		return
	}
	dir := t.TempDir()
	s, _ := bothServers(t, dir)
	book, err := servers.Open(t.Context(), in(t, dir), s.Key)
	require.NoError(t, err)
	defer book.Close()
	ctx := t.Context()
	for _, id := range []string{"1", "2"} {
		_, err := book.Beat(ctx, cluster.Server{ID: id})
		require.NoError(t, err)
	}
	all, workers, err := book.Leases(ctx, "1", "{}")
	require.NoError(t, err)
	require.Empty(t, all)
	require.Equal(t, map[string]string{"1": "{}"}, workers)
	for range 2 {
		require.NoError(t, book.NoteApps(ctx, []string{"spotify ", "navidrome home"}))
	}
	all, _, err = book.Leases(ctx, "1", "")
	require.NoError(t, err)
	free := all[1].Lease
	require.Equal(t, "spotify ", free.App)
	number, err := book.TakeLease(ctx, "1", free)
	require.NoError(t, err)
	require.Equal(t, free.Number+1, number)
	mine := leases.Lease{App: "spotify ", Number: number}
	lost, err := book.TakeLease(ctx, "2", free)
	require.NoError(t, err)
	require.Zero(t, lost, "the first was faster")
	lost, err = book.TakeLease(ctx, "2", mine)
	require.NoError(t, err)
	require.Zero(t, lost, "it is there")
	require.NoError(t, book.SaveAppState(ctx, mine, "held"))
	confirmed, err := book.ConfirmLeases(ctx, "1")
	require.NoError(t, err)
	require.Equal(t, []leases.Lease{mine}, confirmed)
	all, _, err = book.Leases(ctx, "1", "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"", "1", "held"}, []string{all[0].Server, all[1].Server, all[1].State})
	listed, err := s.Servers(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"spotify "}, listed[0].Apps)

	// A transaction under the lease keeps it from moving, and a confirmation does not wait for that.
	under := leases.With(ctx, mine)
	_, err = s.Reader.Exec("SELECT 1")
	require.NoError(t, err)
	tx, err := s.Writer.BeginTx(under, nil)
	require.NoError(t, err)
	_, err = book.ConfirmLeases(ctx, "1")
	require.NoError(t, err)
	moved := make(chan error)
	go func() { moved <- book.GiveLease(ctx, mine) }()
	require.Eventually(t, func() bool {
		var waits int
		require.NoError(t, s.Reader.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").
			Scan(&waits))
		return waits > 0
	}, 10*time.Second, time.Millisecond)
	_, err = tx.Exec("INSERT INTO facts (name, value) VALUES ('in time', '')")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.NoError(t, <-moved)

	err = s.Exec(under, "INSERT INTO facts (name, value) VALUES ('late', '')")
	require.ErrorIs(t, err, context.Canceled, "nothing is learned from it")
	require.NoError(t, s.Exec(ctx, "INSERT INTO facts (name, value) VALUES ('by another', '')"))
	c := connect(t, s, addUser(t, s, "Ada", accounts.Admin), "spotify")
	c.Credentials = library.Credentials{"access_token": "the only one that counts"}
	claim := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	_, err = s.ClaimRenewal(ctx, c, claim)
	require.NoError(t, err)
	require.NoError(t, s.SaveCredentials(under, c, claim), "the service may take no other token any more")
	number, err = book.TakeLease(ctx, "2", leases.Lease{App: "spotify ", Number: mine.Number + 1})
	require.NoError(t, err)
	require.Equal(t, mine.Number+2, number)
	require.NoError(t, book.RemoveLease(ctx, mine), "it is another server's now")
	require.NoError(t, book.RemoveLease(ctx, leases.Lease{App: "spotify ", Number: number}))
	all, _, err = book.Leases(ctx, "1", "")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, book.NoteApps(ctx, []string{"spotify "}))
	all, _, err = book.Leases(ctx, "1", "")
	require.NoError(t, err)
	require.Greater(t, all[1].Number, number, "no number is used again")
	require.NoError(t, book.GiveLeases(ctx, "2"))
	confirmed, err = book.ConfirmLeases(ctx, "2")
	require.NoError(t, err)
	require.Empty(t, confirmed)
}
