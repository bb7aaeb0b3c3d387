// Package match finds the track of a service's catalogue that is the same recording as a track of ours.
//
// It is pure: it makes no calls, keeps no state, and gives the same answer in both directions.
package match

import (
	"math"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
)

// How is what a track was matched by.
type How string

// The ways to match a track, the surest first.
const (
	ByISRC    How = "isrc"   // both have the same ISRC
	ByMBID    How = "mbid"   // both have the same MusicBrainz recording id
	ByName    How = "name"   // the same title and artists, whatever the spelling, and no length that contradicts
	ByScore   How = "score"  // similar enough, and no other candidate is
	ByChoice  How = "choice" // a person has said so; never from Choose
	BySource  How = "source" // it is a track of that service; never from Choose
	ByNothing How = ""       // not matched
)

// Result is the match of one track.
type Result struct {
	Track library.Track
	Found library.Track // the candidate that is Track; zero with ByNothing
	How   How
	Score float64 // 0 to 1: how sure it is; 1 for all but ByScore, 0 with ByNothing
}

// The weights of the parts of a pair's score. The title weighs most. The artists have been compared before, the length
// separates versions of a song, and the album weighs little, because a recording is on many.
const (
	titleWeight  = 0.50
	artistWeight = 0.30
	lengthWeight = 0.15
	albumWeight  = 0.05
)

const (
	// scoreFloor is the score from which a pair counts as the same track, chosen by the table in match_test.go:
	// titles of one artist that differ in a word are below, the same title with a typing error is above.
	scoreFloor = 0.85
	// scoreMargin is how much better the best candidate must be than every clearly different one. It is less than
	// albumWeight, so that the album can decide.
	scoreMargin = 0.04
	// versionCost is subtracted when only one side says "live" or "radio edit" at the same length. Such a pair passes
	// scoreFloor only on the same album.
	versionCost = 0.13
	// unknownPart is the similarity of a length or an album that one side does not have.
	unknownPart = 0.5
)

// The differences of lengths: services measure one recording up to three seconds apart, and fade-outs and gaps make up
// to ten seconds, or three percent of a long recording.
const (
	sameLength  = 3 * time.Second
	likeLength  = 10 * time.Second
	likePercent = 3
)

// Choose returns the candidate that is t: the one with its ISRC or MusicBrainz id, else the one with its title and
// artists, else the one that is clearly the most similar, else none. A length or an album that one side does not tell
// is no disagreement. It never guesses: if two clearly different recordings are about equally similar to t, it returns
// none. Among equals it prefers the same length, the same album, then the first.
func Choose(t library.Track, candidates []library.Track) Result {
	want := recordingOf(t)
	for _, by := range []struct {
		how How
		of  func(library.Track) string
	}{{ByISRC, isrcOf}, {ByMBID, mbidOf}} {
		if i := withID(want, by.of, candidates); i >= 0 {
			return Result{Track: t, Found: candidates[i], How: by.how, Score: 1}
		}
	}
	if i, score := withName(want, candidates); score == 1 {
		return Result{Track: t, Found: candidates[i], How: ByName, Score: 1}
	} else if i >= 0 {
		return Result{Track: t, Found: candidates[i], How: ByScore, Score: score}
	}
	return Result{Track: t}
}

// withID returns the index of the candidate with the same identifier, or -1. An identifier does not count when the
// titles contradict it: files are tagged wrongly, and identifiers are assigned twice.
func withID(want *recording, of func(library.Track) string, candidates []library.Track) int {
	best, bestRank := -1, -1.0
	id := of(want.Track)
	if id == "" {
		return best
	}
	for i, c := range candidates {
		if of(c) != id {
			continue
		}
		got := recordingOf(c)
		if !believable(want, got) {
			continue
		}
		rank := likeness(want, got)
		if want.album().same(got.album()) {
			rank++
		}
		if rank > bestRank {
			best, bestRank = i, rank
		}
	}
	return best
}

// withName returns the index of the candidate whose names and length are the most similar to want's, and the score: 1
// if only the spelling differs. The index is -1 if none is similar enough, or if it would be a guess.
func withName(want *recording, candidates []library.Track) (i int, score float64) {
	type hit struct {
		*recording
		i     int
		exact bool
		score float64
	}
	var hits []hit
	for i, c := range candidates {
		got := recordingOf(c)
		if s := likeness(want, got); s >= scoreFloor {
			hits = append(hits, hit{got, i, sameNames(want, got), s})
		}
	}
	if len(hits) == 0 {
		return -1, 0
	}
	top := slices.MaxFunc(hits, func(a, b hit) int { // the first of several
		if a.exact != b.exact {
			if a.exact {
				return 1
			}
			return -1
		}
		return cmpScore(a.score, b.score)
	})
	for _, h := range hits {
		if h.exact == top.exact && h.score > top.score-scoreMargin && clearlyDiffer(h.recording, top.recording) {
			return -1, 0
		}
	}
	if top.exact {
		return top.i, 1
	}
	return top.i, min(top.score, 0.99) // 1 is for matches that need no second look
}

