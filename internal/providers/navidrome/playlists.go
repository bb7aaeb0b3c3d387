package navidrome

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// Playlists yields all playlists that the user may play, which the Subsonic API returns at once.
func (a *adapter) Playlists(ctx context.Context) iter.Seq2[[]library.Playlist, error] {
	return func(yield func([]library.Playlist, error) bool) {
		r, err := a.ask(ctx, "getPlaylists", nil)
		if err == nil && r.Playlists == nil {
			err = r.lacks("playlists")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		page := make([]library.Playlist, 0, len(r.Playlists.Playlist))
		for _, p := range r.Playlists.Playlist {
			if p.ID == "" {
				yield(nil, r.lacks("id of a playlist"))
				return
			}
			page = append(page, library.Playlist{
				SourceID: string(p.ID), Name: string(p.Name), TrackCount: int(p.SongCount), Snapshot: p.snapshot(),
				Locked: p.Readonly || a.user != "" && p.Owner != "" && !strings.EqualFold(string(p.Owner), a.user),
			})
		}
		yield(page, nil)
	}
}

// snapshot combines the time of the last change and the number of tracks. It is empty without a time, because a track
// may have been replaced.
func (p *playlist) snapshot() string {
	if p.Changed == "" {
		return ""
	}
	return string(p.Changed) + "/" + strconv.Itoa(int(p.SongCount))
}

// Tracks yields the tracks of one playlist, which the Subsonic API returns at once.
func (a *adapter) Tracks(
	ctx context.Context, p library.Playlist, _ providers.LeaveOut,
) iter.Seq2[[]library.Track, error] {
	return func(yield func([]library.Track, error) bool) {
		r, err := a.ask(ctx, "getPlaylist", url.Values{"id": {p.SourceID}})
		if err == nil && r.Playlist == nil {
			err = r.lacks("playlist")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		page := make([]library.Track, 0, len(r.Playlist.Entry))
		for _, s := range r.Playlist.Entry {
			page = append(page, s.track())
		}
		yield(page, nil)
	}
}
