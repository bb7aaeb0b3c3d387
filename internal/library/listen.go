package library

import (
	"strconv"
	"time"

	"reprise/internal/words"
)

// Listen is a track played at an instant.
type Listen struct {
	Track
	// SourceID identifies the listen at its provider, unlike Track.SourceID. Reading a listen again yields the same. It
	// has the second of the play and what its track is called there: plays that have the latter in common share it in
	// the database.
	SourceID    string
	PlayedAt    time.Time // UTC, to the millisecond
	Approximate bool      // PlayedAt is a guess
	// PlayCount is the number of plays of the track up to and including this one, from providers that tell only the
	// last play of each track; 0 from others.
	PlayCount int
	// Player is what it was played with; empty for unknown. Sources of stored listens have players, not the listens.
	Player string
}

// Source says where a stored listen came from.
type Source struct {
	Connection ConnectionID
	SourceID   string
	Later      time.Duration // how much later its time is than the listen's, to the millisecond
	Player     string        // what it was played with; empty for unknown
}

// StoredListen is a listen as it is kept: one per play, however many providers told of it.
type StoredListen struct {
	ID int64
	Listen
	Sources []Source
	Ruled   *Ruled // by rules, in exports only; nil for nothing
}

// ListenFilter selects the listens of a user that match all of its fields.
type ListenFilter struct {
	User     int64
	Artist   string // the name that services report, in upper or lower case; empty for all
	Source   ConnectionID
	Player   string    // that a source named, Source itself if there is one; empty for all
	Tag      string    // of the artist, the album or the track; empty for all
	From, To time.Time // from the first to before the second, in whole milliseconds of UTC; zero for no bound

	ArtistID, AlbumID, TrackID uint32 // 0 for all

	Hours    uint32 // a bit for each hour of the day; 0 for all
	Weekdays uint8  // a bit for each day from Monday on; 0 for all
	Zone     string // IANA name of the zone of Hours and Weekdays; empty for UTC, and without them
}

// Some reports whether the filter leaves anything out.
func (f ListenFilter) Some() bool { return f != ListenFilter{User: f.User} }

// Told reports whether a source is of the filter's connection and player.
func (f ListenFilter) Told(s Source) bool {
	return (f.Source == "" || s.Connection == f.Source) && (f.Player == "" || s.Player == f.Player)
}

// Timed reports whether the filter selects by time only, or selects everything.
func (f ListenFilter) Timed() bool {
	return f == ListenFilter{User: f.User, From: f.From, To: f.To}
}

// FromExport is the prefix of the SourceID of a listen from a provider's export file, where the file gives another time
// or another name than the provider's API. The kind of file follows, up to a colon.
const FromExport = "export/"

// ListenRecord is a listen as programs read it, in the JSON API and in the archive.
type ListenRecord struct {
	ID            string         `json:"id"`
	Track         string         `json:"track"`
	Artist        string         `json:"artist"`
	Album         string         `json:"album"`
	PlayedAt      string         `json:"played_at" format:"date-time"` // see Stamp
	DurationMS    *int64         `json:"duration_ms"`
	ISRC          *string        `json:"isrc"`
	RecordingMBID *string        `json:"recording_mbid"`
	Approximate   bool           `json:"approximate" doc:"played_at is a guess."`
	Sources       []SourceRecord `json:"sources"`
	Ruled         *RuledRecord   `json:"ruled,omitempty" doc:"Only in exports: what your rules did to it; left out for nothing."`
}

// OutageRecord is an Outage as programs read it.
type OutageRecord struct {
	Connection ConnectionID `json:"connection"`
	From       string       `json:"from" format:"date-time"`
	To         *string      `json:"to" format:"date-time" doc:"When it was read again; null if it still isn't."`
}

// SourceRecord is a Source as programs read it.
type SourceRecord struct {
	Provider   string       `json:"provider"`
	Connection ConnectionID `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	SourceID   string       `json:"source_id"`
	LaterMS    int64        `json:"later_ms,omitempty" doc:"How much later this source's time is than played_at; left out if it is not."` // see Source.Later
	Player     string       `json:"player,omitempty" doc:"What it was played with; left out if the source does not say."`
}

// Record returns the listen as programs read it.
func (l StoredListen) Record() ListenRecord {
	r := ListenRecord{
		ID:          strconv.FormatInt(l.ID, 10),
		Track:       l.Title,
		Artist:      l.Artist,
		Album:       l.Album,
		PlayedAt:    Stamp(l.PlayedAt),
		Approximate: l.Approximate,
		Sources:     []SourceRecord{},
		Ruled:       l.Ruled.Record(),
	}
	if ms := l.Duration.Milliseconds(); ms != 0 {
		r.DurationMS = &ms
	}
	r.ISRC, r.RecordingMBID = known(l.ISRC), known(l.RecordingMBID)
	for _, s := range l.Sources {
		r.Sources = append(r.Sources, SourceRecord{s.Connection.Provider(), s.Connection, s.SourceID,
			s.Later.Milliseconds(), s.Player})
	}
	return r
}

// Stored returns the listen of a record, without its ID. It returns false if the time cannot be read or a source names
// no connection. It does not clean the names; see Listen.Clean.
func (r ListenRecord) Stored() (l StoredListen, ok bool) {
	at, err := time.Parse(time.RFC3339, r.PlayedAt)
	if err != nil {
		return l, false
	}
	l.Title, l.Artist, l.Album, l.PlayedAt, l.Approximate = r.Track, r.Artist, r.Album, at.UTC(), r.Approximate
	if r.DurationMS != nil {
		l.Duration = time.Duration(*r.DurationMS) * time.Millisecond
	}
	if r.ISRC != nil {
		l.ISRC = *r.ISRC
	}
	if r.RecordingMBID != nil {
		l.RecordingMBID = *r.RecordingMBID
	}
	for _, s := range r.Sources {
		conn, ok := ParseConnectionID(string(s.Connection))
		if !ok {
			return l, false
		}
		l.Sources = append(l.Sources, Source{conn, s.SourceID, time.Duration(s.LaterMS) * time.Millisecond,
			Player(s.Player)})
	}
	l.Ruled = r.Ruled.stored()
	return l, true
}

// Intake is a page of listens on its way into the store, with the position that reading has reached after it.
type Intake struct {
	User       int64
	Connection ConnectionID
	// Generation is the connection's generation when the page was read. Nothing is stored if the connection has another
	// one by now; 0 stores in any case.
	Generation int64
	Listens    []Listen
	Position   string     // see StreamRecord
	Note       words.Text // see StreamRecord
	Gap        *Gap       // a gap that this page closes, or nil; the store counts its Recovered
	Looked     int64      // see Counted
}

// Playing is what is heard now.
type Playing struct {
	Track
	With string        // the device or program that it is played with; empty for unknown
	Left time.Duration // until it ends; 0 for unknown
}
