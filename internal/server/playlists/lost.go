package playlists

import (
	"context"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// LibraryStore says which songs are in a person's own libraries.
type LibraryStore interface {
	// LibrarySongs returns how many songs they have, and OwnSongs which of these tracks one has.
	LibrarySongs(ctx context.Context, user int64) (int, error)
	OwnSongs(ctx context.Context, user int64, tracks []library.Track) ([]bool, error)
}

// Teller closes the notifications about what playlists have lost; see sync.Connections.
type Teller interface {
	DecidedLosses(ctx context.Context, user int64, conn library.ConnectionID) error
}

// LostTrack is a track that a playlist has lost.
type LostTrack struct {
	ListedTrack
	InLibrary bool `json:"in_library" doc:"It is in your own library, such as Navidrome."`
}

// losses are what a playlist has lost with the change that ended a version.
type losses struct {
	tracks  []library.Track
	listed  bool   // the playlist still has them
	here    []bool // which of them are in the person's own library
	library bool   // they have one
}

// count returns how many of the tracks are in the person's own library.
func (l losses) count() (n int) {
	for _, here := range l.here {
		if here {
			n++
		}
	}
	return n
}

// has reports whether a track is one of those that are in the person's own library.
func (l losses) has(t library.Track) bool {
	for i, here := range l.here {
		if here && l.tracks[i].SourceID == t.SourceID && l.tracks[i].Title == t.Title {
			return true
		}
	}
	return false
}

func (l losses) view() []LostTrack {
	all := []LostTrack{}
	for i, t := range l.tracks {
		all = append(all, LostTrack{ListedTrack: viewListed(t), InLibrary: l.here[i]})
	}
	return all
}

// next returns the number of the version that came after another one; 0 for what the playlist is like now.
func next(all []library.PlaylistVersion, number int) (after int) {
	for _, v := range all {
		if v.Number > number && (after == 0 || v.Number < after) {
			after = v.Number
		}
	}
	return after
}

// lost returns what a playlist lost when a version of it ended; after is the number of the next one.
func (h *Handler) lost(c echo.Context, v found, after int) (l losses, err error) {
	if v.at.Lost.Songs == 0 {
		return l, nil
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if v.at.Lost.Taken {
		if l.tracks, err = h.vanished(ctx, v); err != nil {
			return l, err
		}
	}
	if l.listed = len(l.tracks) > 0; !l.listed {
		changes, err := h.changes(c, v, after)
		if err != nil {
			return l, err
		}
		l.tracks = changes.Went
	}
	l.here, l.library, err = h.inLibrary(ctx, user, l.tracks)
	return l, err
}

// vanished returns the tracks of a version whose videos were found gone while it was the latest. They keep their
// places in the playlist.
func (h *Handler) vanished(ctx context.Context, v found) (all []library.Track, err error) {
	ids := core.ViewAll(v.tracks, func(t library.Track) string { return t.SourceID })
	videos, err := h.store.Videos(ctx, ids)
	for _, t := range v.tracks {
		gone := videos[t.SourceID].GoneSince
		if gone.After(v.at.Since) && !gone.After(v.at.Until) {
			all = append(all, t)
		}
	}
	return all, err
}

// inLibrary reports which tracks are in a person's own library, and whether one has been read.
func (h *Handler) inLibrary(ctx context.Context, user int64, tracks []library.Track) (here []bool, known bool,
	err error) {
	songs, err := h.store.LibrarySongs(ctx, user)
	if err != nil {
		return nil, false, err
	}
	here, err = h.store.OwnSongs(ctx, user, tracks)
	return here, songs > 0, err
}

// say returns what people read of the losses of a version; empty if there are none.
func (l losses) say(ctx context.Context, v found, day words.Day) string {
	if len(l.tracks) == 0 {
		return ""
	}
	said := words.Each("playlists.lost.since_", whose(v.at.Lost), "Name", v.list.From, "Count", len(l.tracks),
		"Day", day)
	switch n := l.count(); {
	case n > 0:
		said = words.Join(said, words.New("playlists.lost.here", "Count", n))
	case l.library:
		said = words.Join(said, words.New("playlists.lost.none_here"))
	}
	return said.T(ctx)
}

// whose says whether it is known who has removed what was lost.
func whose(l library.Loss) string {
	if l.Taken {
		return "taken"
	}
	return "gone"
}

// best returns the connection to which a version is best written: where its playlist comes from. What isn't offered
// there any more comes back in the person's own library only; so does what can't be written where it comes from.
func (h *copies) best(v found, targets []library.Connection, lost losses) library.ConnectionID {
	var own library.ConnectionID
	back := library.ConnectionID(v.list.Connection)
	may := false
	for _, to := range targets {
		if own == "" && to.ID != back && h.core.Registry.Get(to.Provider()).Takes.Library && h.mayWrite(to) {
			own = to.ID
		}
		may = may || to.ID == back && h.mayWrite(to)
	}
	if len(lost.tracks) > 0 && own != "" && (!may || v.at.Lost.Taken && lost.count() > 0) {
		return own
	}
	return back
}
