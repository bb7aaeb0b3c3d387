package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reprise/internal/alerts"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// playlistStore keeps playlists.
type playlistStore interface {
	ConnectionPlaylists(ctx context.Context, user int64, conn library.ConnectionID) ([]library.StoredPlaylist, error)
	SavePlaylist(ctx context.Context, user int64, conn library.ConnectionID, p library.Playlist, position int,
		tracks []library.Track) error
	RenamePlaylist(ctx context.Context, id int64, name string) error
	MovePlaylists(ctx context.Context, places map[int64]int) error
	SetShrunk(ctx context.Context, id int64, tracks int) error
	SetGone(ctx context.Context, id int64) error
	SavePosition(ctx context.Context, user int64, conn library.ConnectionID, stream, reading string,
		note words.Text) error
	alerts.Playlists
	skippedStore
}

// The limits of one connection's playlists, above those of every service that names its own.
const (
	maxPlaylists = 10_000
	maxTracks    = 20_000  // of one playlist
	maxKept      = 20_000  // playlists that are stored, with those that are gone
	maxInAll     = 500_000 // tracks that are stored, of all playlists, with those that are gone
	maxNamed     = 20      // unreadable playlists in a note
)

// playlistPosition is what one run of playlists leaves for the next.
type playlistPosition struct {
	// Shrunk says that the list had fewer than half of its playlists, which is believed if it happens again.
	Shrunk bool `json:"shrunk,omitempty"`
}

// readPlaylists updates the stored playlists to the provider's, and returns how many it read because they had
// changed. Nothing is removed before a list has been read to its end, and a list that has lost more than half of its
// playlists must be seen so twice. What the provider does not give is skipped; see playlistRun.
func (rd *reader) readPlaylists(
	ctx context.Context, c library.Connection, source providers.PlaylistSource,
) (changed int, err error) {
	var now []library.Playlist
	for page, err := range source.Playlists(ctx) {
		if err != nil {
			return 0, err
		}
		for _, p := range page {
			p.Clean()
			now = append(now, p)
		}
		if len(now) > maxPlaylists {
			return 0, &resilience.ContractError{Endpoint: library.Playlists,
				What: fmt.Sprintf("more than %d playlists", maxPlaylists)}
		}
	}
	stored, err := rd.store.ConnectionPlaylists(ctx, c.User, c.ID)
	if err != nil {
		return 0, err
	}
	before, err := rd.playlistPosition(ctx, c)
	if err != nil {
		return 0, err
	}
	var position playlistPosition
	if position.Shrunk, err = rd.retire(ctx, before, stored, now); err != nil {
		return 0, err
	}
	r := &playlistRun{rd: rd, c: c, source: source, room: roomIn(stored),
		known: make(map[string]*library.StoredPlaylist, len(stored))}
	for i := range stored {
		r.known[stored[i].SourceID] = &stored[i]
	}
	if r.skips, err = rd.loadSkips(ctx, c); err != nil {
		return 0, err
	}
	if !position.Shrunk {
		r.skips.retain(now)
	}
	err = r.readAll(ctx, now)
	if err != nil && r.fine == 0 {
		r.skips.soon() // nothing says that these playlists are at fault
	}
	err = errors.Join(err, r.skips.save(ctx))
	if err != nil {
		return r.changed, err
	}
	text, err := json.Marshal(position)
	err = errors.Join(err, rd.arrange(ctx, r.known, now),
		rd.store.SavePosition(ctx, c.User, c.ID, library.Playlists, string(text), r.skips.note(now)))
	if err != nil {
		return r.changed, err
	}
	return r.changed, errors.Join(rd.tellOfLosses(ctx, c), rd.refreshVideos(ctx, c, source))
}

// tellOfLosses tells a person what their playlists have lost.
func (rd *reader) tellOfLosses(ctx context.Context, c library.Connection) error {
	if rd.guard == nil {
		return nil
	}
	return rd.guard.opt.Alerts.Losses(ctx, rd.guard.opt.Registry.Get(c.Provider()), c, rd.store)
}

