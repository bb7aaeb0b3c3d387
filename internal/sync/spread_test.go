package sync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// listener is a kind of people: the share of them, and their plays a day.
type listener struct {
	name  string
	share float64
	plays float64
}

var listeners = []listener{{"much", 0.1, 80}, {"some", 0.3, 15}, {"rare", 0.6, 0.2}}

// waits is what came of a simulation for one kind of people.
type waits struct {
	mean    time.Duration // how long a play waits until it is read
	longest time.Duration // between two reads
}

// simulate lets ticks read the listens of that many connections for days, at a pace in calls a second. It returns what
// came of it for each kind of listeners after the first two days, and the most calls of a tick.
func simulate(connections, days int, perSecond float64) (of map[string]waits, most int) {
	const tick = 5 * time.Minute
	p := &providers.Provider{Description: providers.Description{Streams: []string{library.Listens}}}
	every := func(stream string) time.Duration {
		return map[string]time.Duration{library.Listens: tick, library.Playlists: 3 * tick}[stream]
	}
	r := rand.New(rand.NewPCG(1, 2))
	hs := &habits{of: map[Key]*habit{}, seeded: map[string]bool{}}
	begin := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	keys, kind, read := make([]Key, connections), map[Key]listener{}, map[Key]time.Time{}
	for i := range keys {
		keys[i] = Key{int64(i), "listenbrainz", library.Listens}
		kind[keys[i]] = listeners[2]
		if at := float64(i) / float64(connections); at < listeners[0].share {
			kind[keys[i]] = listeners[0]
		} else if at < listeners[0].share+listeners[1].share {
			kind[keys[i]] = listeners[1]
		}
		read[keys[i]] = begin
	}
	sums, counts := map[string]time.Duration{}, map[string]float64{}
	of = map[string]waits{}
	for now := begin.Add(tick); now.Before(begin.Add(time.Duration(days) * 24 * time.Hour)); now = now.Add(tick) {
		chosen := keys
		if runs, short := allowance(p, library.Listens, connections, perSecond, every); short {
			chosen = hs.choose(keys, now, tick, runs)
		}
		most = max(most, len(chosen))
		for _, k := range chosen {
			gap, who := now.Sub(read[k]), kind[k]
			expected := who.plays * gap.Hours() / 24
			plays := int(expected)
			if r.Float64() < expected-float64(plays) {
				plays++
			}
			hs.read(k, now, plays)
			read[k] = now
			if now.Sub(begin) < 48*time.Hour {
				continue
			}
			sums[who.name] += time.Duration(expected * float64(gap) / 2)
			counts[who.name] += expected
			w := of[who.name]
			w.longest = max(w.longest, gap)
			of[who.name] = w
		}
	}
	for name, w := range of {
		w.mean = time.Duration(float64(sums[name]) / counts[name])
		of[name] = w
	}
	return of, most
}

func TestReadingIsSpreadByNeed(t *testing.T) {
	const tick = 5 * time.Minute
	room, most := simulate(24, 3, 0.1)
	require.Equal(t, 24, most, "there is room for all")
	for _, who := range listeners {
		require.Equal(t, tick, room[who.name].longest)
	}
	for _, n := range []int{30, 300} {
		of, most := simulate(n, 4, 0.1)
		require.LessOrEqual(t, most, 24, "four fifths of the pace")
		require.LessOrEqual(t, of["much"].mean, of["some"].mean)
		require.Less(t, of["some"].mean, of["rare"].mean)
		for _, who := range listeners {
			require.LessOrEqual(t, of[who.name].longest, seldomest+2*tick, "%d: %s", n, who.name)
		}
	}
}

// Where even a read a day is too much, everybody is read as often as anybody else.
func TestAnOverloadedPaceLeavesNobodyOut(t *testing.T) {
	of, most := simulate(800, 5, 0.01)
	require.LessOrEqual(t, most, 2)
	for _, who := range listeners {
		require.LessOrEqual(t, of[who.name].longest, 40*time.Hour)
	}
}

func TestPlaylistsAndListensShareAPace(t *testing.T) {
	p := &providers.Provider{Description: providers.Description{
		Streams: []string{library.Listens, library.Playlists}}}
	every := func(stream string) time.Duration {
		return map[string]time.Duration{library.Listens: 5 * time.Minute, library.Playlists: 15 * time.Minute}[stream]
	}
	for n := range 2_000 {
		calls := 0.0
		for _, stream := range p.Streams {
			runs, short := allowance(p, stream, n, 1, every)
			if !short {
				runs = float64(n)
			}
			calls += runs * load[stream].calls / every(stream).Seconds()
		}
		require.LessOrEqual(t, calls, paceShare+1e-9, n)
		if n >= 120 {
			require.InDelta(t, paceShare, calls, 1e-9, "it is used up")
		}
	}
}

// BenchmarkSpread tells how late each kind of listeners is read at one call a second, and measures what a tick takes to
// decide that.
func BenchmarkSpread(b *testing.B) {
	for _, n := range []int{200, 300, 1_000, 3_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var of map[string]waits
			var calls int
			for b.Loop() {
				of, calls = simulate(n, 4, 1)
			}
			for name, w := range of {
				b.ReportMetric(w.mean.Minutes(), name+"-mean-min")
				b.ReportMetric(w.longest.Hours(), name+"-longest-h")
			}
			b.ReportMetric(float64(calls), "calls/tick")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/(4*288), "ms/tick")
		})
	}
}

// A tick reads those first who have waited longest.
func TestTheLongestOverdueAreReadFirst(t *testing.T) {
	hs := &habits{of: map[Key]*habit{}, seeded: map[string]bool{}}
	now := time.Now()
	var keys []Key
	for n := range 10 {
		k := Key{int64(n), "listenbrainz", library.Listens}
		keys = append(keys, k)
		hs.read(k, now.Add(-time.Duration(n)*6*time.Hour), 0)
	}
	chosen := hs.choose(keys, now, 5*time.Minute, 3)
	slices.Reverse(keys)
	require.Equal(t, keys[:3], chosen)
}
