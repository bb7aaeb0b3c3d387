package library

import (
	"strings"
	"time"

	"reprise/internal/bounded"
)

// The bounds of what strangers tell of music. No title of a real piece comes near the limit in letters; the one in
// bytes is what the database can index.
const (
	maxLetters = 500
	maxBytes   = 1000
	maxID      = 300 // bytes of a provider's id
	maxCode    = 64  // bytes of an ISRC or a MusicBrainz id
	maxArtists = 50  // of a track
	// maxPictures is how many pictures of an entity are looked at.
	maxPictures = 50
	maxLength   = 7 * 24 * time.Hour
)

// MaxAhead is how far in the future a play may be dated: no clock that is only set wrong by a time zone is further off.
const MaxAhead = 24 * time.Hour

// earliest is before any play that was recorded; Last.fm began in 2002. Clocks that were never set show 1970 or 1980.
var earliest = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// Name returns a name that a stranger chose as it is kept and shown: one line of at most 500 letters and 1,000 bytes,
// with "…" at the end of one that was cut. A name that has been through this stays the same.
func Name(s string) string { return bounded.Cut(bounded.Line(s), maxLetters, maxBytes) }

// ID returns a provider's id as it is kept. One that no provider gives, of more than 300 bytes or with control
// characters, is replaced by one that stays the same for the same id.
func ID(s string) string {
	if len(s) <= maxID && bounded.Line(s) == s {
		return s
	}
	return "unusable-" + NameHash("", s)
}

// Clean bounds everything that a provider says about a track; see Name.
func (t *Track) Clean() {
	t.Title, t.Artist, t.Album = Name(t.Title), Name(t.Artist), Name(t.Album)
	t.Artists = credits(t.Artists)
	t.SourceID = ID(t.SourceID)
	t.ISRC, t.RecordingMBID = code(t.ISRC), code(t.RecordingMBID)
	if t.Duration < 0 || t.Duration > maxLength {
		t.Duration = 0
	}
}

// credits bounds a list of artists, and leaves out those without a name.
func credits(all []Credit) (kept []Credit) {
	for _, c := range all[:min(len(all), maxArtists)] {
		if c = (Credit{Name(c.Name), code(c.MBID)}); c.Name != "" {
			kept = append(kept, c)
		}
	}
	return kept
}

// The bounds of the name of a player.
const (
	maxPlayer      = 100
	maxPlayerBytes = 200
)

// Player returns the name of a player as it is kept: one line of at most 100 letters and 200 bytes; see Name.
func Player(s string) string {
	return strings.TrimSpace(bounded.Cut(bounded.Line(s), maxPlayer, maxPlayerBytes))
}

// PlayedWith returns the player that ListenBrainz names: the player itself, or else the program that submitted the
// listen. Reprise, and ListenBrainz' own importers, only carry on what something else has played.
func PlayedWith(player, client string) string {
	by := strings.ToLower(client)
	if player == "" && by != "reprise" && !strings.HasPrefix(by, "listenbrainz") {
		player = client
	}
	return Player(player)
}

// code returns an id with a known form, or nothing if it cannot have that form.
func code(s string) string {
	if len(s) > maxCode || bounded.Line(s) != s {
		return ""
	}
	return s
}

// Clean bounds everything that a provider says about a play, and reports whether it can have been played then: from the
// year 1990 to MaxAhead from now. Another play is not to be kept.
func (l *Listen) Clean(now time.Time) bool {
	l.Track.Clean()
	l.SourceID = ID(l.SourceID)
	l.PlayCount = max(l.PlayCount, 0)
	l.Player = Player(l.Player)
	return !l.PlayedAt.Before(earliest) && !l.PlayedAt.After(now.Add(MaxAhead))
}

// Clean bounds everything that a provider says about a playlist; see Name.
func (p *Playlist) Clean() {
	p.Name, p.SourceID, p.Snapshot = Name(p.Name), ID(p.SourceID), ID(p.Snapshot)
	p.TrackCount = max(p.TrackCount, 0)
}

// Clean bounds what a source says about an entity; see Name.
func (f *Facts) Clean() {
	f.Name, f.MBID, f.Released = Name(f.Name), code(f.MBID), code(f.Released)
	f.Tags = f.Tags[:min(len(f.Tags), MaxTags)]
	f.Pictures = f.Pictures[:min(len(f.Pictures), maxPictures)]
	for i := range f.Tags {
		f.Tags[i] = Name(f.Tags[i])
	}
}
