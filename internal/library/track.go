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
	Artist        string // all of them, as the provider joins them
	Album         string
	Duration      time.Duration // 0 when unknown
	ISRC          string
	RecordingMBID string
	SourceID      string // the provider's id of the track; may be empty
}

// NameHash stands in for the id of a track that has none; it is the same in every release of this program.
func NameHash(artist, title string) string {
	h := fnv.New128a()
	h.Write(binary.AppendUvarint(nil, uint64(len(artist))))
	h.Write([]byte(artist))
	h.Write([]byte(title))
	return hex.EncodeToString(h.Sum(nil))
}
