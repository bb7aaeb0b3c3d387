package music_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/music"
)

// evening is when the plays of these tests begin.
var evening = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

func played(title string, after time.Duration) *library.Listen {
	return &library.Listen{SourceID: title + after.String(), PlayedAt: evening.Add(after),
		Track: library.Track{Title: title, Artist: "Björk"}}
}

// told is a matcher that knows of one play, as Spotify reported it.
func told(title string, after time.Duration) (*music.Matcher, *music.Play) {
	r := music.NewReport("spotify", "s1", evening.Add(after), 0)
	p := &music.Play{ID: 1, At: evening.Add(after), Reports: []*music.Report{&r}}
	key := music.MatchKey(title, music.Indexed("Björk"))
	return &music.Matcher{Known: map[int64][]*music.Play{key: {p}}}, p
}

func TestAPlayThatTwoServicesTellOfIsOne(t *testing.T) {
	m, p := told("Jóga", 0)
	page := []*library.Listen{played("Jóga", 3*time.Second), played("Jóga", time.Hour)}
	reports := m.Recognise("lastfm", page)
	require.Same(t, p, reports[0].Play)
	require.Nil(t, reports[1].Play, "an hour later it is another play")
}

func TestAPlayWhoseTimeIsAGuessIsNoOtherOne(t *testing.T) {
	m, _ := told("Jóga", 0)
	guess := played("Jóga", 0)
	guess.Approximate = true
	require.Nil(t, m.Recognise("lastfm", []*library.Listen{guess})[0].Play)
}

// TestWhatWeSentIsKnownAgain: a service told of a play that we had forwarded to it, under names of its own.
func TestWhatWeSentIsKnownAgain(t *testing.T) {
	sent := func(id int64, after time.Duration, removed bool) *music.Play {
		return &music.Play{ID: id, At: evening.Add(after + 300*time.Millisecond), Removed: removed}
	}
	for name, c := range map[string]struct {
		sent []*music.Play
		want int64 // 0 for a new listen
	}{
		"at its second":                      {[]*music.Play{sent(7, 0, false)}, 7},
		"a second later":                     {[]*music.Play{sent(7, time.Second, false)}, 0},
		"two at that second: it may be each": {[]*music.Play{sent(7, 0, false), sent(8, 0, false)}, 0},
		"deleted since":                      {[]*music.Play{sent(7, 0, true)}, 7},
		"one is kept, one was deleted":       {[]*music.Play{sent(8, 0, true), sent(7, 0, false)}, 7},
	} {
		m := &music.Matcher{Sent: c.sent}
		page := []*library.Listen{played("Joga (2019 Remaster)", 0), played("Army of Me", time.Hour)}
		got := m.Recognise("lastfm", page)
		require.Nil(t, got[1].Play, name)
		if c.want == 0 {
			require.Nil(t, got[0].Play, name)
			continue
		}
		require.Equal(t, c.want, got[0].Play.ID, name)
		learns := got[0].Play.Learns(&library.Listen{Track: library.Track{ISRC: "X"}})
		require.False(t, learns, "the names are the service's")
	}
}

// TestWhatWeSentIsKnownOnce: of two plays of a second, the first is what was sent.
func TestWhatWeSentIsKnownOnce(t *testing.T) {
	m := &music.Matcher{Sent: []*music.Play{{ID: 7, At: evening}}}
	got := m.Recognise("lastfm", []*library.Listen{played("Joga", 0), played("Army of Me", 0)})
	require.Equal(t, int64(7), got[0].Play.ID)
	require.Nil(t, got[1].Play)
}

// TestWhatIsKeptApartStaysApart: its person has said that these are two plays.
func TestWhatIsKeptApartStaysApart(t *testing.T) {
	m, p := told("Jóga", 0)
	p.Reports[0].Sides = music.Sides{1: 1}
	l := played("Jóga", 0)
	m.Apart = map[library.Source]music.Sides{{Connection: "lastfm", SourceID: l.SourceID}: {1: 2}}
	require.Nil(t, m.Recognise("lastfm", []*library.Listen{l})[0].Play)
}
