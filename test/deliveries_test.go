package test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/soak"
)

// hourglass is a clock that a test sets.
type hourglass struct{ at atomic.Int64 }

func newHourglass(at time.Time) *hourglass {
	h := &hourglass{}
	h.at.Store(at.UnixMilli())
	return h
}

func (h *hourglass) now() time.Time { return time.UnixMilli(h.at.Load()) }

func (h *hourglass) turn(d time.Duration) { h.at.Add(d.Milliseconds()) }

// carryWorld returns a person whose plays at Spotify are forwarded to ListenBrainz and Navidrome, where her accounts
// contain other plays at first.
func carryWorld(t *testing.T) (w *demo.World, clock *hourglass, p *process, v *person, env []string) {
	t.Helper()
	clock = newHourglass(time.Now().Add(-30 * 24 * time.Hour))
	w = newWorld(t, demo.Options{Plays: 300, Now: clock.now, TokenLife: 1000 * time.Hour})
	env = append(worldEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=1s")
	p = start(t, t.TempDir(), env...)
	v = p.newcomer()
	v.consent(agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 200)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	for _, name := range []string{"spotify", "listenbrainz", "navidrome"} {
		v.becomes(name, "healthy")
	}
	return w, clock, p, v, env
}

// playID identifies a play.
type playID struct {
	second int64
	title  string
}

func idOf(p demo.Play) playID { return playID{p.At.Unix(), p.Title} }

func count(plays []demo.Play) map[playID]int {
	all := map[playID]int{}
	for _, p := range plays {
		all[idOf(p)]++
	}
	return all
}

// Promise: A process that is killed while it reads and sends loses no play and sends none twice.
func TestKillsWhilePullingAndPushing(t *testing.T) {
	takesLong(t)
	t.Parallel()
	kills := soak.Count(t, 100, 8)
	if postgrestest.On() {
		kills = min(kills, 10)
	}
	w, clock, p, v, env := carryWorld(t)
	for _, name := range []string{"listenbrainz", "navidrome"} {
		v.call("PUT", "/connections/"+name+"/forwarding", object{"earlier": true}, 200)
	}
	var played []demo.Play
	random := soak.Rand(t)
	dir := p.cmd.Args[2]
	for n := range kills {
		for range 3 {
			clock.turn(11 * time.Minute)
			played = append(played, w.PlayOwned())
		}
		// At a random moment, so that the kill meets every step of a sync and a delivery in the end.
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
		if n%10 == 9 { // Spotify returns only the last 50 plays, and a busy machine may read them too late
			v = p.returning()
			last := played[len(played)-1].At.UTC().Format("2006-01-02T15:04:05")
			v.eventually("the last play to be read", func() bool {
				newest := v.call("GET", "/listens?limit=1", nil, http.StatusOK)["listens"].([]any)
				return len(newest) == 1 && strings.HasPrefix(newest[0].(object)["played_at"].(string), last)
			})
		}
	}
	v = p.returning()
	v.eventually("everything to be carried", func() bool {
		counts := v.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
		for _, state := range []string{"scheduled", "running", "retrying", "parked"} {
			if counts[state].(float64) > 0 {
				return false
			}
		}
		return count(w.ListenBrainz.Listens(demo.Bob))[idOf(played[len(played)-1])] > 0
	})
	brainz, home := count(w.ListenBrainz.Listens(demo.Bob)), count(w.Navidrome.Scrobbled())
	for _, one := range played {
		require.Equal(t, 1, brainz[idOf(one)], "ListenBrainz, which knows a play again: %s at %s", one.Title, one.At)
		require.Equal(t, 1, home[idOf(one)], "Navidrome, which does not: %s at %s", one.Title, one.At)
	}
	for one, n := range home {
		require.Equal(t, 1, n, "Navidrome has %s double", one.title)
	}
}

// Promise: A daily limit of a service holds sending, and nothing else.
func TestADailyLimitHoldsSendingOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 300})
	p := start(t, t.TempDir(), append(append(worldEnv(w), lastfmEnv(w)...), "REPRISE_DELIVERY_FIRST_DELAY=100ms")...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.becomes("spotify", "healthy")
	v.consentAtLastFM(w, agree(), 200)
	v.becomes("lastfm", "healthy")
	v.call("PUT", "/connections/lastfm/forwarding", object{"earlier": false}, 200)
	first := w.Play()
	v.eventually("the first listen to arrive", func() bool { return count(w.LastFM.Scrobbles())[idOf(first)] == 1 })

	require.NoError(t, w.Switch(demo.LastFM, demo.DailyLimit))
	w.Play()
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Format("2006-01-02T15:04:05.000Z")
	onlySendingIsHeld := func() {
		var c object
		v.eventually("sending to be held", func() bool {
			c = v.call("GET", "/connections/lastfm", nil, 200)
			sending, _ := c["sending"].(object)
			return sending["state"] == "held"
		})
		require.Equal(t, midnight, c["sending"].(object)["next_attempt_at"])
		reads := []any{"healthy", "syncing"}
		require.Contains(t, reads, c["state"], "a hold on sending is not the connection's")
		require.Contains(t, reads, c["reading"].(object)["state"])
		for _, s := range c["streams"].([]any) {
			if s := s.(object); s["stream"] != "deliveries" {
				require.Contains(t, reads, s["state"])
			} else {
				require.Equal(t, []any{"held", midnight}, []any{s["state"], s["next_attempt_at"]})
			}
		}
		require.Len(t, c["streams"], 3)
	}
	onlySendingIsHeld()
	var waiting []any
	v.eventually("the delivery to be postponed", func() bool {
		waiting = v.call("GET", "/deliveries?state=scheduled", nil, 200)["deliveries"].([]any)
		return len(waiting) == 1
	})
	require.Zero(t, waiting[0].(object)["attempts"])
	require.Equal(t, midnight[:16], waiting[0].(object)["next_attempt_at"].(string)[:16])
	v.call("POST", "/connections/lastfm/retry", nil, 202)
	onlySendingIsHeld() // no click shortens it
}