// note names the playlists that are skipped, in the provider's order; empty for none.
func (s *skips) note(now []library.Playlist) words.Text {
	var skipped []string
	for _, p := range now {
		if s.has(p) {
			skipped = append(skipped, p.Name)
		}
	}
	if len(skipped) == 0 {
		return words.Text{}
	}
	named := skipped[:min(len(skipped), maxNamed)]
	names := strings.Join(named, ", ")
	if more := len(skipped) - len(named); more > 0 {
		return words.New("sync.skipped_more", "Names", names, "Count", more)
	}
	return words.New("sync.skipped", "Names", names)
}

// arrange updates the order of the playlists to the provider's.
func (rd *reader) arrange(ctx context.Context, known map[string]*library.StoredPlaylist, now []library.Playlist) error {
	moved := map[int64]int{}
	for i, p := range now {
		if k := known[p.SourceID]; k != nil && k.Position != i {
			moved[k.ID] = i
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return rd.store.MovePlaylists(ctx, moved)
}

func (rd *reader) playlistPosition(ctx context.Context, c library.Connection) (p playlistPosition, err error) {
	text, err := rd.store.Position(ctx, c.User, c.ID, library.Playlists)
	if err != nil || text == "" {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read stored position: %w", err)
	}
	return p, nil
}

// retire marks the playlists that are no longer listed as gone. If too many are missing to believe the list, it marks
// none and reports doubt.
func (rd *reader) retire(
	ctx context.Context, before playlistPosition, stored []library.StoredPlaylist, now []library.Playlist,
) (doubted bool, err error) {
	listed := make(map[string]bool, len(now))
	for _, p := range now {
		listed[p.SourceID] = true
	}
	active := 0
	var missing []library.StoredPlaylist
	for _, p := range stored {
		if !p.Active {
			continue
		}
		active++
		if !listed[p.SourceID] {
			missing = append(missing, p)
		}
	}
	if shrinks(active, active-len(missing)) && !before.Shrunk {
		return true, nil
	}
	for _, p := range missing {
		if err := rd.store.SetGone(ctx, p.ID); err != nil {
			return false, err
		}
	}
	return false, nil
}

// listed is a playlist in the provider's list.
type listed struct {
	library.Playlist
	position int
	known    *library.StoredPlaylist // the same as it is stored; nil for a new one
	again    bool                    // it is read even if it has not changed
}

// room is how much more a connection's playlists may be. Playlists that are gone stay, so that a service which names
// others each time would fill the disk otherwise.
type room struct{ playlists, tracks int }

func roomIn(stored []library.StoredPlaylist) *room {
	r := &room{maxKept - len(stored), maxInAll}
	for _, p := range stored {
		r.tracks -= p.TrackCount
	}
	return r
}

// fullError reports that there is no room for more. It is about all playlists, not about the one that was read last.
type fullError struct{ what resilience.ContractError }

func (e *fullError) Error() string { return e.what.Error() }
func (e *fullError) Unwrap() error { return &e.what }

// take takes the room of a playlist with so many tracks in place of the one that is known; nil for a new one. The error
// is a *fullError if there is not enough.
func (r *room) take(known *library.StoredPlaylist, tracks int) error {
	before, lists := 0, 1
	if known != nil {
		before, lists = known.TrackCount, 0
	}
	more := tracks - before
	switch {
	case lists > r.playlists:
		return &fullError{resilience.ContractError{Endpoint: library.Playlists,
			What: fmt.Sprintf("more than %d playlists, with those that are gone there and kept here", maxKept)}}
	case more > 0 && more > r.tracks:
		return &fullError{resilience.ContractError{Endpoint: library.Playlists,
			What: fmt.Sprintf("playlists of more than %d tracks in all, with those that are gone there and kept here",
				maxInAll)}}
	}
	r.playlists, r.tracks = r.playlists-lists, r.tracks-more
	return nil
}

// shrinks reports whether a collection has lost more than half of its items.
func shrinks(from, to int) bool { return to*2 < from }
