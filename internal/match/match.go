// Package match tells which track of a service's catalogue is the same recording as a track of ours. It is pure: no
// calls, no state, and the same answer in both directions.
package match

import (
	"math"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
)

// How says by what a track was recognised.
type How string

// The ways to recognise a track, the surest first.
const (
	ByISRC    How = "isrc"  // both carry the same ISRC
	ByMBID    How = "mbid"  // both carry the same MusicBrainz recording id
	ByName    How = "name"  // the same title, artists and length, whatever the spelling
	ByScore   How = "score" // alike enough, and nothing else is
	ByNothing How = ""      // not recognised
)

// Result is what was chosen for one track.
type Result struct {
	Track library.Track
	Found library.Track // the candidate that is Track; zero with ByNothing
	How   How
	Score float64 // 0 to 1: how sure it is; 1 for all but ByScore, 0 with ByNothing
}

// What each part weighs in the score of a pair. The title tells most; the artists have passed a gate of their own by
// then; a length tells versions of a song from each other; the album is worth little, because one recording stands on
// many. The same title and artists alone, 0.80, are not enough.
const (
	titleWeight  = 0.50
	artistWeight = 0.30
	lengthWeight = 0.15
	albumWeight  = 0.05
)

const (
	// scoreFloor is the score from which a pair counts as the same track. The table in match_test.go chose it: below
	// lie the titles of one artist that differ in a word, above the same title with a typing error in it.
	scoreFloor = 0.85
	// scoreMargin is how much better than every clearly different candidate the best one has to be. It is less than
	// what the album weighs, so that the album can decide.
	scoreMargin = 0.04
	// versionCost is taken off when only one side says "live" or "radio edit" of the same length. With it a pair gets
	// over the floor on the same album only.
	versionCost = 0.13
	// unknownPart is what a length or an album is worth that one side does not tell.
	unknownPart = 0.5
)

// How far lengths may lie apart: services measure one recording with up to three seconds of difference, and fade-outs
// and gaps make up to ten, or three percent of something long.
const (
	sameLength  = 3 * time.Second
	likeLength  = 10 * time.Second
	likePercent = 3
)

// Choose says which of the candidates is t: the one with its ISRC or MusicBrainz id, else the one with its title,
// artists and length, else the one that is clearly most like it, else none. It never guesses: where two clearly
// different recordings are about equally like t, it is none. Among equals it is the one on the same album, then the
// first.
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

// withID is the index of the candidate with the same identifier, or -1. An identifier is not believed when the titles
// contradict it: files are tagged wrongly, and numbers are assigned twice.
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

// withName is the index of the candidate that is most like want by its names and its length, and the score: 1 when
// nothing but the spelling differs. It is -1 when none is like enough, or when it would be a guess.
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
	return top.i, min(top.score, 0.99) // 1 stands for what needs no second look
}

// cmpScore orders scores; what differs by less than a rounding error is equal.
func cmpScore(a, b float64) int {
	switch d := a - b; {
	case math.Abs(d) < 1e-9:
		return 0
	case d < 0:
		return -1
	}
	return 1
}

// sameNames says whether title, artists and length agree. Where a length is unknown, the album has to agree instead.
func sameNames(a, b *recording) bool {
	if a.title.plain == "" || a.title.plain != b.title.plain || a.artists().like(b.artists()) < 1 {
		return false
	}
	if va, vb := versions(a, b); va != vb {
		return false
	}
	if apart, known := lengths(a, b); known {
		return apart <= sameLength
	}
	return a.album().name == b.album().name
}

// likeness is the score of a pair, 0 to 1, the same in both directions. It is 0 for what can not be the same track: by
// somebody else, in another version, of another length.
func likeness(a, b *recording) float64 {
	length, ok := likeLengths(a, b)
	if !ok {
		return 0
	}
	title := strictly(a.title.like(&b.title), 2)
	if title*titleWeight+artistWeight+lengthWeight+albumWeight < scoreFloor {
		return 0 // whatever the rest says
	}
	artist := a.artists().like(b.artists())
	if artist == 0 {
		return 0
	}
	cost, ok := likeVersions(a, b)
	if !ok {
		return 0
	}
	album := a.album().like(b.album())
	return title*titleWeight + artist*artistWeight + length*lengthWeight + album*albumWeight - cost
}

// strictly makes what is missing to a full likeness count that many times: one letter of ten is more than a tenth of a
// reason to doubt.
func strictly(like, by float64) float64 { return max(0, 1-by*(1-like)) }

// lengths is how far apart the lengths are; known is false when a side does not tell its own.
func lengths(a, b *recording) (apart time.Duration, known bool) {
	return (a.Duration - b.Duration).Abs(), a.Duration > 0 && b.Duration > 0
}

// likeLengths is 1 for the same length and falls to 0.4 at the most that may lie between; ok is false beyond.
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

// likeVersions says whether a and b can be the same version, and what that costs. A live recording may be called so on
// one side only, and a radio edit too; then the same length has to speak for it. All others, like an instrumental or a
// remix, often have the length of the plain one and are something else.
func likeVersions(a, b *recording) (cost float64, ok bool) {
	va, vb := versions(a, b)
	if va == vb {
		return 0, true
	}
	apart, known := lengths(a, b)
	oneSided := va&^vb == 0 || vb&^va == 0
	return versionCost, oneSided && (va^vb)&^(live|edited) == 0 && known && apart <= sameLength
}

// versions is what a and b say of their version, in title, artist and album. Titles of the same words say the same,
// wherever the brackets stand.
func versions(a, b *recording) (version, version) {
	va, vb := a.title.version, b.title.version
	if a.title.plain == b.title.plain {
		va, vb = va|vb, va|vb
	}
	return va | a.artists().version | a.album().version&toldByAlbum,
		vb | b.artists().version | b.album().version&toldByAlbum
}

// clearlyDiffer says whether a and b, both like the wanted track, can not be one recording.
func clearlyDiffer(a, b *recording) bool {
	va, vb := versions(a, b)
	_, near := likeLengths(a, b)
	return va != vb || !near || a.title.plain != b.title.plain
}

// believable says whether the names allow that a and b, which have an identifier in common, are the same: half of one
// title has to be in the other. Names in different scripts can not contradict each other.
func believable(a, b *recording) bool {
	if a.title.plain == "" || b.title.plain == "" {
		return true
	}
	if latin(a.title.plain) != latin(b.title.plain) {
		return latin(a.Artist) != latin(b.Artist) || a.artists().like(b.artists()) > 0
	}
	return a.title.like(&b.title) >= 0.5 || sharedPart(a.title.name, b.title.name) >= 0.5
}

// isrcOf is the track's ISRC without hyphens, in capitals; empty when what stands there is none.
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

// mbidOf is the track's MusicBrainz id in small letters; empty when what stands there is none.
func mbidOf(t library.Track) string {
	id := strings.ToLower(strings.TrimSpace(t.RecordingMBID))
	if len(id) != 36 || strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

// Sure says which of the candidates is t, if that needs no judgement: an id or the full name agrees.
func Sure(t library.Track, candidates []library.Track) (library.Track, bool) {
	m := Choose(t, candidates)
	return m.Found, m.How != ByNothing && m.How != ByScore
}
