package cluster

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A successor counts from when the database noted a confirmation, which is before the leader has the answer.
func TestALeaseIsCountedFromTheSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		answer := 4 * time.Second
		b.takes.Store(int64(answer))
		m := NewMember(Server{ID: "first"}, b, slog.New(slog.DiscardHandler))
		asked := time.Now()
		m.claims(t)
		require.Equal(t, answer, time.Since(asked))
		time.Sleep(LeaseFor - answer - time.Millisecond)
		require.True(t, m.May())
		go m.Run(t.Context()) // and with it the first confirmation, just before the lease ends
		time.Sleep(time.Millisecond)
		require.False(t, m.May(), "the answer has not come yet")
		time.Sleep(answer)
		require.True(t, m.May(), "it has")
		b.goes(true)
		time.Sleep(LeaseFor - answer - 2*time.Millisecond)
		require.True(t, m.May())
		time.Sleep(time.Millisecond)
		require.False(t, m.May())
	})
}

// The monotonic clock stands still while a machine is suspended. A bubble has only one clock.
func TestASuspendedLeaderNoLongerCalls(t *testing.T) {
	t.Parallel()
	m := NewMember(Server{ID: "first"}, newBook(), slog.New(slog.DiscardHandler))
	m.claims(t)
	sent := m.sent
	m.sent = slept(sent, LeaseFor/2)
	require.True(t, m.May())
	m.sent = slept(sent, LeaseFor)
	require.False(t, m.May())
	require.Zero(t, m.sent.Sub(sent), "by the monotonic clock")
	m.sent = slept(sent.Add(-LeaseFor), -time.Hour) // the wall clock is set back
	require.False(t, m.May())
}

// slept returns a time with a wall clock that is whole seconds earlier, as it looks after the machine has slept for so
// long. The standard library has no way to change one clock of a time; see the comment of time.Time's fields.
func slept(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) -= uint64(d/time.Second) << 30
	return t
}

// A leader whose lease another server has taken learns it with its next confirmation.
func TestATakenLeaseIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first := b.joins(t, "first")
		first.claims(t)
		require.NoError(t, b.Resign(t.Context(), 1))
		_, err := b.Claim(t.Context(), Server{ID: "second"})
		require.NoError(t, err)
		time.Sleep(ConfirmEvery)
		synctest.Wait()
		require.False(t, first.May())
	})
}

// A confirmation that is answered after a good end says nothing new.
func TestALateAnswerEndsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		m := b.joins(t, "first")
		lost := m.claims(t)
		require.NoError(t, b.Resign(t.Context(), 1))
		_, err := b.Claim(t.Context(), Server{ID: "second"})
		require.NoError(t, err)
		b.takes.Store(int64(3 * time.Second))
		time.Sleep(ConfirmEvery + time.Second)
		require.NoError(t, m.Resign(t.Context()))
		time.Sleep(time.Minute)
		select {
		case <-lost:
			require.FailNow(t, "it had given up the lease itself")
		default:
		}
	})
}

// Who waits for a leader is woken by a new one, and by the end of one.
func TestANewLeaderIsNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		first, second := b.joins(t, "first"), b.joins(t, "second")
		woken := func() bool {
			_, term := second.Leader()
			time.Sleep(ConfirmEvery)
			synctest.Wait()
			select {
			case <-term.Done():
				return true
			default:
				return false
			}
		}
		first.claims(t)
		require.True(t, woken())
		require.False(t, woken())
		require.NoError(t, first.Resign(t.Context()))
		require.True(t, woken())
		_, err := b.Claim(t.Context(), Server{ID: "third"})
		require.NoError(t, err)
		require.True(t, woken())
		require.False(t, woken())

		b.goes(true)
		time.Sleep(readyFor - ConfirmEvery - time.Millisecond)
		require.True(t, second.Heard())
		time.Sleep(ConfirmEvery + time.Millisecond)
		require.False(t, second.Heard())
	})
}

func TestWhoIsHeardOf(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for age, want := range map[time.Duration]State{0: Leads, SilentAfter: Leads, SilentAfter + 1: Silent} {
		require.Equal(t, want, Server{Seen: now.Add(-age), Leads: true}.State(now), age)
	}
	require.Equal(t, Answers, Server{Seen: now}.State(now))
	for leader, want := range map[Leader]bool{{}: true, {Lease: 1}: false, {Lease: 1, Released: true}: true,
		{Lease: 1, Age: VacantAfter - 1}: false, {Lease: 1, Age: VacantAfter}: true} {
		require.Equal(t, want, leader.Vacant(), leader)
	}
}
