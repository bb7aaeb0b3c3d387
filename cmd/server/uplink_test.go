package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Ten people use all services, and in one second none can be reached any more. The administrator gets the only
// notification, probes are slow, and afterwards the calls of all people resume, spread over some minutes.
func TestTheUplinkIsGone(t *testing.T) {
	takesLong(t)
	inBubble(t, demo.Options{Plays: 60, Live: 10 * time.Minute}, func(t *testing.T, i *installation) {
		const people = 10
		i.people(people)
		time.Sleep(time.Hour)
		i.cut.Store(true)
		gone := time.Now()
		outside := func(a attempt) bool { return a.Provider != demo.Navidrome && a.sent() }
		time.Sleep(3 * time.Hour)
		require.Len(t, i.open(i.users[0]), 1)
		require.Equal(t, "This server is offline", i.open(i.users[0])[0].Title.String())
		for _, user := range i.users[1:] {
			require.Empty(t, i.open(user))
		}
		first := i.log.of(gone, gone.Add(20*time.Minute), outside)
		require.Less(t, len(first), 60, "in the minutes in which it was found out, and just after")
		probes := i.log.of(gone.Add(20*time.Minute), time.Now(), outside)
		require.LessOrEqual(t, len(probes), 160/2+1, "one in two minutes")
		require.GreaterOrEqual(t, len(probes), 160/6, "and not much rarer")
		require.NotEmpty(t, i.log.of(gone.Add(2*time.Hour), time.Now(), func(a attempt) bool {
			return a.Provider == demo.Navidrome && a.Outcome == "success"
		}),
			"the server at home is read all the time")

		i.cut.Store(false)
		back := time.Now()
		time.Sleep(30 * time.Minute)
		require.Empty(t, i.open(i.users[0]), "and it is taken back")
		returned := map[string]time.Duration{}
		seconds := map[time.Duration]int{}
		for _, a := range i.log.of(back, time.Now(), outside) {
			if a.User == 0 { // a source of facts is called when there is something to ask
				continue
			}
			who := a.Provider + string(rune('0'+a.User))
			if _, seen := returned[who]; !seen {
				returned[who] = a.At.Sub(back)
				seconds[a.At.Sub(back).Truncate(time.Second)]++
			}
		}
		require.Len(t, returned, 4*people, "four services of everybody")
		for who, after := range returned {
			require.Less(t, after, 10*time.Minute, who)
		}
		for second, n := range seconds {
			require.LessOrEqual(t, n, 6, "at second %v", second)
		}
		i.log.hours(t, gone.Add(-time.Hour))
	})
}
