package match

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
)

// mostPossible is how many candidates Possible returns: as many as a person reads before choosing.
const mostPossible = 10

// A candidate is offered to a person if its title is this similar, and its artists are related. It is less than the
// floor of Choose: the person decides.
const (
	possibleTitle  = 0.80
	possibleArtist = 0.50 // share of letters in common
)

// Possible returns the candidates that a person may recognise as t, the most likely first, at most 10: those with a
// similar title by related artists, whatever their version, length and album.
func Possible(t library.Track, candidates []library.Track) []library.Track {
	return Nearest(t, candidates, mostPossible)
}

// Nearest returns the first n of what Possible chooses from.
func Nearest(t library.Track, candidates []library.Track, n int) []library.Track {
	type offer struct {
		track library.Track
		rank  float64
	}
	var offers []offer
	want := recordingOf(t)
	for _, c := range candidates {
		got := recordingOf(c)
		title := max(want.title.like(&got.title), likeWords(want.title.main, got.title.main))
		if begins(want.title.name, got.title.name) || begins(got.title.name, want.title.name) {
			title = max(title, extraWords)
		}
		if want.title.plain == "" || got.title.plain == "" || title < possibleTitle || !related(want, got) {
			continue
		}
		rank := title*titleWeight + want.artists().like(got.artists())*artistWeight +
			want.album().like(got.album())*albumWeight
		if length, ok := likeLengths(want, got); ok {
			rank += length * lengthWeight
		}
		if va, vb := versions(want, got); va != vb {
			rank -= versionCost
		}
		offers = append(offers, offer{c, rank})
	}
	slices.SortStableFunc(offers, func(a, b offer) int { return cmpScore(b.rank, a.rank) })
	var tracks []library.Track
	for _, o := range offers[:min(len(offers), n)] {
		tracks = append(tracks, o.track)
	}
	return tracks
}

// begins reports whether a long title goes on where a shorter one ends: with a part, or after three words or more.
func begins(short, long []string) bool {
	n := len(short)
	return n > 0 && n < len(long) && slices.Equal(short, long[:n]) &&
		(n > 2 || long[n] == "part" || long[n] == "volume" || countsIn(long[n:n+1]))
}

// related reports whether the artists of a and b may be the same ones: similar, with half of a name in common, written
// in different scripts, or not told.
func related(a, b *recording) bool {
	x, y := a.artists(), b.artists()
	return x.plain == "" || y.plain == "" || x.like(y) > 0 || latin(x.plain) != latin(y.plain) ||
		sharedPart(x.words, y.words) >= possibleArtist
}

// Key returns a key that all spellings of a song by the same artists have in common, in 32 letters. Other versions of
// the song have other keys; lengths and albums do not matter.
func Key(t library.Track) string {
	r := recordingOf(t)
	names := slices.Clone(r.artists().names)
	slices.Sort(names)
	sum := sha256.Sum256([]byte(r.title.plain + "\n" + strings.Join(names, "\n") + "\n" +
		strconv.Itoa(int(r.title.version|r.artists().version))))
	return hex.EncodeToString(sum[:16])
}

// SameLength reports whether the lengths of a and b are known and the same.
func SameLength(a, b library.Track) bool {
	apart := (a.Duration - b.Duration).Abs()
	return a.Duration > 0 && b.Duration > 0 && apart <= sameLength
}

// NearLength reports whether the lengths of a and b, as far as they are known, can be those of one recording.
func NearLength(a, b library.Track) bool {
	_, near := likeLengths(&recording{Track: a}, &recording{Track: b})
	return near
}

// SameAlbum reports whether two names are those of one album, whatever the edition.
func SameAlbum(a, b string) bool { return readAlbum(a).same(readAlbum(b)) }
