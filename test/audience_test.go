package test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// audience is many people with an account at one service, whose plays Reprise forwards to another.
type audience struct {
	t           *testing.T
	here, there *club
	people      []*person // in the order of their names
	lost        []int     // whose token the first service has replaced
}

func nameOf(i int) string { return fmt.Sprintf("fan-%04d", i) }

// audienceOf makes an account for each of n people, who connect both services, and forward from now on.
func audienceOf(t *testing.T, admin *person, p *process, n int) *audience {
	t.Helper()
	a := &audience{t: t, here: newClub(t, n), there: newClub(t, n)}
	a.people = make([]*person, n)
	var joining sync.WaitGroup
	for first := range joinAtOnce { // each waits for answers most of the time
		joining.Go(func() {
			for i := first; i < n; i += joinAtOnce {
				m := admin.memberFrom(p, i%250+2, nameOf(i))
				token := "token-" + nameOf(i)
				m.call("PUT", "/connections/listenbrainz", object{"token": token, "url": a.here.url + "/1/"}, 200)
				m.call("PUT", "/connections/listenbrainz-2", object{"token": token, "url": a.there.url + "/1/"}, 200)
				m.call("PUT", "/connections/listenbrainz-2/forwarding", object{"earlier": true}, 200)
				a.people[i] = m
			}
		})
	}
	joining.Wait()
	return a
}

const joinAtOnce = 6

// at lets the people go to another address of Reprise.
func (a *audience) at(base string) {
	for _, m := range a.people {
		m.base = base
	}
}

// play lets one in twenty hear something.
func (a *audience) play(random *rand.Rand) {
	for range len(a.people)/20 + 1 {
		a.here.plays(nameOf(random.IntN(len(a.people))))
	}
}

// loseTokens lets the first service replace the tokens of one in fifty.
func (a *audience) loseTokens() {
	for i := 0; i < len(a.people); i += 50 {
		a.here.forgets(nameOf(i))
		a.lost = append(a.lost, i)
	}
}

// accountFor requires that each play has arrived once, that no service had reason to complain, and that exactly those
// were told of a lost token who had one; they mend it.
func (a *audience) accountFor() {
	a.t.Helper()
	told := map[int]bool{}
	for _, i := range a.lost {
		told[i] = true
		m := a.people[i]
		m.becomes("listenbrainz", "needs_reconnect")
		m.eventually("the alert", func() bool {
			return len(m.alerts()) > 0
		})
		m.call("PUT", "/connections/listenbrainz",
			object{"token": "second-token-" + nameOf(i), "url": a.here.url + "/1/"}, 200)
	}
	repeats := 0
	for i, m := range a.people {
		heard, _ := a.here.heardBy(nameOf(i))
		m.eventually("all plays of "+nameOf(i), func() bool {
			arrived, _ := a.there.heardBy(nameOf(i))
			return len(arrived) >= len(heard)
		})
		arrived, sent := a.there.heardBy(nameOf(i))
		require.Equal(a.t, heard, arrived, nameOf(i))
		for _, n := range sent {
			repeats += n - 1
		}
		m.eventually("no delivery left", func() bool {
			counts := m.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
			return counts["scheduled"] == 0.0 && counts["running"] == 0.0 && counts["retrying"] == 0.0
		})
		counts := m.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
		require.Zero(a.t, counts["parked"], nameOf(i))
		require.Zero(a.t, counts["dead"], nameOf(i))
		alerts := m.alerts()
		if told[i] {
			require.Len(a.t, alerts, 1, "%s was to hear once of the lost token: %v", nameOf(i), alerts)
		} else {
			require.Empty(a.t, alerts, nameOf(i))
		}
	}
	require.Empty(a.t, a.here.complaints())
	require.Empty(a.t, a.there.complaints())
	a.t.Logf("%d people; %d submissions were repeated after a kill, and dropped by the service", len(a.people), repeats)
}

// alerts returns the titles of what somebody was told of credentials.
func (v *person) alerts() (titles []string) {
	for _, one := range v.call("GET", "/notifications", nil, http.StatusOK)["notifications"].([]any) {
		if one := one.(object); one["category"] == "auth" {
			titles = append(titles, one["title"].(string))
		}
	}
	return titles
}
