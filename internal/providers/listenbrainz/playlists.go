package listenbrainz

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

const (
	playlistsRoute  = "/1/user/{name}/playlists"
	createdForRoute = "/1/user/{name}/playlists/createdfor"
	playlistRoute   = "/1/playlist/{mbid}"

	playlistsPerPage = 100 // the most that ListenBrainz returns
)

// jspf is a playlist in the JSON form of XSPF, with MusicBrainz' extensions. A listing leaves the tracks out.
type jspf struct {
	Playlist struct {
		Identifier string      `json:"identifier"` // a URL that ends in the MBID
		Title      string      `json:"title"`
		Annotation string      `json:"annotation"`
		TrackCount int         `json:"track_count"` // not from every server
		Tracks     []jspfTrack `json:"track"`
		Extension  struct {
			Playlist struct {
				access
				ModifiedAt string          `json:"last_modified_at"`
				TrackCount int             `json:"track_count"`
				Metadata   json.RawMessage `json:"additional_metadata"`
			} `json:"https://musicbrainz.org/doc/jspf#playlist"`
		} `json:"extension"`
	} `json:"playlist"`
}

type jspfTrack struct {
	Identifier text   `json:"identifier"` // one URL or a list of them; the first ends in the MBID
	Title      string `json:"title"`
	Creator    string `json:"creator"`
	Album      string `json:"album"`
	DurationMS number `json:"duration"`
}

// mbid returns the last part of an identifier.
func mbid(identifier string) string {
	identifier = strings.TrimRight(identifier, "/")
	return identifier[strings.LastIndexByte(identifier, '/')+1:]
}

// dated matches the date with which ListenBrainz ends the names of playlists that it makes each day or week, and
// periodic their kinds. Those of a year are other playlists each year.
var (
	dated    = regexp.MustCompile(`, (week of )?\d{4}-\d\d-\d\d.*$`)
	periodic = regexp.MustCompile(`^(daily|weekly)-[a-z-]{1,40}$`)
)

// kind returns the kind of a playlist that ListenBrainz makes each day or week, such as "weekly-jams"; empty for
// others.
func (l *jspf) kind() string {
	var m struct {
		Algorithm struct {
			Kind string `json:"source_patch"`
		} `json:"algorithm_metadata"`
	}
	if json.Unmarshal(l.Playlist.Extension.Playlist.Metadata, &m) != nil { // it is free-form
		return ""
	}
	return periodic.FindString(m.Algorithm.Kind)
}

// plain returns a playlist of a listing. One that is made for the user each week has another MBID each time, so its
// kind takes the place of that: then it is one playlist that changes, and its MBID is in its Snapshot.
func (l *jspf) plain(made bool) library.Playlist {
	p := &l.Playlist
	v := library.Playlist{SourceID: mbid(p.Identifier), Name: p.Title, Snapshot: p.Extension.Playlist.ModifiedAt,
		TrackCount: max(p.TrackCount, p.Extension.Playlist.TrackCount, len(p.Tracks))}
	v.Locked = made
	if kind := l.kind(); made && kind != "" && v.SourceID != "" {
		v.Snapshot = v.SourceID + " " + v.Snapshot
		v.SourceID, v.Name = kind, dated.ReplaceAllString(v.Name, "")
	}
	return v
}

// Playlists implements providers.PlaylistSource: first the user's own, then those generated for the user, of each kind
// the latest, which is listed first.
func (a *adapter) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		if a.lacks[readsPlaylists] {
			yield(nil, providers.ErrNotOffered)
			return
		}
		seen := map[string]bool{}
		for _, route := range []string{playlistsRoute, createdForRoute} {
			for page, err := range a.listing(ctx, route) {
				if err != nil {
					yield(nil, err)
					return
				}
				fresh := page[:0]
				for _, l := range page {
					if !seen[l.SourceID] {
						seen[l.SourceID] = true
						fresh = append(fresh, l)
					}
				}
				if len(fresh) > 0 && !yield(fresh, nil) {
					return
				}
			}
		}
	}
}