// cmpScore compares scores. Scores that differ by less than a rounding error are equal.
func cmpScore(a, b float64) int {
	switch d := a - b; {
	case math.Abs(d) < 1e-9:
		return 0
	case d < 0:
		return -1
	}
	return 1
}

// sameNames reports whether title and artists agree and the lengths, as far as they are known, do not contradict.
func sameNames(a, b *recording) bool {
	if a.title.plain == "" || a.title.plain != b.title.plain || a.artists().like(b.artists()) < 1 {
		return false
	}
	va, vb := versions(a, b)
	_, near := likeLengths(a, b)
	return va == vb && near
}

// likeness returns the score of a pair, 0 to 1, the same in both directions. It is 0 for different artists, versions or
// lengths.
func likeness(a, b *recording) float64 {
	length, ok := likeLengths(a, b)
	if !ok {
		return 0
	}
	title := strictly(a.title.like(&b.title), 2)
	if title*titleWeight+artistWeight+lengthWeight+albumWeight < scoreFloor {
		return 0 // the rest cannot make up for it
	}
	artist := a.artists().like(b.artists())
	if artist == 0 {
		return 0
	}
	cost, ok := likeVersions(a, b)
	if !ok {
		return 0
	}
	if a.title.common() && b.title.common() && !SameLength(a.Track, b.Track) && a.album().differs(b.album()) {
		return 0
	}
	album := a.album().like(b.album())
	return title*titleWeight + artist*artistWeight + length*lengthWeight + album*albumWeight - cost
}

// strictly multiplies the dissimilarity by a factor: one wrong letter of ten is more than a tenth of a reason to doubt.
func strictly(like, by float64) float64 { return max(0, 1-by*(1-like)) }

// lengths returns the difference of the lengths; known is false if a side has none.
func lengths(a, b *recording) (apart time.Duration, known bool) {
	return (a.Duration - b.Duration).Abs(), a.Duration > 0 && b.Duration > 0
}

// likeLengths returns 1 for the same length, down to 0.4 at the largest difference; ok is false beyond.
func likeLengths(a, b *recording) (like float64, ok bool) {
	apart, known := lengths(a, b)
	most := max(likeLength, max(a.Duration, b.Duration)/100*likePercent)
	switch {
	case !known:
		return unknownPart, true
	case apart <= sameLength:
		return 1, true
	case apart > most:
		return 0, false
	}
	return 1 - 0.6*float64(apart-sameLength)/float64(most-sameLength), true
}

// likeVersions reports whether a and b can be the same version, and what to subtract from the score. Only one side
// may call a live recording or a radio edit so; then the lengths must be the same. Other versions, like an
// instrumental or a remix, often have the length of the plain one and are different recordings.
func likeVersions(a, b *recording) (cost float64, ok bool) {
	va, vb := versions(a, b)
	if va == vb {
		return 0, true
	}
	apart, known := lengths(a, b)
	oneSided := va&^vb == 0 || vb&^va == 0
	return versionCost, oneSided && (va^vb)&^(live|edited) == 0 && known && apart <= sameLength
}

// versions returns the versions of a and b by their titles, artists and albums. Titles of the same words have the same
// version, wherever the brackets are.
func versions(a, b *recording) (version, version) {
	va, vb := a.title.version, b.title.version
	if a.title.plain == b.title.plain {
		va, vb = va|vb, va|vb
	}
	return va | a.artists().version | a.album().version&toldByAlbum,
		vb | b.artists().version | b.album().version&toldByAlbum
}

// clearlyDiffer reports whether a and b, both similar to the wanted track, cannot be one recording.
func clearlyDiffer(a, b *recording) bool {
	va, vb := versions(a, b)
	_, near := likeLengths(a, b)
	return va != vb || !near || a.title.plain != b.title.plain
}

// believable reports whether the names of a and b, which have an identifier in common, allow that they are the same:
// half of one title must be in the other. Names in different scripts do not contradict each other.
func believable(a, b *recording) bool {
	if a.title.plain == "" || b.title.plain == "" {
		return true
	}
	if latin(a.title.plain) != latin(b.title.plain) {
		return latin(a.Artist) != latin(b.Artist) || a.artists().like(b.artists()) > 0
	}
	return a.title.like(&b.title) >= 0.5 || sharedPart(a.title.name, b.title.name) >= 0.5
}

// isrcOf returns the track's ISRC without hyphens, in capitals; empty if it is not valid.
func isrcOf(t library.Track) string {
	id := t.ISRC
	if len(id) != 12 || strings.ContainsAny(id, "- ") {
		id = strings.NewReplacer("-", "", " ", "").Replace(id)
	}
	id = strings.ToUpper(id)
	if len(id) != 12 || strings.Trim(id[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" ||
		strings.Trim(id[5:], "0123456789") != "" {
		return ""
	}
	return id
}

// mbidOf returns the track's MusicBrainz id in lower case; empty if it is not valid.
func mbidOf(t library.Track) string {
	id := strings.ToLower(strings.TrimSpace(t.RecordingMBID))
	if len(id) != 36 || strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

// Sure returns the candidate that is t by its id or its full name, without a score.
func Sure(t library.Track, candidates []library.Track) (library.Track, bool) {
	m := Choose(t, candidates)
	return m.Found, m.How != ByNothing && m.How != ByScore
}
