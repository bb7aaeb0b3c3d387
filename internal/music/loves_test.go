package music_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/music"
)

var friday = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

func love(title string, score int, at time.Time) library.Love {
	return library.Love{Title: title, Artist: "Nina", Score: score, At: at}
}

// keyed returns tracks by their keys.
func keyed(all ...library.Love) map[int64]library.Love {
	m := map[int64]library.Love{}
	for _, v := range all {
		m[music.LoveKey(v)] = v
	}
	return m
}

// there returns what a service has listed before.
func there(all ...library.Love) map[int64]library.LoveThere {
	m := map[int64]library.LoveThere{}
	for key, v := range keyed(all...) {
		m[key] = library.LoveThere{Love: v, Key: key, Seen: true}
	}
	return m
}

func all(of ...library.Love) []library.Love { return of }

func titles(all map[int64]library.Love) (names []string) {
	for _, v := range all {
		names = append(names, fmt.Sprint(v.Title, " ", v.Score))
	}
	slices.Sort(names)
	return names
}

func TestTheLatestWordAboutATrackCounts(t *testing.T) {
	t.Parallel()
	before, later := friday.Add(-time.Hour), friday.Add(time.Hour)
	tests := map[string]struct {
		ours, there, listed []library.Love
		said                []string
	}{
		"loved there": {nil, nil, all(love("A", 1, before)), []string{"A 1"}},
		"hated there": {nil, nil, all(love("A", -1, before)), []string{"A -1"}},
		"loved there, and in both before": {all(love("A", 1, before)), all(love("A", 1, before)),
			all(love("A", 1, before)), nil},
		"another spelling of the same": {all(love("A", 1, before)), all(love("A", 1, before)),
			all(love("a", 1, before)), nil},
		"taken back here since":  {all(love("A", 0, friday)), nil, all(love("A", 1, before)), nil},
		"taken back here before": {all(love("A", 0, before)), nil, all(love("A", 1, friday)), []string{"A 1"}},
		"taken back there":       {all(love("A", 1, before)), all(love("A", 1, before)), nil, []string{"A 0"}},
		"loved there by a clock that is wrong": {all(love("A", 0, later)), nil,
			all(love("A", 1, later.AddDate(0, 0, 1))), []string{"A 1"}},
		"without a time, at first": {all(love("A", 0, before)), nil, all(love("A", 1, time.Time{})), nil},
		"without a time, later": {all(love("A", 0, before)), all(love("B", 1, before)),
			all(love("A", 1, time.Time{}), love("B", 1, time.Time{})), []string{"A 1"}},
		"hated there after it was loved": {all(love("A", 1, before)), all(love("A", 1, before)),
			all(love("A", -1, friday)), []string{"A -1"}},
		"the same song by another name": {all(library.Love{Title: "A", Artist: "Nina", RecordingMBID: "m", Score: 1,
			At: before}), nil, all(library.Love{Title: "A (live)", Artist: "Nina", RecordingMBID: "m", Score: 1,
			At: friday}), nil},
	}
	for name, one := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := music.ReadLoves(keyed(one.ours...), there(one.there...), one.listed, one.there == nil,
				friday.Add(2*time.Hour))
			require.Equal(t, one.said, titles(r.Said))
			require.False(t, r.Asks)
		})
	}
}

func TestWhatWasSentAndIsNotListedYetStays(t *testing.T) {
	t.Parallel()
	v := love("A", 1, friday)
	r := music.ReadLoves(keyed(v), map[int64]library.LoveThere{music.LoveKey(v): {Love: v}}, nil, false, friday)
	require.Empty(t, r.Said)
	require.Empty(t, r.Forgotten)
	require.Empty(t, r.There)
}

func TestAnEmptiedListIsNotFollowed(t *testing.T) {
	t.Parallel()
	var all []library.Love
	for i := range 40 {
		all = append(all, love(fmt.Sprint("Song ", i), 1, friday))
	}
	for left, asks := range map[int]bool{0: true, 20: true, 28: true, 30: false, 39: false, 40: false} {
		r := music.ReadLoves(keyed(all...), there(all...), all[:left], false, friday.Add(time.Hour))
		require.Equal(t, asks, r.Asks, "%d are left", left)
		require.Equal(t, 40-left, r.Missing)
		if asks {
			require.Empty(t, r.Said)
			require.Len(t, r.There, 40-left)
			continue
		}
		require.Len(t, r.Said, 40-left)
		require.Len(t, r.Forgotten, 40-left)
	}
	two := all[:2]
	require.True(t, music.ReadLoves(keyed(two...), there(two...), nil, false, friday).Asks, "all of few")
	require.False(t, music.ReadLoves(keyed(all[0]), there(all[0]), nil, false, friday).Asks, "the only one")
}

