package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/versions"
)

// Side is one side of a playlist that is kept equal both ways, or both of them. Empty: none.
type Side string

// The sides.
const (
	Here  Side = "here"  // of the playlist
	There Side = "there" // of the copy
	Union Side = "both"  // what either side has
)

// Sides are the values of Side.
var Sides = []Side{Here, There, Union}

// pair is a song of both sides, by its ids there; empty where it is missing because it wasn't found.
type pair struct{ here, there string }

// MarshalJSON returns [here, there].
func (p pair) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{p.here, p.there}) }

// UnmarshalJSON reads what MarshalJSON returns.
func (p *pair) UnmarshalJSON(b []byte) error {
	var both [2]string
	err := json.Unmarshal(b, &both)
	p.here, p.there = both[0], both[1]
	return err
}

// joined is both sides of a playlist, and what they were when they were last alike, as numbers of songs from 1 on.
type joined struct {
	songs               []pair // the first has no meaning
	base, here, there   []int  // with the songs that a side is only missing because it doesn't have them
	onlyHere, onlyThere []int  // the songs of the tracks of a side
}

// free is songs of one side that are not paired yet: where they are in its list, by a key of theirs.
type free map[string][]int

func (f free) take(key string) (at int, ok bool) {
	all := f[key]
	if key == "" || len(all) == 0 {
		return 0, false
	}
	f[key] = all[1:]
	return all[0], true
}

// join finds out which songs of both sides are the same: those that were when the sides were last alike, then those
// that a search has found, then those that have the same names, also those that have other ids than they had.
// found is the id there of each song here, and told the id here of each song there, empty where none is known.
func join(base []pair, here, there []library.Track, found, told []string) joined {
	j := joined{songs: append([]pair{{}}, base...), here: make([]int, len(here)), there: make([]int, len(there))}
	byHere, byThere := free{}, free{}
	for n, p := range base {
		byHere[p.here], byThere[p.there] = append(byHere[p.here], n+1), append(byThere[p.there], n+1)
	}
	for i := range here {
		j.here[i], _ = byHere.take(idOf(&here[i]))
	}
	for i := range there {
		j.there[i], _ = byThere.take(idOf(&there[i]))
	}
	// A song that isn't in the other list may be there by another id: services change them.
	isHere, isThere := setOf(j.here), setOf(j.there)
	byID, byName := free{}, free{}
	toldOf := free{}
	for i := range there {
		if n := j.there[i]; n != 0 && isHere[n] {
			continue
		}
		for f, key := range map[*free]string{&byID: idOf(&there[i]), &byName: match.Key(there[i]), &toldOf: told[i]} {
			(*f)[key] = append((*f)[key], i)
		}
	}
	paired, gone := make([]bool, len(there)), map[int]bool{} // gone: songs that turned out to be another one
	for _, look := range []func(i int) (int, bool){
		func(i int) (int, bool) { return byID.take(found[i]) },
		func(i int) (int, bool) { return toldOf.take(idOf(&here[i])) },
		func(i int) (int, bool) {
			for _, at := range byName[match.Key(here[i])] {
				if !paired[at] && match.Choose(here[i], there[at:at+1]).How != match.ByNothing {
					return at, true
				}
			}
			return 0, false
		},
	} {
		for i := range here {
			if n := j.here[i]; n != 0 && isThere[n] {
				continue
			}
			at, ok := look(i)
			if !ok || paired[at] {
				continue
			}
			paired[at] = true
			j.pair(i, at, idOf(&here[i]), idOf(&there[at]), gone)
		}
	}
	for i := range here {
		if j.here[i] == 0 {
			j.here[i] = j.add(pair{here: idOf(&here[i])})
		}
	}
	for i := range there {
		if j.there[i] == 0 {
			j.there[i] = j.add(pair{there: idOf(&there[i])})
		}
	}
	for n := range base {
		if !gone[n+1] {
			j.base = append(j.base, n+1)
		}
	}
	// What a service doesn't have was not removed there.
	j.onlyHere, j.onlyThere = j.here, j.there
	j.here = versions.Insert(j.here, j.base, func(n int) bool { return j.songs[n].here == "" })
	j.there = versions.Insert(j.there, j.base, func(n int) bool { return j.songs[n].there == "" })
	return j
}

