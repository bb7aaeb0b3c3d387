package sync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
)

// kinds are the servers that only count.
var kinds = map[string]bool{"Navidrome 0.58": true, "gonic": false}

// each runs a story with an engine that sends, and a library of each kind.
func each(t *testing.T, story func(t *testing.T, e *enginetest.Engine, s *shelf, user int64)) {
	t.Parallel()
	for name, native := range kinds {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams, user int64) {
				s := shelve(e, up, &shelf{native: native})
				s.again = func(e *enginetest.Engine) *enginetest.Engine {
					e = e.Again()
					shelve(e, up, s)
					e.Carry()
					return e
				}
				e.Carry()
				story(t, e, s, user)
			})
		})
	}
}

// plays returns n plays of a number of songs in turn, four minutes apart.
func plays(n, songs int, from time.Time) (all []enginetest.Play) {
	for i := range n {
		all = append(all, enginetest.Play{Title: fmt.Sprintf("track %d", i%songs),
			At: from.Add(time.Duration(i) * 4 * time.Minute)})
	}
	return all
}

func TestForwardedPlaysAreNoNewListens(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, user int64) {
		start := time.Now().Truncate(time.Second)
		for i := range 40 { // they were played there before
			s.play(fmt.Sprintf("track %d", i), start.Add(-100*time.Hour+time.Duration(i)*time.Hour))
		}
		connectShelf(t, e, user, "alice")
		time.Sleep(time.Hour)
		enginetest.Settle()
		require.Equal(t, 40, e.Listens(user))
		time.Sleep(20 * time.Hour)
		heard(t, e, user, "spotify", plays(200, 40, start)...)
		sent(t, e, user)
		require.Equal(t, 240, s.count(), "each was sent once")
		require.Zero(t, guessed(t, e, user))
		require.Equal(t, 240, e.Listens(user))

		s.play("track 7", time.Now().Add(-9*time.Minute)) // two that only the server has seen
		s.play("track 7", time.Now().Add(-4*time.Minute))
		time.Sleep(time.Hour)
		enginetest.Settle()
		require.Equal(t, 1, guessed(t, e, user))
		require.Equal(t, 242, e.Listens(user), "what was really played there is found")
	})
}

func TestOneSongForwardedFiveTimes(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, user int64) {
		s.play("track 0", time.Now().Add(-24*time.Hour))
		connectShelf(t, e, user, "alice")
		time.Sleep(time.Hour)
		for i := range 5 {
			heard(t, e, user, "spotify", plays(i+1, 1, time.Now().Add(-30*time.Minute))...)
			sent(t, e, user)
		}
		require.Equal(t, 16, s.count())
		require.Zero(t, guessed(t, e, user))
		require.Equal(t, 16, e.Listens(user))
	})
}

// TestAKillWhilePlaysAreSent: the server has taken a call whose answer does not come before the end.
func TestAKillWhilePlaysAreSent(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, user int64) {
		start := time.Now().Truncate(time.Second)
		for i := range 4 {
			s.play(fmt.Sprintf("track %d", i), start.Add(-100*time.Hour))
		}
		connectShelf(t, e, user, "alice")
		time.Sleep(time.Hour)
		cuts := []int{1, 7, 2}
		for i, takes := range cuts {
			s.mu.Lock()
			s.takes, s.cut = takes, make(chan struct{})
			if s.native { // one call takes them all
				s.takes = 1
			}
			s.mu.Unlock()
			heard(t, e, user, "spotify", plays(20, 4, start.Add(time.Duration(i)*2*time.Hour))...)
			<-s.cut
			e.Stop()
			time.Sleep(time.Duration(i) * time.Hour)
			e = s.again(e)
			sent(t, e, user)
			require.Equal(t, 4+20*(i+1), s.count(), "each was sent once")
			require.Zero(t, guessed(t, e, user))
			require.Equal(t, 4+20*(i+1), e.Listens(user))
		}
	})
}

// TestTwoPeopleSendToOneAccount: they share the account at the server, and hear the same songs elsewhere.
func TestTwoPeopleSendToOneAccount(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, alice int64) {
		start := time.Now().Truncate(time.Second)
		for i := range 10 {
			s.play(fmt.Sprintf("track %d", i), start.Add(-100*time.Hour))
		}
		bob := e.AddUser("Bob", accounts.Member)
		connectShelf(t, e, alice, "us")
		connectShelf(t, e, bob, "Us")
		time.Sleep(24 * time.Hour)
		for round := range 3 {
			from := start.Add(time.Duration(round) * 7 * time.Hour)
			heard(t, e, alice, "spotify", plays(50, 10, from)...)
			heard(t, e, bob, "spotify", plays(50, 10, from.Add(4*time.Hour+2*time.Minute))...)
			sent(t, e, alice)
			sent(t, e, bob)
		}
		require.Equal(t, 310, s.count())
		require.Zero(t, guessed(t, e, alice))
		require.Zero(t, guessed(t, e, bob))
	})
}

// TestWhatAnotherProgramForwardsIsKnown: it sends what Reprise has heard as well, which has no part in that.
func TestWhatAnotherProgramForwardsIsKnown(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, user int64) {
		start := time.Now().Truncate(time.Second)
		s.play("track 0", start.Add(-100*time.Hour))
		connectShelf(t, e, user, "alice")
		require.NoError(t, e.Deliveries.StopForwarding(t.Context(), user, "navidrome"))
		time.Sleep(24 * time.Hour)
		some := plays(5, 1, start)
		heard(t, e, user, "spotify", some...)
		for _, p := range some {
			s.play(p.Title, p.At)
		}
		s.play("track 0", start.Add(10*time.Hour)) // and two that only the server has seen
		s.play("track 0", start.Add(11*time.Hour))
		time.Sleep(time.Hour)
		enginetest.Settle()
		require.Equal(t, 1, guessed(t, e, user))
		require.Equal(t, 1+5+2, e.Listens(user))
	})
}

func TestThreeThousandForwardedPlays(t *testing.T) {
	each(t, func(t *testing.T, e *enginetest.Engine, s *shelf, user int64) {
		start := time.Now().Truncate(time.Second)
		connectShelf(t, e, user, "alice")
		time.Sleep(300 * time.Hour)
		for part := range 3 {
			heard(t, e, user, "spotify", plays(1000, 150, start.Add(time.Duration(part)*70*time.Hour))...)
			time.Sleep(7 * time.Minute) // the next ones come while these are being sent and read
		}
		sent(t, e, user)
		require.Equal(t, 3000, s.count())
		require.Zero(t, guessed(t, e, user))
		require.Equal(t, 3000, e.Listens(user))
	})
}
