package spotify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

const (
	searchRoute   = "/v1/search"
	playlistRoute = "/v1/playlists/{id}"

	// resultsPerSearch is the most that an app in development mode has been able to get since March 2026; see
	// https://developer.spotify.com/documentation/web-api/tutorials/february-2026-migration-guide.
	resultsPerSearch = "10"
	tracksPerCall    = 100 // the most that Spotify takes
)

// Find implements providers.SongFinder. It searches by the ISRC, and if that finds nothing, by the names.
func (a *adapter) Find(ctx context.Context, t library.Track) ([]library.Track, error) {
	if t.ISRC != "" {
		found, err := a.search(ctx, "isrc:"+t.ISRC)
		for i := range found { // Spotify doesn't show the ISRC to every app
			found[i].ISRC = t.ISRC
		}
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return a.search(ctx, t.Title+" "+t.Artist)
}

func (a *adapter) search(ctx context.Context, text string) (found []library.Track, err error) {
	var body struct {
		Tracks *page[track] `json:"tracks"`
	}
	query := url.Values{"q": {text}, "type": {"track"}, "limit": {resultsPerSearch}}
	if err := a.get(ctx, searchRoute, searchRoute, query, table, &body); err != nil {
		return nil, err
	}
	if body.Tracks == nil {
		return nil, providers.Broken(endpoint(searchRoute), "no list of tracks")
	}
	for _, t := range body.Tracks.Items {
		if t.usable() && t.ID != "" {
			found = append(found, t.plain())
		}
	}
	return found, nil
}

// CreatePlaylist implements providers.PlaylistWriter. The new playlist is private.
func (a *adapter) CreatePlaylist(ctx context.Context, name string, tracks []string) (string, error) {
	answer, err := a.change(ctx, http.MethodPost, playlistsRoute, playlistsRoute,
		map[string]any{"name": name, "public": false})
	if err != nil {
		return "", err
	}
	var made playlist
	if err := providers.DecodeJSON(answer, &made); err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", &resilience.ContractError{Endpoint: answer.Endpoint, What: "a playlist without an id"}
	}
	return made.ID, a.fill(ctx, made.ID, http.MethodPost, tracks)
}

// ReplacePlaylist implements providers.PlaylistWriter. The first hundred tracks replace everything in the playlist, and
// the others are added after them.
func (a *adapter) ReplacePlaylist(ctx context.Context, id, name string, tracks []string) error {
	if err := a.fill(ctx, id, http.MethodPut, tracks); err != nil {
		return err
	}
	var is playlist
	path := pathOf(playlistRoute, id)
	err := a.get(ctx, playlistRoute, path, url.Values{"fields": {"name"}}, playlistTable, &is)
	if err != nil || is.Name == name {
		return err
	}
	_, err = a.change(ctx, http.MethodPut, playlistRoute, path, map[string]string{"name": name})
	return err
}

// fill puts tracks into a playlist, at most a hundred per call. The first call uses method, where PUT replaces what is
// there; all others add to the end.
func (a *adapter) fill(ctx context.Context, id, method string, tracks []string) error {
	tracks = slices.DeleteFunc(slices.Clone(tracks), func(t string) bool {
		return strings.HasPrefix(t, "spotify:local:") // a file of the person's own, which apps can't add
	})
	chunks := slices.Collect(slices.Chunk(tracks, tracksPerCall))
	if len(chunks) == 0 && method == http.MethodPut {
		chunks = [][]string{nil} // one call that empties the playlist
	}
	for _, some := range chunks {
		uris := make([]string, len(some))
		for i, t := range some {
			uris[i] = uriOf(t)
		}
		_, err := a.change(ctx, method, itemsRoute, pathOf(itemsRoute, id), map[string][]string{"uris": uris})
		if err != nil {
			return err
		}
		method = http.MethodPost
	}
	return nil
}

// uriOf returns the URI of the track with a SourceID.
func uriOf(id string) string {
	if strings.Contains(id, ":") {
		return id
	}
	return "spotify:track:" + id
}

// change sends a request that changes playlists.
func (a *adapter) change(ctx context.Context, method, route, path string, what any) (*resilience.Answer, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return a.send(ctx, method, route, path, "", body, writeTable)
}

// pathOf returns the path of a route for one playlist.
func pathOf(route, id string) string { return strings.Replace(route, "{id}", url.PathEscape(id), 1) }
