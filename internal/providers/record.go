package providers

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strconv"
	"time"
)

// ListenRecord is a listen as others read it: in the JSON API and in the archive.
type ListenRecord struct {
	ID            string         `json:"id"`
	Track         string         `json:"track"`
	Artist        string         `json:"artist"`
	Album         string         `json:"album"`
	PlayedAt      string         `json:"played_at"` // RFC 3339 in UTC, with milliseconds
	DurationMS    *int64         `json:"duration_ms"`
	ISRC          *string        `json:"isrc"`
	RecordingMBID *string        `json:"recording_mbid"`
	Approximate   bool           `json:"approximate"`
	Sources       []SourceRecord `json:"sources"`
}

// SourceRecord is where a listen came from, as others read it.
type SourceRecord struct {
	Provider string `json:"provider"`
	SourceID string `json:"source_id"`
}

// Record returns the listen as others read it.
func (l StoredListen) Record() ListenRecord {
	r := ListenRecord{ID: strconv.FormatInt(l.ID, 10), Track: l.Title, Artist: l.Artist, Album: l.Album, PlayedAt: Stamp(l.PlayedAt),
		Approximate: l.Approximate, Sources: []SourceRecord{}}
	if ms := l.Duration.Milliseconds(); ms != 0 {
		r.DurationMS = &ms
	}
	if l.ISRC != "" {
		r.ISRC = &l.ISRC
	}
	if l.RecordingMBID != "" {
		r.RecordingMBID = &l.RecordingMBID
	}
	for _, s := range l.Sources {
		r.Sources = append(r.Sources, SourceRecord(s))
	}
	return r
}

// NameHash stands in for the id of a track that has none; it is the same in every release of this program.
func NameHash(artist, title string) string {
	h := fnv.New128a()
	h.Write(binary.AppendUvarint(nil, uint64(len(artist))))
	h.Write([]byte(artist))
	h.Write([]byte(title))
	return hex.EncodeToString(h.Sum(nil))
}

// Stamp writes a time as all interfaces do.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
