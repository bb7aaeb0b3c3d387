package listenbrainz

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	createRoute = "/1/playlist/create"
	editRoute   = "/1/playlist/edit/{mbid}"
	addRoute    = "/1/playlist/{mbid}/item/add"
	removeRoute = "/1/playlist/{mbid}/item/delete"

	tracksPerAdd    = 100 // the most that ListenBrainz takes; MAX_RECORDINGS_PER_ADD in its playlist_api.py
	tracksPerLookup = 50  // MAX_LOOKUPS_PER_POST in its metadata_api.py
	lettersInLookup = 250 // of title and artist together; MAX_MAPPING_QUERY_LENGTH there
)

var notYours = words.New("listenbrainz.playlist_refused", service...)

// writeTable is playlistTable for calls that change a playlist.
var writeTable = slices.Concat(playlistTable, providers.Table{
	{Status: http.StatusForbidden, Meaning: onItem(notYours)},
})

// Find implements providers.SongFinder. A playlist holds the MBIDs of recordings, so a track with one is returned as it
// is; any other is looked up by its names.
func (a *adapter) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	if mbidForm.MatchString(t.RecordingMBID) {
		t.SourceID = t.RecordingMBID
		return []library.Track{t}, nil
	}
	found, err := a.lookUp(ctx, t.Artist, t.Title)
	if err != nil || found.SourceID == "" {
		return nil, err
	}
	return []library.Track{found}, nil
}

// listed is a playlist as it is sent. An edit overwrites all of these fields but the tracks.
type listed struct {
	Title      string          `json:"title,omitempty"`
	Annotation string          `json:"annotation,omitempty"`
	Tracks     []recordingURL  `json:"track,omitempty"`
	Extension  listedExtension `json:"extension"`
}

type recordingURL struct {
	Identifier string `json:"identifier"`
}

type listedExtension struct {
	Playlist access `json:"https://musicbrainz.org/doc/jspf#playlist"`
}

// access says who can see a playlist, and who can change it.
type access struct {
	Public        bool     `json:"public"`
	Collaborators []string `json:"collaborators,omitempty"`
}

// CreatePlaylist implements providers.PlaylistWriter. Only its owner can see the new playlist.
func (a *adapter) CreatePlaylist(ctx context.Context, name string, tracks []string) (string, error) {
	body, err := json.Marshal(map[string]listed{"playlist": {Title: name}})
	if err != nil {
		return "", err
	}
	answer, err := a.send(ctx, http.MethodPost, createRoute, createRoute, body, table)
	if err != nil {
		return "", offered(err)
	}
	var made struct {
		MBID string `json:"playlist_mbid"`
	}
	if err := providers.DecodeJSON(answer, &made); err != nil {
		return "", err
	}
	if made.MBID == "" {
		return "", &resilience.ContractError{Endpoint: answer.Endpoint, What: "a playlist without an id"}
	}
	return made.MBID, a.add(ctx, made.MBID, tracks)
}

// ReplacePlaylist implements providers.PlaylistWriter. The new tracks are added before the old ones are removed, so
// that a failure in between never leaves a shorter playlist.
func (a *adapter) ReplacePlaylist(ctx context.Context, id, name string, tracks []string) error {
	if periodic.MatchString(id) {
		return a.refusal(editRoute, "a playlist that ListenBrainz makes", notYours)
	}
	was, err := a.playlist(ctx, id)
	if err != nil {
		return err
	}
	if err := a.add(ctx, id, tracks); err != nil {
		return err
	}
	if n := len(was.Playlist.Tracks); n > 0 {
		if err := a.changePlaylist(ctx, removeRoute, id, map[string]int{"index": 0, "count": n}); err != nil {
			return err
		}
	}
	if was.Playlist.Title == name {
		return nil
	}
	return a.changePlaylist(ctx, editRoute, id, map[string]listed{"playlist": {Title: name,
		Annotation: was.Playlist.Annotation, Extension: listedExtension{was.Playlist.Extension.Playlist.access}}})
}

