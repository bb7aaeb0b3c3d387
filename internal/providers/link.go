package providers

import (
	"cmp"
	"net/url"
	"strings"

	"reprise/internal/library"
)

// Link is what the address of a page of a provider says of the music on it.
type Link struct {
	Kind  string        // library.KindTrack, KindAlbum or KindArtist; empty for another page
	ID    string        // the provider's, which is the SourceID of a track; may be empty
	MBID  string        // MusicBrainz' id; may be empty
	Track library.Track // the names in the address
}

// musicBrainzKinds are the kinds that are called otherwise in MusicBrainz' addresses.
var musicBrainzKinds = map[string]string{"recording": library.KindTrack, "release-group": library.KindAlbum}

// ReadLink reads the address of a page of the provider. ok is false for other addresses.
func (d *Description) ReadLink(address string) (l Link, ok bool) {
	for _, scheme := range []string{"https://", "http://", "www."} {
		address = strings.TrimPrefix(address, scheme)
	}
	for _, page := range d.Links {
		m := page.FindStringSubmatch(address)
		if m == nil {
			continue
		}
		part := func(name string) string {
			if i := page.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		l = Link{ID: part("id"), MBID: strings.ToLower(part("mbid")), Kind: part("kind"), Track: library.Track{
			Title: linkName(part("title")), Artist: linkName(part("artist")), Album: linkName(part("album"))}}
		l.Kind = cmp.Or(musicBrainzKinds[l.Kind], l.Kind)
		switch {
		case l.Kind != "":
		case l.ID != "" || l.Track.Title != "":
			l.Kind = library.KindTrack
		case l.Track.Album != "":
			l.Kind = library.KindAlbum
		case l.Track.Artist != "":
			l.Kind = library.KindArtist
		}
		return l, true
	}
	return Link{}, false
}

// linkName returns the name in a part of a path, in which a plus is a space. A plus and a slash of a name are escaped
// twice.
func linkName(part string) string {
	name, err := url.QueryUnescape(part)
	if err != nil {
		name = part
	}
	if twice, err := url.PathUnescape(name); err == nil {
		name = twice
	}
	return library.Name(strings.ToValidUTF8(name, ""))
}
