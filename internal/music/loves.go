package music

import (
	"slices"
	"time"

	"reprise/internal/library"
)

// LoveKey is equal for the names that services give to the same track.
func LoveKey(v library.Love) int64 { return MatchKey(v.Title, Indexed(v.Artist)) }

// LovesRead is what follows from reading what a service says that a person loves.
type LovesRead struct {
	Said      map[int64]library.Love      // is news here, by the key of its track
	There     map[int64]library.LoveThere // what is known of the service now, where that has changed
	Forgotten []int64                     // keys of what it doesn't list any more
	Missing   int                         // tracks that it listed before and doesn't list now
	Asks      bool                        // so many that its person has to say what that means
}

const (
	// unlistedFor is how long a service may take to list a track that was sent to it, before it is sent again.
	unlistedFor = time.Hour
	// mostTold is how often a track is sent to a service that never lists it; the service may list it by another name.
	mostTold = 2
)

// ReadLoves compares what a service lists with what was known of it before, and with what its person has said here,
// both by [LoveKey]. What the service has changed since is something that they have said, and the latest word counts,
// wherever it was said. What was sent there and is not listed yet is no change, nor is what is listed without a name.
// Tracks without a time in the first reading never override what is known here.
func ReadLoves(ours map[int64]library.Love, there map[int64]library.LoveThere, listed []library.Love, first bool,
	now time.Time) LovesRead {
	r := &LovesRead{Said: map[int64]library.Love{}, There: map[int64]library.LoveThere{}}
	known := knownBy(ours, there)
	lists := map[int64]bool{}
	for _, v := range listed {
		keys := known(v)
		for _, key := range keys {
			r.lists(ours, there, key, v, lists[key], first, now)
			lists[key] = true
		}
	}
	r.missing(ours, there, lists, now)
	return *r
}

// lists notes that the service lists a track, again if it has done so by another name.
func (r *LovesRead) lists(ours map[int64]library.Love, there map[int64]library.LoveThere, key int64, v library.Love,
	again, first bool, now time.Time) {
	was, known := there[key]
	if again || known && was.Score == v.Score && was.Seen && !was.Gone {
		return
	}
	if v.Title == "" || v.Artist == "" { // it is there, whatever it is called
		v.Title, v.Artist = was.Title, was.Artist
	}
	r.There[key] = library.LoveThere{Love: v, Seen: true}
	if known && was.Score == v.Score {
		return
	}
	_, here := ours[key]
	if v.At.IsZero() && first && here {
		return
	}
	if v.At.IsZero() || v.At.After(now) {
		v.At = now
	}
	r.said(ours, key, v)
}

// said notes a word about a track, if it is the latest one and changes something.
func (r *LovesRead) said(ours map[int64]library.Love, key int64, v library.Love) {
	o, known := ours[key]
	if !known && v.Score != library.Unrated || known && v.Score != o.Score && v.At.After(o.At) {
		r.Said[key] = v
	}
}

// missing notes what the service doesn't list any more. While its person is asked about some of that, whatever else is
// missing is asked about as well.
func (r *LovesRead) missing(ours map[int64]library.Love, there map[int64]library.LoveThere, lists map[int64]bool,
	now time.Time) {
	seen, asked := 0, false
	var missing []int64
	for key, was := range there {
		agree := ours[key].Score == was.Score
		switch {
		case was.Score == library.Unrated:
		case !was.Seen:
			if !lists[key] && now.Sub(was.At) >= unlistedFor && was.Told < mostTold {
				was.Score = library.Unrated // it is sent once more
				r.There[key] = was
			}
		case !lists[key] && !agree: // they have taken it back here as well
			r.Forgotten = append(r.Forgotten, key)
		case !lists[key] && was.Gone:
			asked = true
		default:
			if seen++; !lists[key] {
				missing = append(missing, key)
			}
		}
	}
	slices.Sort(missing)
	r.Missing = len(missing)
	r.Asks = library.Sudden(len(missing), seen) || asked && len(missing) > 0
	for _, key := range missing {
		was := there[key]
		if r.Asks {
			was.Gone = true
			r.There[key] = was
			continue
		}
		was.Love.Score, was.Love.At = library.Unrated, now
		r.said(ours, key, was.Love)
		r.Forgotten = append(r.Forgotten, key)
	}
}

// knownBy returns a function that says by which keys a track that a service lists is known: by its names, and whatever
// has the same id at the service. A track that is not known by either may have another name at MusicBrainz.
func knownBy(ours map[int64]library.Love, there map[int64]library.LoveThere) func(library.Love) []int64 {
	bySource, byMBID := map[string][]int64{}, map[string]int64{}
	for key, v := range there {
		if v.SourceID != "" {
			bySource[v.SourceID] = append(bySource[v.SourceID], key)
		}
	}
	for key, v := range ours {
		if id := v.RecordingMBID; id != "" && (byMBID[id] == 0 || key < byMBID[id]) {
			byMBID[id] = key
		}
	}
	return func(v library.Love) []int64 {
		keys := bySource[v.SourceID]
		if v.Title == "" || v.Artist == "" {
			return keys
		}
		key := LoveKey(v)
		_, here := ours[key]
		switch _, known := there[key]; {
		case known && !slices.Contains(keys, key):
			return append([]int64{key}, keys...)
		case known || len(keys) > 0:
			return keys
		case !here && byMBID[v.RecordingMBID] != 0:
			return []int64{byMBID[v.RecordingMBID]}
		}
		return []int64{key}
	}
}
