// Package versions describes an earlier list of tracks by its difference to a later one, and says what has changed from
// one to the other. Its functions are pure.
package versions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
)

// step is a part of a list: some tracks of the later list from one on, or a track that is not in that.
type step struct {
	from, count int
	track       *library.Track
}

// stored is a track as a step keeps it.
type stored struct {
	Title         string `json:"t,omitempty"`
	Artist        string `json:"a,omitempty"`
	Album         string `json:"l,omitempty"`
	DurationMS    int64  `json:"d,omitempty"`
	ISRC          string `json:"i,omitempty"`
	RecordingMBID string `json:"m,omitempty"`
	SourceID      string `json:"s,omitempty"`
}

// MarshalJSON returns [from, count], or the track.
func (s step) MarshalJSON() ([]byte, error) {
	if s.track == nil {
		return json.Marshal([2]int{s.from, s.count})
	}
	t := s.track
	return json.Marshal(stored{t.Title, t.Artist, t.Album, t.Duration.Milliseconds(), t.ISRC, t.RecordingMBID,
		t.SourceID})
}

// UnmarshalJSON reads what MarshalJSON returns.
func (s *step) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var run [2]int
		err := json.Unmarshal(b, &run)
		s.from, s.count = run[0], run[1]
		return err
	}
	var t stored
	err := json.Unmarshal(b, &t)
	s.track = &library.Track{Title: t.Title, Artist: t.Artist, Album: t.Album, ISRC: t.ISRC,
		Duration: time.Duration(t.DurationMS) * time.Millisecond, RecordingMBID: t.RecordingMBID, SourceID: t.SourceID}
	return err
}

// identity is a track without what is not stored.
type identity struct {
	title, artist, album, isrc, mbid, source string
	ms                                       int64
}

func identityOf(t *library.Track) identity {
	return identity{t.Title, t.Artist, t.Album, t.ISRC, t.RecordingMBID, t.SourceID, t.Duration.Milliseconds()}
}

// Same reports whether two lists have the same tracks in the same order, to the letter.
func Same(a, b []library.Track) bool {
	return slices.EqualFunc(a, b, func(a, b library.Track) bool { return identityOf(&a) == identityOf(&b) })
}

// Back describes an earlier list by a later one, from which Earlier makes it again.
func Back(earlier, later []library.Track) string {
	at := map[identity][]int{} // where each track of the later list is
	for i := range later {
		id := identityOf(&later[i])
		at[id] = append(at[id], i)
	}
	steps := []step{}
	for i := range earlier {
		t := &earlier[i]
		places := at[identityOf(t)]
		if len(places) == 0 {
			steps = append(steps, step{track: t})
			continue
		}
		place := places[0]
		if len(steps) > 0 {
			last := &steps[len(steps)-1]
			if next := last.from + last.count; last.track == nil && contains(places, next) {
				last.count++
				continue
			}
		}
		steps = append(steps, step{from: place, count: 1})
	}
	text, err := json.Marshal(steps)
	if err != nil {
		panic(err) // only our own plain types come here
	}
	return string(text)
}

// contains reports whether a number is among others, which rise.
func contains(rising []int, n int) bool {
	_, found := slices.BinarySearch(rising, n)
	return found
}

// Earlier returns the list that Back has described by a later one.
func Earlier(later []library.Track, back string) ([]library.Track, error) {
	var steps []step
	if err := json.Unmarshal([]byte(back), &steps); err != nil {
		return nil, fmt.Errorf("read a version of a playlist: %w", err)
	}
	earlier := []library.Track{}
	for _, s := range steps {
		switch {
		case s.track != nil:
			earlier = append(earlier, *s.track)
		case s.from < 0 || s.count < 0 || s.from > len(later)-s.count:
			return nil, errors.New("a version of a playlist belongs to another list")
		default:
			earlier = append(earlier, later[s.from:s.from+s.count]...)
		}
	}
	return earlier, nil
}

// Changes are what differs between two lists.
type Changes struct {
	Came, Went, Moved []library.Track // in the order of the later list, and Went in that of the earlier
}

// Counts returns how many tracks came, went and moved.
func (c Changes) Counts() (came, went, moved int) { return len(c.Came), len(c.Went), len(c.Moved) }

// Gone is what a provider says of tracks of a list that it doesn't offer any more, beyond what it said before.
type Gone struct {
	Blank int // places without a track: what was there isn't listed
	Named int // tracks that are still listed
}

// Lost returns what a list of so many tracks has lost with the changes, by these rules, the first that applies:
//   - Every track that went has left a blank place: the provider has taken them away, whatever else has changed.
//   - Suddenly many are missing, and nothing came or moved: it may be the provider or the person. Who edits a playlist
//     by hand seldom takes out so many and does nothing else, and a playlist that is made anew gets others instead.
//   - The provider says of listed tracks that they are gone: it has taken them away, and they didn't go.
func (c Changes) Lost(of int, gone Gone) library.Loss {
	came, went, moved := c.Counts()
	switch {
	case went > 0 && went <= gone.Blank:
		return library.Loss{Songs: went, Taken: true}
	case came == 0 && moved == 0 && library.Sudden(went, of):
		return library.Loss{Songs: went}
	case gone.Named > 0:
		return library.Loss{Songs: gone.Named, Taken: true}
	}
	return library.Loss{}
}

// Song identifies a track for people: by its id at the service, or by its names.
func Song(t *library.Track) string {
	if t.SourceID != "" {
		return t.SourceID
	}
	return "\x00" + t.Title + "\x00" + t.Artist + "\x00" + t.Album
}

// Between returns what has changed from an earlier list to a later one. Tracks have moved if they are in another order
// among those that stayed; as few as possible are taken for that.
func Between(earlier, later []library.Track) (c Changes) {
	before := map[string][]int{} // where each song was, the first place first
	for i := range earlier {
		before[Song(&earlier[i])] = append(before[Song(&earlier[i])], i)
	}
	stayed, places := []int{}, []int{} // of the later list, and where those were
	for i := range later {
		id := Song(&later[i])
		if was := before[id]; len(was) > 0 {
			stayed, places = append(stayed, i), append(places, was[0])
			before[id] = was[1:]
		} else {
			c.Came = append(c.Came, later[i])
		}
	}
	for i := range earlier {
		if left := before[Song(&earlier[i])]; contains(left, i) {
			c.Went = append(c.Went, earlier[i])
		}
	}
	still := rising(places)
	for n, i := range stayed {
		if !still[n] {
			c.Moved = append(c.Moved, later[i])
		}
	}
	return c
}

// rising marks a longest part of numbers that rises from each to the next.
func rising(numbers []int) []bool {
	ends := []int{}                     // the index with the smallest last number, by the length of the part
	before := make([]int, len(numbers)) // the index before each in its part; -1 for none
	for i, n := range numbers {
		length, _ := slices.BinarySearchFunc(ends, n, func(at, n int) int { return numbers[at] - n })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	marked := make([]bool, len(numbers))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			marked[i] = true
		}
	}
	return marked
}
