package transport

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

var sixUpstreams = map[string]string{"a.example.org": "a", "b.example.org": "b", "c.example.org": "c",
	"d.example.org": "d", "e.example.org": "e", "f.example.org": "f",
	"login.a.example.org": "a"}

// home is the server at home, which is reached without the uplink.
const home = "nas.local"

type uplinkTest struct {
	*Transport
	far  *farSide
	told *[]bool
	t    *testing.T
}

func uplinkBubble(t *testing.T, upstreams map[string]string, test func(t *testing.T, u uplinkTest)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far, told := &farSide{}, []bool{}
		r := rand.New(rand.NewPCG(1, 2))
		up := NewUplink(UplinkOptions{Upstreams: upstreams, Rand: r.Float64,
			Changed: func(offline bool) { told = append(told, offline) }})
		test(t, uplinkTest{&Transport{Base: far, Uplink: up, Breakers: NewBreakers(BreakerOptions{})}, far, &told, t})
	})
}

func (u uplinkTest) call(host string) resilience.Verdict {
	u.t.Helper()
	return resilience.VerdictOf(through(u.t, u.Transport, u.t.Context(), host))
}

func (u uplinkTest) cut(cut bool) {
	for host := range sixUpstreams {
		if u.far.set(host, 0); cut {
			u.far.set(host, -1)
		}
	}
}

func TestAFirstAnswerSaysThatTheUplinkIsThere(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		require.Equal(t, resilience.OK, u.call("a.example.org").Class)
		require.Equal(t, resilience.OK, u.call("b.example.org").Class)
		require.Equal(t, []bool{false}, *u.told, "so that what an earlier process told can be taken back")
	})
}

// Promise: The uplink is lost when 3 upstreams fail, probed every 15 s to 2 min: one of them alone is its own fault.
func TestSeveralUpstreamsFailingAtOnceAreOurs(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		for host := range sixUpstreams {
			u.call(host)
		}
		u.cut(true)
		u.call("a.example.org")
		u.call("login.a.example.org")
		u.call("b.example.org")
		_, offline := u.Uplink.Offline()
		require.False(t, offline, "two hosts of one upstream are one")
		require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
			Scope: resilience.ScopeConnection}, u.call("c.example.org"))
		require.Equal(t, []bool{false, true}, *u.told)

		before := u.far.calls()
		began := time.Now()
		for host := range sixUpstreams {
			v := u.call(host)
			require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
				Scope:     resilience.ScopeEndpoint,
				NotBefore: v.NotBefore}, v)
			require.Greater(t, v.NotBefore.Sub(began), minProbe)
			require.Less(t, v.NotBefore.Sub(began), 3*minProbe)
		}
		require.Equal(t, before, u.far.calls(), "nothing goes out")
		require.Equal(t, resilience.OK, u.call(home).Class, "the server at home is reached all the same")
		_, offline = u.Uplink.Offline()
		require.True(t, offline, "which says nothing about the uplink")

		time.Sleep(minProbe)
		require.Equal(t, resilience.ScopeEndpoint, u.call("f.example.org").Scope,
			"a probe that fails is nobody's failure either")
		require.Equal(t, before+2, u.far.calls())
		u.call("f.example.org")
		require.Equal(t, before+2, u.far.calls(), "one probe at a time, and slower each time")

		u.cut(false)
		time.Sleep(2 * minProbe)
		require.Equal(t, resilience.OK, u.call("d.example.org").Class)
		require.Equal(t, resilience.OK, u.call("e.example.org").Class)
		require.Equal(t, []bool{false, true, false}, *u.told)
	})
}

// Promise: The uplink is lost when 3 upstreams fail, probed every 15 s to 2 min: one of them alone is its own fault.
func TestOneUpstreamOfManyIsNotTheUplink(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		require.Equal(t, resilience.OK, u.call("c.example.org").Class)
		u.far.set("a.example.org", -1)
		u.far.set("b.example.org", -1)
		for range 50 {
			u.call("a.example.org")
			u.call("b.example.org")
			require.Equal(t, resilience.OK, u.call("c.example.org").Class)
			time.Sleep(time.Minute)
		}
		require.Equal(t, []bool{false}, *u.told)
	})
}

// TestAHouseholdOfTwoUpstreams: when both fail there is nobody left to say that the uplink is there.
func TestAHouseholdOfTwoUpstreams(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		u.call("a.example.org")
		u.cut(true)
		for range 3 {
			u.call("a.example.org")
		}
		require.Equal(t, []bool{false}, *u.told, "one alone may be down")
		u.call("b.example.org")
		require.Equal(t, []bool{false, true}, *u.told)
	})
}

func TestAnAnswerOfAnyKindShowsTheUplink(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		u.cut(true)
		for _, host := range []string{"a.example.org", "b.example.org", "c.example.org"} {
			u.call(host)
		}
		u.far.set("d.example.org", 503)
		time.Sleep(minProbe)
		require.Equal(t, resilience.Upstream, u.call("d.example.org").Category)
		_, offline := u.Uplink.Offline()
		require.False(t, offline)
		require.Equal(t, []bool{true, false}, *u.told)
	})
}

func TestAProbeOfTheUplinkThatWeStopOurselves(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		u.cut(true)
		for _, host := range []string{"a.example.org", "b.example.org", "c.example.org"} {
			u.call(host)
		}
		time.Sleep(minProbe)
		ended, cancel := context.WithCancel(t.Context())
		u.far.waiting = make(chan struct{})
		done := make(chan error)
		go func() { done <- through(t, u.Transport, ended, "d.example.org") }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		close(u.far.waiting)
		u.cut(false)
		require.Equal(t, resilience.OK, u.call("d.example.org").Class, "its place is free")
	})
}

// TestCallsThatWereUnderWayAtTheLossAreNoProbes: they make the first probe no later.
func TestCallsThatWereUnderWayAtTheLossAreNoProbes(t *testing.T) {
	uplinkBubble(t, sixUpstreams, func(t *testing.T, u uplinkTest) {
		for host := range sixUpstreams {
			u.call(host)
		}
		u.cut(true)
		u.far.waiting = make(chan struct{})
		var all sync.WaitGroup
		for host := range sixUpstreams {
			all.Go(func() { u.call(host) })
		}
		synctest.Wait()
		lost := time.Now()
		close(u.far.waiting)
		all.Wait()
		probe, offline := u.Uplink.Offline()
		require.True(t, offline)
		require.Equal(t, minProbe, probe.Sub(lost))
	})
}
