package enginetest_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enginetest"
	"reprise/internal/library"
	syncer "reprise/internal/sync"
)

// household are the people of the idle household.
var household = []string{"alice", "bob", "carol", "dave"}

const (
	playlists = 30 // of each person at Spotify
	// spotifyLimit is how many requests an idle hour of a household may cost at Spotify, all its hosts together.
	spotifyLimit = 100
)

// upstreams are the names under which the simulated services count their calls.
var upstreams = []string{"spotify", "spotify accounts", "listenbrainz", "youtube"}

// TestAnIdleHourCostsLittle counts what an unchanged household asks for at the default settings, in one hour and in the
// average hour of a day, and compares the latter with docs/providers.md.
func TestAnIdleHourCostsLittle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var hour, day map[[2]string]int
	synctest.Test(t, func(t *testing.T) {
		up := enginetest.NewUpstreams()
		up.ReadsLoves = true
		e := enginetest.Start(t, dir, up, syncer.Options{}, nil)
		settleHousehold(t, e, up)
		before := counts(up)
		time.Sleep(time.Hour)
		hour = since(before, counts(up))
		time.Sleep(23 * time.Hour)
		day = since(before, counts(up))
	})
	spotify := 0
	for _, call := range slices.SortedFunc(maps.Keys(hour), byName) {
		t.Logf("in one hour: %4d %s %s", hour[call], call[0], call[1])
		if strings.HasPrefix(call[0], "spotify") {
			spotify += hour[call]
		}
	}
	for _, call := range slices.SortedFunc(maps.Keys(day), byName) {
		t.Logf("in a day: %4d %s %s", day[call], call[0], call[1])
	}
	require.Less(t, spotify, spotifyLimit, "requests to Spotify in an idle hour")
	require.Greater(t, spotify, len(household)*12, "somebody asks at all")
	onPage(t, "requests", costs(day))
}

// settleHousehold connects four people to everything, and lets all be read that there is.
func settleHousehold(t *testing.T, e *enginetest.Engine, up *enginetest.Upstreams) {
	t.Helper()
	role := accounts.Admin
	for _, name := range household {
		user := e.AddUser(name, role)
		role = accounts.Member
		for i := range playlists {
			up.SetPlaylist(name, fmt.Sprintf("%s-%d", name, i), "Svefn-g-englar", "Starálfur")
		}
		up.Play(name, "Jóga", time.Now().Add(-time.Hour))
		up.Like(name, "Roygbiv")
		require.NoError(t, e.ConnectSpotify(up, user, name))
		require.NoError(t, e.ConnectListenBrainz(user, name))
		require.NoError(t, e.ConnectYouTube(up, user, name))
		enginetest.Settle()
		require.Equal(t, 1, e.Listens(user))
		for _, provider := range []library.ConnectionID{"spotify", "listenbrainz", "youtube"} {
			require.Equal(t, syncer.Healthy, e.Status(user, provider).Condition, provider)
		}
	}
	time.Sleep(20 * time.Minute) // the first ticks after the first sync
}

// counts are the calls so far, by service and endpoint.
func counts(up *enginetest.Upstreams) map[[2]string]int {
	n := map[[2]string]int{}
	for _, service := range upstreams {
		for _, c := range up.Calls(service) {
			n[[2]string{service, endpoint(c.Path)}]++
		}
	}
	return n
}

// endpoint is a path with the names and ids in it left out.
func endpoint(path string) string {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		switch {
		case parts[i-1] == "user" && parts[1] == "1":
			parts[i] = "{name}"
		case parts[i-1] == "playlists" && parts[i] != "createdfor":
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

func since(before, now map[[2]string]int) map[[2]string]int {
	n := map[[2]string]int{}
	for call, count := range now {
		if count > before[call] {
			n[call] = count - before[call]
		}
	}
	return n
}

func byName(a, b [2]string) int { return slices.Compare(a[:], b[:]) }

// costs is a day's counts as the average of an hour, for one person rounded to whole requests: loops vary, but by less.
func costs(day map[[2]string]int) string {
	var b strings.Builder
	b.WriteString("| service | endpoint | one connection | the household |\n| --- | --- | --- | --- |\n")
	for _, service := range upstreams {
		all := 0
		for _, call := range slices.SortedFunc(maps.Keys(day), byName) {
			if call[0] != service {
				continue
			}
			each := int(math.Round(float64(day[call]) / float64(len(household)) / 24))
			all += each * len(household)
			if each > 0 {
				fmt.Fprintf(&b, "| %s | `%s` | %d | %d |\n", service, call[1], each, each*len(household))
			} else {
				fmt.Fprintf(&b, "| %s | `%s` | about once a day | |\n", service, call[1])
			}
		}
		fmt.Fprintf(&b, "| **%s** | | | **%d** |\n", service, all)
	}
	fmt.Fprintf(&b, "\nAn idle hour of this household costs less than %d requests at Spotify, its token endpoint "+
		"included, which a test holds.\n", spotifyLimit)
	return b.String()
}
