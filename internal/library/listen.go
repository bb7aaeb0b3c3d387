package library

import (
	"strconv"
	"time"
)

// Listen is a track played at an instant.
type Listen struct {
	Track
	// SourceID names the play, not the track: the same play read twice has the same one.
	SourceID    string
	PlayedAt    time.Time // millisecond precision, UTC
	Approximate bool      // PlayedAt is a guess
	// PlayCount is how often the track had been played after this play, where a provider knows only the last play of
	// each track and its number; 0 elsewhere.
	PlayCount int
}

// Source is where a stored listen came from.
type Source struct {
	Provider string
	SourceID string
}

// StoredListen is a listen as it is kept: one play, however many services told of it.
type StoredListen struct {
	ID int64
	Listen
	Sources []Source
}

// FromExport begins the SourceID of a play that a file of the provider's own export tells of in other words than its
// interface does: with another time, or another name of the track. What follows, up to a colon, names the kind of file.
const FromExport = "export/"

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

// Intake is a page of plays on its way into the store, with the reading position that it leads to.
type Intake struct {
	User     int64
	Provider string
	// Generation is that of the credential which the page was read with. Nothing is stored when the connection has moved
	// on to another one; 0 is not checked.
	Generation int64
	Listens    []Listen
	Reading    string // see StreamRecord
	Note       string
	Gap        *Gap // that has come to its end with this page; Recovered is counted by whoever stores it
}
