package versions_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/versions"
)

func list(titles ...string) (all []library.Track) {
	for _, title := range titles {
		all = append(all, library.Track{Title: title, Artist: "Björk"})
	}
	return all
}

func titles(all []library.Track) (titles []string) {
	for _, t := range all {
		titles = append(titles, t.Title)
	}
	return titles
}

func TestWhatChangesBetweenTwoMoments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after     []library.Track
		came, went, moved []string
	}{
		"nothing":        {before: list("a", "b"), after: list("a", "b")},
		"all is new":     {after: list("a", "b"), came: []string{"a", "b"}},
		"emptied":        {before: list("a", "b"), went: []string{"a", "b"}},
		"one moves up":   {before: list("a", "b", "c", "d"), after: list("d", "a", "b", "c"), moved: []string{"d"}},
		"one moves down": {before: list("a", "b", "c", "d"), after: list("b", "c", "d", "a"), moved: []string{"a"}},
		"replaced": {before: list("a", "b", "c"), after: list("a", "x", "c"), came: []string{"x"},
			went: []string{"b"}},
		"one of two alike": {before: list("a", "b", "a"), after: list("a", "b"), went: []string{"a"}},
		"doubled":          {before: list("a", "b"), after: list("a", "b", "a"), came: []string{"a"}},
	} {
		got := versions.Between(c.before, c.after)
		require.Equal(t, c.came, titles(got.Came), name)
		require.Equal(t, c.went, titles(got.Went), name)
		require.Equal(t, c.moved, titles(got.Moved), name)
	}
	renamed := versions.Between([]library.Track{{Title: "Joga", SourceID: "1"}},
		[]library.Track{{Title: "Jóga", SourceID: "1"}})
	came, went, moved := renamed.Counts()
	require.Zero(t, came+went+moved, "it is the same track")
}

func many(from, to int) (titles []string) {
	for i := from; i < to; i++ {
		titles = append(titles, fmt.Sprint("Song ", i))
	}
	return titles
}

// Promise: Who has removed songs from a playlist is said only if it is known, and nothing is said about what its person
// has plainly done.
func TestWhatAPlaylistHasLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after []string
		gone          versions.Gone
		want          library.Loss
	}{
		"nothing":               {before: many(0, 20), after: many(0, 20)},
		"one was removed":       {before: many(0, 20), after: many(1, 20)},
		"ten of a hundred":      {before: many(0, 100), after: many(10, 100)},
		"twelve of a hundred":   {before: many(0, 100), after: many(12, 100), want: library.Loss{Songs: 12}},
		"twelve of two hundred": {before: many(0, 200), after: many(12, 200)},
		"all":                   {before: many(0, 6), want: library.Loss{Songs: 6}},
		"others came":           {before: many(0, 100), after: many(12, 101)},
		"others moved":          {before: many(0, 100), after: append(many(13, 100), "Song 12")},
		"one has left its place": {before: many(0, 20), after: many(1, 20), gone: versions.Gone{Blank: 1},
			want: library.Loss{Songs: 1, Taken: true}},
		"places, and another came": {before: many(0, 20), after: many(3, 21), gone: versions.Gone{Blank: 3},
			want: library.Loss{Songs: 3, Taken: true}},
		"fewer places than songs": {before: many(0, 20), after: many(4, 20), gone: versions.Gone{Blank: 3}},
		"many, and fewer places": {before: many(0, 100), after: many(12, 100), gone: versions.Gone{Blank: 3},
			want: library.Loss{Songs: 12}},
		"places were tidied up": {before: many(0, 20), after: many(1, 20), gone: versions.Gone{Blank: -3}},
		"gone and still listed": {before: many(0, 20), after: many(0, 20), gone: versions.Gone{Named: 2},
			want: library.Loss{Songs: 2, Taken: true}},
		"gone, and one was removed": {before: many(0, 20), after: many(1, 20), gone: versions.Gone{Named: 2},
			want: library.Loss{Songs: 2, Taken: true}},
		"a place without a song yet": {before: many(0, 20), after: many(0, 20), gone: versions.Gone{Blank: 1}},
	} {
		before, after := list(c.before...), list(c.after...)
		require.Equal(t, c.want, versions.Between(before, after).Lost(len(before), c.gone), name)
	}
}

// Whatever becomes of a playlist, what it was like is found again to the letter.
func TestEarlierVersionsAreFoundAgain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	track := func(n int) library.Track {
		return library.Track{Title: fmt.Sprint("Song ", n), Artist: "Björk", SourceID: fmt.Sprint(n)}
	}
	for range 300 {
		var before, after []library.Track
		for range random.IntN(12) {
			before = append(before, track(random.IntN(9)))
		}
		after = slices.Clone(before)
		random.Shuffle(len(after), func(i, j int) { after[i], after[j] = after[j], after[i] })
		after = after[:random.IntN(len(after)+1)]
		for range random.IntN(5) {
			after = slices.Insert(after, random.IntN(len(after)+1), track(random.IntN(12)))
		}
		got, err := versions.Earlier(after, versions.Back(before, after))
		require.NoError(t, err)
		require.True(t, versions.Same(before, got), "%v, then %v", titles(before), titles(after))

		c := versions.Between(before, after)
		require.Len(t, after, len(before)+len(c.Came)-len(c.Went))
	}
}

func TestADamagedVersionIsAnError(t *testing.T) {
	t.Parallel()
	for _, back := range []string{"", "{", "[[0,3]]", "[[-1,1]]", "[[1,-1]]", "[[2,1]]", `["x"]`} {
		_, err := versions.Earlier(list("a", "b"), back)
		require.Error(t, err, back)
	}
}
