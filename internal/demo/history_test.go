package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func house(seed uint64, plays int, now time.Time) *household {
	return newHousehold(&Options{Seed: seed, Plays: plays}, now)
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	c := theCatalog()
	require.GreaterOrEqual(t, len(c.albums), 60)
	seen := map[string]bool{}
	for i, tr := range c.tracks {
		require.Regexp(t, `^[A-Z]{4}\d{8}$`, tr.isrc)
		require.Regexp(t, `^[0-9A-Za-z]{22}$`, tr.spotifyID)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, tr.mbid)
		require.Greater(t, tr.duration, time.Minute, tr.title)
		for _, id := range []string{
			tr.isrc, tr.spotifyID, tr.navidromeID, tr.mbid, tr.recordingMSID, c.albumOf(i).artist + tr.title,
		} {
			require.False(t, seen[id], id)
			seen[id] = true
		}
	}
	for _, a := range c.albums {
		require.GreaterOrEqual(t, len(a.tracks), 3)
		require.LessOrEqual(t, len(a.tracks), 6)
	}
}

func TestHistoryIsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	a, b, c := house(7, 1000, friday), house(7, 1000, friday), house(8, 1000, friday)
	require.Equal(t, a.people, b.people)
	require.NotEqual(t, a.people[Alice].listens, c.people[Alice].listens)
}

func TestHistoryIsBelievable(t *testing.T) {
	t.Parallel()
	for _, plays := range []int{1, 20, 4000, 20_000} {
		h := house(1, plays, friday)
		p := h.people[Alice]
		require.Len(t, p.listens, plays)
		require.Len(t, h.people[Bob].listens, plays/10)
		inARow, evening := 0, 0
		for i, l := range p.listens {
			require.Less(t, l.at, friday.UnixMilli())
			require.Zero(t, l.at%1000, "whole seconds")
			if hour := time.UnixMilli(l.at).UTC().Hour(); hour >= 17 {
				evening++
			}
			if i == 0 {
				continue
			}
			before := p.listens[i-1]
			require.GreaterOrEqual(t, l.at-before.at, h.cat.tracks[before.track].duration.Milliseconds()-1000,
				"one at a time")
			if l.track == before.track+1 {
				inARow++
			}
		}
		if plays < 1000 {
			continue
		}
		require.Greater(t, inARow, plays/3, "albums")
		require.Greater(t, evening, plays/3, "evenings")
		span := friday.Sub(time.UnixMilli(p.listens[0].at))
		require.InDelta(t, 3*365, span.Hours()/24, 30)
		require.Len(t, p.scrobbles, 600)
		require.Len(t, p.spotify, 50)
	}
}

// A play has the same time and names at every service, to their precision.
func TestServicesSeeTheSamePlays(t *testing.T) {
	t.Parallel()
	p := house(1, 4000, friday).people[Alice]
	known := map[int32][]int64{}
	for _, l := range p.listens {
		known[l.track] = append(known[l.track], l.at)
	}
	shared := func(track int32, at int64) bool {
		for _, k := range known[track] {
			if d := at - k; d >= 0 && d < 3200 {
				return true
			}
		}
		return false
	}
	spotify, home := 0, 0
	for _, s := range p.spotify {
		if shared(s.track, s.at) {
			spotify++
		}
	}
	for _, s := range p.scrobbles {
		if shared(s.track, s.at*1000) {
			home++
		}
	}
	require.Equal(t, recentPlays-onlySpotify, spotify)
	require.InDelta(t, 360, home, 5)
}

func BenchmarkHousehold(b *testing.B) {
	for b.Loop() {
		house(1, 100_000, friday)
	}
}
