package navidrome

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// songsPerURL limits the songs in one URL, because many proxies limit URLs to 8 kB. An id has up to 36 letters, its
// parameter's name up to 17. A form has no limit.
const songsPerURL = 100

var playlistGone = resilience.Meaning{
	Class: resilience.Fatal, Category: resilience.Item, Scope: resilience.ScopeItem,
	Advice: words.New("navidrome.playlist_gone"),
}

// songGone is the meaning of a refusal because of a song that existed when it was looked up. Neither the playlist nor
// the stream has failed: the next attempt looks up the songs again.
var songGone = generic

// CreatePlaylist implements providers.PlaylistWriter. When it fails after the playlist was created, it returns the id
// and the error.
func (a *adapter) CreatePlaylist(ctx context.Context, name string, tracks []string) (string, error) {
	if err := a.ready(ctx); err != nil {
		return "", whole(err)
	}
	first, rest := a.split(tracks)
	r, err := a.write(ctx, "createPlaylist", url.Values{"name": {name}, "songId": first})
	if err != nil {
		return "", staleSong(err)
	}
	id := ""
	if r.Playlist != nil {
		id = string(r.Playlist.ID)
	}
	if id == "" {
		if id, err = a.latest(ctx, name); err != nil {
			return "", err
		}
	}
	return id, staleSong(a.add(ctx, id, rest))
}

// ReplacePlaylist implements providers.PlaylistWriter. The songs are replaced in one call, so that a failure leaves
// the playlist unchanged. Only without forms, a failure can leave a playlist of more than a hundred songs shortened.
func (a *adapter) ReplacePlaylist(ctx context.Context, id, name string, tracks []string) error {
	if err := a.ready(ctx); err != nil {
		return whole(err)
	}
	err := a.replace(ctx, id, name, tracks)
	if !refused(err, codeNotFound, codeMissing, codeGeneric) {
		return err
	}
	// The code is the same whether the playlist or a song of it is gone.
	_, asked := a.ask(ctx, "getPlaylist", url.Values{"id": {id}})
	switch {
	case asked == nil:
		return staleSong(err)
	case refused(asked, codeNotFound, codeMissing):
		return meaning(asked, playlistGone)
	}
	return whole(asked)
}

func (a *adapter) replace(ctx context.Context, id, name string, tracks []string) error {
	if len(tracks) == 0 {
		if err := a.empty(ctx, id); err != nil {
			return err
		}
		return a.rename(ctx, id, name)
	}
	first, rest := a.split(tracks)
	r, err := a.write(ctx, "createPlaylist", url.Values{"playlistId": {id}, "songId": first})
	if err != nil {
		return err
	}
	if err := a.add(ctx, id, rest); err != nil {
		return err
	}
	if r.Playlist != nil && string(r.Playlist.Name) == name {
		return nil
	}
	return a.rename(ctx, id, name)
}

// write makes a call that changes the library or prepares a change.
func (a *adapter) write(ctx context.Context, method string, params url.Values) (*response, error) {
	r, err := a.ask(ctx, method, params)
	return r, whole(err, codeNotFound)
}

// split divides songs into those of one call and the rest.
func (a *adapter) split(songs []string) (first, rest []string) {
	if a.way.form {
		return songs, nil
	}
	n := min(len(songs), songsPerURL)
	return songs[:n], songs[n:]
}

// add appends songs to a playlist.
func (a *adapter) add(ctx context.Context, id string, songs []string) error {
	for len(songs) > 0 {
		var first []string
		first, songs = a.split(songs)
		if _, err := a.write(ctx, "updatePlaylist", url.Values{"playlistId": {id}, "songIdToAdd": first}); err != nil {
			return err
		}
	}
	return nil
}

func (a *adapter) rename(ctx context.Context, id, name string) error {
	_, err := a.write(ctx, "updatePlaylist", url.Values{"playlistId": {id}, "name": {name}})
	return err
}

// empty removes all songs of a playlist, from the end. It does not use createPlaylist without songs, which some
// servers ignore.
func (a *adapter) empty(ctx context.Context, id string) error {
	r, err := a.write(ctx, "getPlaylist", url.Values{"id": {id}})
	if err != nil {
		return err
	}
	if r.Playlist == nil {
		return r.lacks("playlist")
	}
	positions := make([]string, 0, len(r.Playlist.Entry))
	for i := len(r.Playlist.Entry) - 1; i >= 0; i-- {
		positions = append(positions, strconv.Itoa(i))
	}
	for len(positions) > 0 {
		var first []string
		first, positions = a.split(positions)
		params := url.Values{"playlistId": {id}, "songIndexToRemove": first}
		if _, err := a.write(ctx, "updatePlaylist", params); err != nil {
			return err
		}
	}
	return nil
}

// latest returns the id of the person's newest playlist of that name, for servers that do not return created
// playlists.
func (a *adapter) latest(ctx context.Context, name string) (string, error) {
	r, err := a.ask(ctx, "getPlaylists", nil)
	if err != nil {
		return "", whole(err)
	}
	if r.Playlists == nil {
		return "", r.lacks("playlists")
	}
	var newest *playlist
	for i := range r.Playlists.Playlist {
		p := &r.Playlists.Playlist[i]
		own := p.Owner == "" || strings.EqualFold(string(p.Owner), a.user)
		if own && string(p.Name) == name && p.ID != "" && (newest == nil || !p.Created.Before(newest.Created.Time)) {
			newest = p
		}
	}
	if newest == nil {
		return "", r.lacks("playlist of the name that was created")
	}
	return string(newest.ID), nil
}

// staleSong returns err with the meaning songGone when its code may concern a song.
func staleSong(err error) error {
	if refused(err, codeNotFound, codeMissing) {
		return meaning(err, songGone)
	}
	return err
}
