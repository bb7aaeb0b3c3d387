package library

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"time"
)

// Track is a recording as a provider names it.
type Track struct {
	Title         string
	Artist        string // all artists, as the provider joins their names
	Album         string
	Duration      time.Duration // 0 when unknown
	ISRC          string        // may be empty
	RecordingMBID string        // may be empty
	SourceID      string        // the provider's id of the track; may be empty
	// Gone says that a playlist has a place for it whose video is gone, and why: VideoPrivate or VideoDeleted. Such a
	// track has no names of its own, but those under which it was known. Gone is not stored.
	Gone string
	// Artists are the artists one by one, the first one first, where the provider lists them; nil where it does not.
	// They are not read back.
	Artists []Credit
}

// Credit is one of the artists of a track.
type Credit struct {
	Name string
	MBID string // may be empty
}

// Listed returns a list of artists that somebody has found for a track by the text with their names; nil if one of
// them is not in that text, because it is about another track then.
func Listed(text string, found []Credit) []Credit {
	lower := strings.ToLower(text)
	if len(found) == 0 {
		return nil
	}
	for _, c := range found {
		if c.Name == "" || !strings.Contains(lower, strings.ToLower(c.Name)) {
			return nil
		}
	}
	return found
}

// Credited returns the text for a list of artists' names, and the artists one by one.
func Credited(names []string) (text string, all []Credit) {
	for _, name := range names {
		if name != "" {
			all = append(all, Credit{Name: name})
			text += ", " + name
		}
	}
	return strings.TrimPrefix(text, ", "), all
}

// NameHash returns an id for a track whose provider gives it none. It is stored, so it never changes between releases.
func NameHash(artist, title string) string {
	h := fnv.New128a()
	h.Write(binary.AppendUvarint(nil, uint64(len(artist))))
	h.Write([]byte(artist))
	h.Write([]byte(title))
	return hex.EncodeToString(h.Sum(nil))
}