// pair makes one song of two, each of which may have been one already that the other side lacked.
func (j *joined) pair(here, there int, idHere, idThere string, gone map[int]bool) {
	n, m := j.here[here], j.there[there]
	switch {
	case n == 0 && m == 0:
		n = j.add(pair{})
	case n == 0:
		n = m
	case m != 0:
		gone[m] = true
	}
	j.songs[n] = pair{idHere, idThere}
	j.here[here], j.there[there] = n, n
}

func (j *joined) add(p pair) int {
	j.songs = append(j.songs, p)
	return len(j.songs) - 1
}

// idOf returns the id of a track, or its names if its service tells none.
func idOf(t *library.Track) string {
	if t.SourceID != "" {
		return t.SourceID
	}
	return versions.Song(t)
}

// both merges a playlist and its copy.
type both struct {
	copy        *Copy
	here, there []library.Track
	found, told []string // see join
	fresh       bool     // the copy is to be made
	untouched   bool     // the copy is as it was written
	marks       string   // of what the copy is like; see markOf
	wrote       Copy     // what was last written to the playlist
	blankHere   int      // places of songs that the service has taken away
	blankThere  int      // the same of the copy
	searched    []bool   // which songs there were looked for here
	now         []string // what the copy has after it was written
	joined
	merged []int
	why    versions.Conflict
}

// merge finds out what both sides become. It reports whether nobody has to be asked.
func (b *both) merge() bool {
	var base []pair
	if !b.fresh && b.copy.Agreed != "" {
		_ = json.Unmarshal([]byte(b.copy.Agreed), &base) // ours
	}
	b.joined = join(base, b.here, b.there, b.found, b.told)
	b.keepTaken()
	b.checkDecision()
	b.merged, b.why = b.joined.here, ""
	switch {
	case b.fresh, b.copy.Decided == Here:
	case b.copy.Decided == There:
		b.merged = b.joined.there
	case b.copy.Decided == Union:
		b.merged = versions.Insert(b.joined.here, b.joined.there, func(int) bool { return true })
	case b.copy.Agreed == "":
		if !b.untouched && !slices.Equal(b.joined.here, b.joined.there) {
			b.why = versions.Unknown
		}
	default:
		b.merged, b.why = versions.Merge(b.base, b.joined.here, b.joined.there)
		if b.why == "" && (b.sudden(b.joined.here, b.joined.there) || b.sudden(b.joined.there, b.joined.here)) {
			b.why = versions.Shrunk
		}
	}
	return b.why == ""
}

// seenOf returns the marks of both sides of a playlist.
func seenOf(here, there []library.Track) string {
	return markOf(sourceIDs(here)) + "/" + markOf(sourceIDs(there))
}

// checkDecision drops a decision about other songs than there are now: each side has to be as its person saw it, or as
// it was written since.
func (b *both) checkDecision() {
	here, there, _ := strings.Cut(b.copy.Seen, "/")
	isHere, isThere := markOf(sourceIDs(b.here)), markOf(sourceIDs(b.there))
	if isHere != here && !b.wrote.marked(isHere) || isThere != there && !b.copy.marked(isThere) {
		b.copy.Decided, b.copy.Seen = "", ""
	}
}

// sudden reports whether so much went from one side, and nothing else was done, that its service may have taken it
// away; see versions.Changes. Its person is asked then.
func (b *both) sudden(side, other []int) bool {
	was, still := setOf(b.base), setOf(side)
	left := slices.DeleteFunc(slices.Clone(b.base), func(n int) bool { return !still[n] })
	went := 0
	for _, n := range other {
		if was[n] && !still[n] {
			went++
		}
	}
	return slices.Equal(left, side) && library.Sudden(went, len(b.base))
}

