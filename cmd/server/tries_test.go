package main

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

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/library"
)

// sixTries are the settings of six tries in 31 seconds.
var sixTries = map[string]string{"delivery.first_delay": "1s", "delivery.max_attempts": "6"}

// refuseWrites makes ListenBrainz fail every submission, with 503 or in the network, and returns when it was asked.
func (i *installation) refuseWrites(network bool) *[]time.Time {
	var asked []time.Time
	i.world.Fail(demo.ListenBrainz, "/1/submit-listens", func(req *http.Request) (*http.Response, error) {
		asked = append(asked, time.Now())
		if network {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Request: req, Header: http.Header{},
			ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader(`{"code":503,"error":"down"}`))}, nil
	})
	return &asked
}

// send stores a play that is forwarded to ListenBrainz, waits for the first attempt, and returns the delivery.
func (i *installation) send(t *testing.T, asked *[]time.Time) func() delivery.Delivery {
	t.Helper()
	ctx := context.Background()
	_, err := i.deliveries.Forward(ctx, i.users[0], "listenbrainz", false)
	require.NoError(t, err)
	time.Sleep(time.Minute)
	_, err = i.store.SaveListens(ctx, library.Intake{User: i.users[0], Connection: "lastfm",
		Listens: []library.Listen{{SourceID: "rain", PlayedAt: time.Now().Add(-time.Second),
			Track: library.Track{Title: "Rain", Artist: "Nobody Else", Duration: 3 * time.Minute}}}})
	require.NoError(t, err)
	for range 600 {
		if synctest.Wait(); len(*asked) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return func() delivery.Delivery {
		all, _, err := i.store.Deliveries(ctx, delivery.Filter{User: i.users[0], Kind: delivery.SubmitListens}, "", 9)
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
}

// waits returns the times between attempts.
func waits(asked []time.Time) (all []time.Duration) {
	for n := 1; n < len(asked); n++ {
		all = append(all, asked[n].Sub(asked[n-1]))
	}
	return all
}

// Promise: Six tries: 1 + 2 + 4 + 8 + 16 = 31 s, each within ± 20 %; the shortest schedule in use.
func TestSixTriesTakeHalfAMinute(t *testing.T) { sixTriesAgainst(t, false) }

// The longer waits of reading are not those of sending.
//
// Promise: Six tries: 1 + 2 + 4 + 8 + 16 = 31 s, each within ± 20 %; the shortest schedule in use.
//
// Promise: The stream's own wait: the same first delay and ± 10 %; network failures count for sending only; the two
// schedules agree.
func TestSixTriesWithoutANetwork(t *testing.T) { sixTriesAgainst(t, true) }

// sixTriesAgainst has a breaker that stays closed: with the default one the sixth try is its probe, see openBreaker.
func sixTriesAgainst(t *testing.T, network bool) {
	sixTries := map[string]string{"delivery.first_delay": "1s", "delivery.max_attempts": "6", "breaker.failures": "50"}
	inBubbleWith(t, demo.Options{Plays: 20, Live: 24 * time.Hour}, sixTries, func(t *testing.T, i *installation) {
		i.people(1)
		i.deliver()
		asked := i.refuseWrites(network)
		get := i.send(t, asked)
		time.Sleep(time.Hour)
		t.Log(waits(*asked))
		require.Len(t, *asked, 6)
		for n, wait := range waits(*asked) {
			want := time.Second << n
			require.InDelta(t, want, wait, float64(want)/5, "after attempt %d", n+1)
		}
		d := get()
		require.Equal(t, delivery.Dead, d.State)
		require.Equal(t, 6, d.Attempts)
		if network {
			require.Equal(t, "network", d.Category)
			require.Equal(t, "Reprise couldn't reach the service.", d.Reason.String())
		} else {
			require.Equal(t, "upstream", d.Category)
			require.Equal(t, "The service isn't responding.", d.Reason.String())
		}
		i.requireNumbered(t, *asked)
	})
}

// requireNumbered requires that the log numbers six attempts, with what follows each.
func (i *installation) requireNumbered(t *testing.T, asked []time.Time) {
	t.Helper()
	sent := i.log.of(asked[0], asked[5].Add(time.Second), func(a attempt) bool {
		return a.Endpoint == "POST /1/submit-listens"
	})
	require.Len(t, sent, 6)
	var tried []map[string]any
	due := int64(0)
	for _, line := range i.log.deliveries {
		switch {
		case line["msg"] == "deliveries are due":
			require.EqualValues(t, 1, line["count"])
			due++
		case line["outcome"] != "postponed":
			tried = append(tried, line)
		}
	}
	require.Len(t, tried, 6)
	require.GreaterOrEqual(t, due, int64(6), "each was told when it was due")
	for n, line := range tried {
		require.Equal(t, n+1, sent[n].Number)
		require.EqualValues(t, n+1, line["attempt"])
		require.EqualValues(t, 5-n, line["attempts_left"])
		require.Contains(t, line, "took_ms")
		if n == 5 {
			require.Equal(t, "dead", line["outcome"])
			require.NotContains(t, line, "next_in_ms")
			continue
		}
		require.Equal(t, "retrying", line["outcome"])
		require.InDelta(t, asked[n+1].Sub(asked[n]).Milliseconds(), line["next_in_ms"], 200, "due times are met")
	}
}

// The default breaker opens at the fifth failure and postpones the sixth try.
//
// Promise: Six tries with the default breaker: five in 15 s; they open it, and the sixth is its probe, 60 to 75 s
// later; five failures in a row are the endpoint's.
//
// Promise: An open breaker: postpones, uses up no try; page and log (category=circuit_open) say so; the endpoint fails
// for everybody.
func TestAnOpenBreakerUsesNoTryUp(t *testing.T) { openBreaker(t, false) }

// Promise: Six tries with the default breaker: five in 15 s; they open it, and the sixth is its probe, 60 to 75 s
// later; five failures in a row are the endpoint's.
func TestAnOpenBreakerWithoutANetwork(t *testing.T) { openBreaker(t, true) }

func openBreaker(t *testing.T, network bool) {
	inBubbleWith(t, demo.Options{Plays: 20, Live: 24 * time.Hour}, sixTries, func(t *testing.T, i *installation) {
		i.people(1)
		i.deliver()
		asked := i.refuseWrites(network)
		get := i.send(t, asked)
		time.Sleep(40 * time.Second)
		require.Len(t, *asked, 5)
		for n, wait := range waits(*asked) {
			require.InDelta(t, time.Second<<n, wait, float64(time.Second<<n)/5, "after attempt %d", n+1)
		}
		d := get()
		require.Equal(t, delivery.Retrying, d.State)
		require.Equal(t, 5, d.Attempts)
		require.Equal(t, "circuit_open", d.Category)
		require.Contains(t, d.Reason.String(), "Reprise pauses for a while")
		time.Sleep(time.Hour)
		t.Log(waits(*asked))
		require.Len(t, *asked, 6)
		require.GreaterOrEqual(t, waits(*asked)[4], time.Minute, "the breaker's probe")
		require.Less(t, waits(*asked)[4], 90*time.Second)
		d = get()
		require.Equal(t, delivery.Dead, d.State)
		require.Equal(t, 6, d.Attempts)
		i.requireTold(t, (*asked)[4])
	})
}

// requireTold requires that the log says why the sixth try came so late after the fifth.
func (i *installation) requireTold(t *testing.T, fifth time.Time) {
	t.Helper()
	refused := i.log.of(fifth, fifth.Add(time.Minute), func(a attempt) bool {
		return a.Endpoint == "POST /1/submit-listens" && !a.sent()
	})
	require.NotEmpty(t, refused)
	found := false
	for _, line := range i.log.deliveries {
		if found = line["outcome"] == "postponed" && line["category"] == "circuit_open"; found {
			require.EqualValues(t, 1, line["attempts_left"], "the sixth")
			require.Greater(t, line["next_in_ms"], int64(40_000))
			break
		}
	}
	require.True(t, found)
}

func TestTryAgainSendsWhatWaits(t *testing.T) {
	inBubbleWith(t, demo.Options{Plays: 20, Live: 48 * time.Hour}, lifelike, func(t *testing.T, i *installation) {
		ctx := context.Background()
		i.people(1)
		i.deliver()
		_, err := i.deliveries.Forward(ctx, i.users[0], "listenbrainz", false)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, i.world.Switch(demo.ListenBrainz, demo.Unavailable))
		for _, title := range []string{"One", "Two", "Three", "Four", "Five"} {
			time.Sleep(30 * time.Minute)
			_, err = i.store.SaveListens(ctx, library.Intake{User: i.users[0], Connection: "lastfm",
				Listens: []library.Listen{{SourceID: title, PlayedAt: time.Now().Add(-time.Second),
					Track: library.Track{Title: title, Artist: "Nobody Else", Duration: 3 * time.Minute}}}})
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Hour)
		require.NoError(t, i.world.Switch(demo.ListenBrainz, demo.Normal))
		counts := func() map[delivery.State]int {
			n, err := i.store.CountDeliveries(ctx, delivery.Filter{User: i.users[0]})
			require.NoError(t, err)
			return n
		}
		require.Equal(t, 5, counts()[delivery.Scheduled]+counts()[delivery.Retrying])
		pressed := time.Now()
		require.NoError(t, i.connections.Retry(ctx, i.users[0], "listenbrainz"))
		for range 100 {
			if time.Sleep(100 * time.Millisecond); counts()[delivery.Done] == 5 {
				break
			}
		}
		t.Logf("all sent %v after the press", time.Since(pressed))
		require.Equal(t, 5, counts()[delivery.Done], "within ten seconds, at one request a second")
	})
}
