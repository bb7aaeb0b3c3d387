package library

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
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
	// track has no names of its own, and is not stored.
	Gone string
}

// NameHash returns an id for a track whose provider gives it none. It is stored, so it never changes between releases.
func NameHash(artist, title string) string {
	h := fnv.New128a()
	h.Write(binary.AppendUvarint(nil, uint64(len(artist))))
	h.Write([]byte(artist))
	h.Write([]byte(title))
	return hex.EncodeToString(h.Sum(nil))
}