// keepTaken takes songs that went from a side for missing there if their places are left blank: its service has taken
// them away, nobody has removed them.
func (b *both) keepTaken() {
	went := func(side []int) map[int]bool {
		still := setOf(side)
		return setOf(slices.DeleteFunc(slices.Clone(b.base), func(n int) bool { return still[n] }))
	}
	if gone := went(b.joined.there); len(gone) > 0 && len(gone) <= b.blankThere {
		for i, n := range b.onlyHere {
			if gone[n] && b.found[i] == b.songs[n].there {
				b.found[i] = ""
			}
		}
		for n := range gone {
			b.songs[n].there = ""
		}
		b.joined.there = versions.Insert(b.joined.there, b.base, func(n int) bool { return gone[n] })
	}
	if gone := went(b.joined.here); len(gone) > 0 && len(gone) <= b.blankHere {
		for i, n := range b.onlyThere {
			if gone[n] && b.told[i] == b.songs[n].here {
				b.told[i] = ""
			}
		}
		for n := range gone {
			b.songs[n].here = ""
		}
		b.joined.here = versions.Insert(b.joined.here, b.base, func(n int) bool { return gone[n] })
	}
}

// ids returns the ids that the merged songs have on a side, in their order, of those that are known to be there.
func (b *both) ids(side Side) (ids []string) {
	on := b.on(side)
	for _, n := range b.merged {
		if id := on[n]; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// on returns the ids that the merged songs have on a side. What a search has found for one song doesn't come twice.
func (b *both) on(side Side) map[int]string {
	of, tracks, results := func(p pair) string { return p.there }, b.onlyHere, b.found
	if side == Here {
		of, tracks, results = func(p pair) string { return p.here }, b.onlyThere, b.told
	}
	ids, taken, merged := map[int]string{}, map[string]bool{}, setOf(b.merged)
	for _, n := range b.merged {
		if id := of(b.songs[n]); id != "" {
			ids[n], taken[id] = id, true
		}
	}
	for i, n := range tracks {
		if id := results[i]; merged[n] && ids[n] == "" && !taken[id] {
			ids[n], taken[id] = id, true
		}
	}
	return ids
}

// agreed returns the merged songs as they are on both sides, where there is what the copy has now.
func (b *both) agreed(there []string) string {
	on, has, pairs := b.on(There), setOf(there), make([]pair, len(b.merged))
	for i, n := range b.merged {
		if pairs[i].here = b.songs[n].here; has[on[n]] {
			pairs[i].there = on[n]
		}
	}
	return jsonOf(pairs)
}

func setOf[K comparable](all []K) map[K]bool {
	set := make(map[K]bool, len(all))
	for _, k := range all {
		set[k] = true
	}
	return set
}

// songIDs returns the ids of tracks, or their names.
func songIDs(tracks []library.Track) []string {
	ids := make([]string, len(tracks))
	for i := range tracks {
		ids[i] = idOf(&tracks[i])
	}
	return ids
}

// sourceIDs returns the ids of tracks as tracksOf does.
func sourceIDs(tracks []library.Track) (ids []string) {
	for i := range tracks {
		ids = append(ids, tracks[i].SourceID)
	}
	return ids
}

// planOf returns both sides of a playlist and its copy, as far as they are known without a call. there is what the copy
// has; searched says which of its songs were looked for where the playlist comes from.
func planOf(ctx context.Context, s copyStore, c *Copy, list library.StoredPlaylist, here, there []library.Track) (
	b *both, searched []bool, err error) {
	b = &both{copy: c, here: here, there: there, blankHere: list.Blank,
		found: make([]string, len(here)), told: make([]string, len(there))}
	_, err = ask(ctx, s, c.User, c.Connection, here, b.found)
	if err == nil {
		b.wrote, err = s.Copy(ctx, c.User, list.Connection, WritePlaylist, BackRef(list.ID))
		if errors.Is(err, library.ErrNotFound) {
			err = nil
		}
	}
	if err == nil {
		searched, err = ask(ctx, s, c.User, list.Connection, there, b.told)
	}
	return b, searched, err
}

// ask sets the ids of tracks at a connection that are remembered, and returns which were looked for.
func ask(ctx context.Context, s matchStore, user int64, conn library.ConnectionID, tracks []library.Track,
	ids []string) (searched []bool, err error) {
	keys := make([]string, len(tracks))
	for i, t := range tracks {
		keys[i] = trackKey(t)
	}
	known, err := s.Matches(ctx, user, conn, keys)
	searched = make([]bool, len(tracks))
	for i, key := range keys {
		m, ok := known[key]
		ids[i], searched[i] = m.Found.SourceID, ok
	}
	return searched, err
}