// listing yields the playlists of one route, page by page.
func (a *adapter) listing(ctx context.Context, route string) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		for offset, more := 0, true; more; {
			query := url.Values{"count": {strconv.Itoa(playlistsPerPage)}, "offset": {strconv.Itoa(offset)}}
			page, total, err := a.listingPage(ctx, route, query)
			if err == nil && len(page) == 0 && offset < total {
				err = providers.Broken(endpoint(route), "a listing that ends before its count")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			offset += len(page)
			more = offset < total || total == 0 && len(page) == playlistsPerPage
			if len(page) > 0 && !yield(page, nil) {
				return
			}
		}
	}
}

// listingPage reads one page of a listing and the number of playlists in the whole listing.
func (a *adapter) listingPage(ctx context.Context, route string, query url.Values) ([]library.Playlist, int, error) {
	answer, err := a.getUser(ctx, route, query)
	if err != nil || answer.Empty() {
		return nil, 0, offered(err)
	}
	var body struct {
		Total     int    `json:"playlist_count"`
		Playlists []jspf `json:"playlists"`
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return nil, 0, err
	}
	if body.Playlists == nil {
		return nil, 0, providers.Broken(endpoint(route), "no list of playlists")
	}
	if body.Total < 0 {
		return nil, 0, providers.Broken(endpoint(route), "a number of playlists below 0")
	}
	page := make([]library.Playlist, len(body.Playlists))
	for i := range body.Playlists {
		page[i] = body.Playlists[i].plain(route == createdForRoute)
		if page[i].SourceID == "" {
			return nil, 0, providers.Broken(endpoint(route), "a playlist without an identifier")
		}
	}
	return page, body.Total, nil
}

// Tracks implements providers.PlaylistSource. ListenBrainz sends a playlist as a whole, so there is at most one page.
func (a *adapter) Tracks(
	ctx context.Context, l library.Playlist, _ providers.LeaveOut,
) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		id := l.SourceID
		if periodic.MatchString(id) {
			id, _, _ = strings.Cut(l.Snapshot, " ")
		}
		tracks, err := a.tracks(ctx, id)
		if err != nil || len(tracks) > 0 {
			yield(tracks, err)
		}
	}
}

// playlist reads a playlist. It returns the zero playlist for an empty answer.
func (a *adapter) playlist(ctx context.Context, id string) (body jspf, err error) {
	answer, err := a.get(ctx, playlistRoute, pathOf(playlistRoute, id), nil, playlistTable)
	if err != nil || answer.Empty() {
		return body, err
	}
	if err := providers.DecodeJSON(answer, &body); err != nil {
		return body, err
	}
	if body.Playlist.Tracks == nil {
		return body, providers.Broken(endpoint(playlistRoute), "a playlist without a list of tracks")
	}
	return body, nil
}

// pathOf returns the path of a route for one playlist.
func pathOf(route, id string) string { return strings.Replace(route, "{mbid}", url.PathEscape(id), 1) }

func (a *adapter) tracks(ctx context.Context, id string) ([]library.Track, error) {
	body, err := a.playlist(ctx, id)
	if err != nil || len(body.Playlist.Tracks) == 0 {
		return nil, err
	}
	tracks := make([]library.Track, len(body.Playlist.Tracks))
	for i := range body.Playlist.Tracks {
		t := &body.Playlist.Tracks[i]
		id := mbid(string(t.Identifier))
		tracks[i] = library.Track{
			Title: t.Title, Artist: t.Creator, Album: t.Album, Duration: time.Duration(t.DurationMS) * time.Millisecond,
			RecordingMBID: id, SourceID: id,
		}
		if t.Title == "" && id == "" {
			return nil, providers.Broken(endpoint(playlistRoute), "a track without a name or an identifier")
		}
	}
	return tracks, nil
}