// TestAnyOrderOfChangesEndsTheSame changes three services and our own list at random, reads and sends in any order, and
// expects one state everywhere in the end.
func TestAnyOrderOfChangesEndsTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		now := friday
		ours, services := map[int64]library.Love{}, [3]map[int64]library.Love{{}, {}, {}}
		known := [3]map[int64]library.LoveThere{{}, {}, {}}
		read := func(i int) {
			var listed []library.Love
			for _, v := range services[i] {
				listed = append(listed, v)
			}
			r := music.ReadLoves(ours, known[i], listed, false, now)
			require.False(t, r.Asks)
			maps.Copy(ours, r.Said)
			maps.Copy(known[i], r.There)
			for _, key := range r.Forgotten {
				delete(known[i], key)
			}
		}
		send := func(i int) {
			for key, v := range ours {
				if v.Score == known[i][key].Score {
					continue
				}
				if v.Score == library.Unrated {
					delete(services[i], key)
					delete(known[i], key)
					continue
				}
				v.At = now
				services[i][key] = v
				known[i][key] = library.LoveThere{Love: v, Key: key, Told: known[i][key].Told + 1}
			}
		}
		for range 60 {
			now = now.Add(time.Minute)
			v := love(fmt.Sprint("Song ", rnd.IntN(6)), rnd.IntN(2), now)
			key := music.LoveKey(v)
			switch i := rnd.IntN(8); {
			case i < 2:
				ours[key] = v
			case i < 5 && v.Score == library.Loved:
				if _, loved := services[i-2][key]; !loved {
					services[i-2][key] = v
				}
			case i < 5:
				if len(services[i-2]) > 1 { // else the whole list is gone, which is asked about
					delete(services[i-2], key)
				}
				read(i - 2)
			default:
				if rnd.IntN(2) == 0 {
					read(i - 5)
				} else {
					send(i - 5)
				}
			}
		}
		for range 3 {
			now = now.Add(time.Hour)
			for i := range services {
				read(i)
				send(i)
			}
		}
		want := map[string]bool{}
		for _, v := range ours {
			if v.Score == library.Loved {
				want[v.Title] = true
			}
		}
		for i, s := range services {
			got := map[string]bool{}
			for _, v := range s {
				got[v.Title] = true
			}
			require.Equal(t, want, got, "seed %d, service %d", seed, i)
		}
	}
}

// TestATrackUnderTwoNamesIsNotTakenBack has ids that say that two names are one track.
func TestATrackUnderTwoNamesIsNotTakenBack(t *testing.T) {
	t.Parallel()
	one, two := love("Song", 1, friday), love("Song, the other version", 1, friday)
	one.SourceID, two.SourceID = "7", "7"
	both := there(one, two)
	for _, listed := range [][]library.Love{{one}, {two}, {{Score: 1, SourceID: "7"}},
		{{Title: "Anything", Artist: "Else", Score: 1, SourceID: "7"}}} {
		r := music.ReadLoves(keyed(one, two), both, listed, false, friday.Add(time.Hour))
		require.Empty(t, r.Said)
		require.Empty(t, r.Forgotten)
		require.Zero(t, r.Missing)
	}
	first, second := love("K1", 1, friday), love("K2", 1, friday)
	second.RecordingMBID = "m"
	listed := first
	listed.RecordingMBID = "m"
	r := music.ReadLoves(keyed(first, second), there(first), []library.Love{listed}, false, friday.Add(time.Hour))
	require.Empty(t, r.Said, "its own name comes first")
	require.Empty(t, r.Forgotten)
}

func TestAQuestionDoesNotAnswerItself(t *testing.T) {
	t.Parallel()
	var many []library.Love
	for i := range 60 {
		many = append(many, love(fmt.Sprint("Song ", i), 1, friday))
	}
	known, now := there(many...), friday.Add(time.Hour)
	r := music.ReadLoves(keyed(many...), known, nil, false, now)
	require.True(t, r.Asks)
	maps.Copy(known, r.There)
	for _, listed := range [][]library.Love{{love("New", 1, now)}, many[:50], many[:59]} {
		r = music.ReadLoves(keyed(many...), known, listed, false, now.Add(time.Hour))
		require.Empty(t, r.Forgotten)
		for _, v := range r.Said {
			require.Equal(t, "New", v.Title)
		}
	}
	// all but one are there again
	maps.Copy(known, r.There)
	r = music.ReadLoves(keyed(many...), known, many[2:59], false, now.Add(time.Hour))
	require.True(t, r.Asks, "who is asked about one is asked about the next two as well")
	require.Empty(t, r.Said)
}

func TestATrackThatIsNeverListedIsToldTwice(t *testing.T) {
	t.Parallel()
	v := love("A", 1, friday)
	for told, again := range map[int]bool{1: true, 2: false} {
		row := library.LoveThere{Love: v, Told: told}
		r := music.ReadLoves(keyed(v), map[int64]library.LoveThere{music.LoveKey(v): row}, nil, false,
			friday.Add(2*time.Hour))
		require.Equal(t, again, len(r.There) == 1)
		require.Empty(t, r.Said)
	}
}

// A service may list by its id alone what was sent to it by that id, such as a video that it doesn't take for music.
func TestATrackThatIsListedWithoutANameIsThere(t *testing.T) {
	t.Parallel()
	v := love("A", 1, friday)
	v.SourceID = "video"
	row := library.LoveThere{Love: v, Told: 1}
	listed := []library.Love{{Score: 1, SourceID: "video", At: friday}, {Score: 1, SourceID: "other", At: friday}}
	r := music.ReadLoves(keyed(v), map[int64]library.LoveThere{music.LoveKey(v): row}, listed, false,
		friday.Add(2*time.Hour))
	require.Empty(t, r.Said)
	require.Len(t, r.There, 1)
	require.True(t, r.There[music.LoveKey(v)].Seen)
	require.Equal(t, 1, r.There[music.LoveKey(v)].Score, "it isn't sent again")
}
