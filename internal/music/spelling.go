package music

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"reprise/internal/library"
)

// Spelling is a track with the names and facts that a service told of it. Every listen has one. It is never changed;
// which artist, album and track it means may be.
type Spelling struct {
	library.Track          // without SourceID and Gone
	ID               int64 // 0 before it is stored
	Hash             int64
	AlbumID, TrackID int64 // ids of what it means, 0 for none
}

// SpellingOf returns the spelling of a track, as it is stored.
func SpellingOf(t library.Track) Spelling {
	t.Artist, t.Album = Indexed(t.Artist), Indexed(t.Album)
	v := Spelling{Track: library.Track{Title: t.Title, Artist: t.Artist, Album: t.Album, Duration: t.Duration,
		ISRC: t.ISRC, RecordingMBID: t.RecordingMBID, Artists: t.Artists}}
	v.Hash = v.sum()
	return v
}

// sum returns the hash of the spelling. Equal hashes mean equal spellings: nobody can make up names that have the hash
// of somebody else's.
func (v *Spelling) sum() int64 {
	var room [512]byte
	b := binary.AppendVarint(room[:0], v.Duration.Milliseconds())
	for _, text := range []string{v.Title, v.Artist, v.Album, v.ISRC, v.RecordingMBID} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	h := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(h[:]))
}

// Seen returns the key of the spelling in the cache: another one with a list of its artists.
func (v *Spelling) Seen() int64 {
	if !Lists(v.Track) {
		return v.Hash
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(v.Hash)))
	return int64(h.Sum64())
}

// With returns the spelling completed with the facts of t that it lacks.
func (v *Spelling) With(t library.Track) Spelling {
	all := v.Track
	if all.Duration == 0 {
		all.Duration = t.Duration
	}
	if all.ISRC == "" {
		all.ISRC = t.ISRC
	}
	if all.RecordingMBID == "" {
		all.RecordingMBID = t.RecordingMBID
	}
	all.Artists = t.Artists
	return SpellingOf(all)
}

// FoldKey returns the same key for names that differ in upper and lower case at most.
func FoldKey(name string) int64 {
	h := fnv.New64a()
	for _, r := range norm.NFC.String(name) {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		_, _ = h.Write(binary.AppendVarint(nil, int64(least)))
	}
	return int64(h.Sum64())
}

// ArtistNamed returns the key of the artists' names that somebody means by name.
func ArtistNamed(name string) int64 { return FoldKey(Indexed(strings.TrimSpace(name))) }