// add puts tracks at the end of a playlist.
func (a *adapter) add(ctx context.Context, id string, tracks []string) error {
	for some := range slices.Chunk(tracks, tracksPerAdd) {
		var l listed
		for _, mbid := range some {
			l.Tracks = append(l.Tracks, recordingURL{"https://musicbrainz.org/recording/" + mbid})
		}
		if err := a.changePlaylist(ctx, addRoute, id, map[string]listed{"playlist": l}); err != nil {
			return err
		}
	}
	return nil
}

// changePlaylist sends a change of one playlist.
func (a *adapter) changePlaylist(ctx context.Context, route, id string, change any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return offered(a.change(ctx, route, pathOf(route, id), body, writeTable))
}

// lookUp returns the recording that ListenBrainz knows by these names, without its length. It returns the zero track if
// there is none.
func (a *adapter) lookUp(ctx context.Context, artist, title string) (library.Track, error) {
	query := url.Values{"artist_name": {clean(artist)}, "recording_name": {clean(title)}}
	answer, err := a.get(ctx, lookupRoute, lookupRoute, query, table)
	if a.server.own && lacking(offered(err)) {
		return library.Track{}, nil
	}
	if err != nil {
		return library.Track{}, err
	}
	var found recording
	err = providers.DecodeJSON(answer, &found)
	return found.track(artist, title), err
}

// recording is what a lookup has found.
type recording struct {
	Artist string `json:"artist_credit_name"`
	Title  string `json:"recording_name"`
	Album  string `json:"release_name"`
	MBID   string `json:"recording_mbid"`
}

// track returns the recording, with these names where it has none; the zero track if nothing was found.
func (r recording) track(artist, title string) library.Track {
	if !mbidForm.MatchString(r.MBID) {
		return library.Track{}
	}
	return library.Track{Title: cmp.Or(r.Title, title), Artist: cmp.Or(r.Artist, artist), Album: r.Album,
		RecordingMBID: r.MBID, SourceID: r.MBID}
}

// names are those by which a recording is looked up.
type names struct {
	Title  string `json:"recording_name"`
	Artist string `json:"artist_name"`
}

// FindAll implements providers.SongsFinder. A call that has one name too few or too long is refused as a whole, so
// tracks with such names are left out, as if nothing was found.
func (a *adapter) FindAll(ctx context.Context, tracks []library.Track) ([][]library.Track, error) {
	all := make([][]library.Track, len(tracks))
	var ask []names
	var at []int // in tracks
	for i, t := range tracks {
		n := names{Title: clean(t.Title), Artist: clean(t.Artist)}
		switch letters := utf8.RuneCountInString(n.Title) + utf8.RuneCountInString(n.Artist); {
		case mbidForm.MatchString(t.RecordingMBID):
			t.SourceID = t.RecordingMBID
			all[i] = []library.Track{t}
		case n.Title != "" && n.Artist != "" && letters <= lettersInLookup:
			ask, at = append(ask, n), append(at, i)
		}
	}
	for len(ask) > 0 {
		n := min(len(ask), tracksPerLookup)
		found, err := a.lookUpAll(ctx, ask[:n])
		if err != nil {
			return nil, err
		}
		for i, t := range found {
			if t.SourceID != "" {
				all[at[i]] = []library.Track{t}
			}
		}
		ask, at = ask[n:], at[n:]
	}
	return all, nil
}

// lookUpAll is lookUp for at most tracksPerLookup recordings in one call.
func (a *adapter) lookUpAll(ctx context.Context, ask []names) ([]library.Track, error) {
	body, err := json.Marshal(map[string][]names{"recordings": ask})
	if err != nil {
		return nil, err
	}
	answer, err := a.send(ctx, http.MethodPost, lookupRoute, lookupRoute, body, table)
	if a.server.own && lacking(offered(err)) {
		return nil, providers.ErrNotOffered
	}
	if err != nil {
		return nil, err
	}
	var found []struct {
		Index int `json:"index"`
		recording
	}
	if err := providers.DecodeJSON(answer, &found); err != nil {
		return nil, err
	}
	tracks := make([]library.Track, len(ask))
	for _, f := range found {
		if f.Index < 0 || f.Index >= len(ask) {
			return nil, &resilience.ContractError{Endpoint: answer.Endpoint,
				What: "a recording that wasn't asked for"}
		}
		tracks[f.Index] = f.track(ask[f.Index].Artist, ask[f.Index].Title)
	}
	return tracks, nil
}
