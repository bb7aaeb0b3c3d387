// Package music decides which spelling is which artist, album and track, what the rules of administrators make of it,
// and which reports are of one play. Its functions are pure: what is stored is given to them.
package music

import (
	"reprise/internal/library"
)

// Keyed is an entity with its key.
type Keyed struct {
	library.Entity
	ID, Key int64
	Learned bool   // it has facts that are not stored yet
	Into    *Keyed // the same entity, which takes its place; nil for none
}

// End returns the entity that has taken the place of e; e itself if none has.
func (e *Keyed) End() *Keyed {
	for e.Into != nil {
		e = e.Into
	}
	return e
}

// EntityKey finds an entity: its kind, and the hash of its normal name.
type EntityKey struct {
	Kind string
	Key  int64
}

// Named returns the key of the entity.
func (e *Keyed) Named() EntityKey { return EntityKey{e.Kind, e.Key} }

// Untitled is the kind of an entity that holds the plays of an artist without a title. It has no page.
const Untitled = "untitled"

// EntitiesOf returns the artists, the album and the track of a listen. See CreditsOf for alone.
func EntitiesOf(t library.Track, alone func(name string) bool) (all []*Keyed) {
	credits := CreditsOf(t, alone)
	for _, c := range credits {
		all = append(all, &Keyed{Key: ArtistKey(c.Name),
			Entity: library.Entity{Kind: library.KindArtist, Artist: c.Name, MBID: c.MBID}})
	}
	lead := t.Artist
	if len(credits) > 0 {
		lead = credits[0].Name
	}
	if lead == "" {
		return nil
	}
	if t.Album != "" {
		all = append(all, &Keyed{Key: MatchKey(t.Album, t.Artist),
			Entity: library.Entity{Kind: library.KindAlbum, Artist: lead, Title: t.Album}})
	}
	if t.Title == "" {
		return append(all, &Keyed{Key: ArtistKey(t.Artist), Entity: library.Entity{Kind: Untitled, Artist: lead}})
	}
	return append(all, &Keyed{Key: MatchKey(t.Title, t.Artist), Entity: library.Entity{Kind: library.KindTrack,
		Artist: lead, Title: t.Title, Album: t.Album, Duration: t.Duration, ISRC: t.ISRC, MBID: t.RecordingMBID}})
}

// learn copies the facts that e lacks from o.
func (e *Keyed) learn(o library.Entity) {
	if e.Kind == library.KindArtist && len(o.MBID) != MbidLength {
		return
	}
	take := func(to *string, s string) {
		if *to == "" && s != "" {
			*to, e.Learned = s, true
		}
	}
	take(&e.Album, o.Album)
	take(&e.ISRC, o.ISRC)
	take(&e.MBID, o.MBID)
	if e.Duration == 0 && o.Duration > 0 {
		e.Duration, e.Learned = o.Duration, true
	}
}
