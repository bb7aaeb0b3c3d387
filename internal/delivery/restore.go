package delivery

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/words"
)

// RefOf returns the Ref of a delivery that writes a playlist, or with a number a version of it.
func RefOf(playlist int64, version int) string {
	ref := strconv.FormatInt(playlist, 10)
	if version != 0 {
		ref += "@" + strconv.Itoa(version)
	}
	return ref
}

// readRef reads what RefOf returns.
func readRef(ref string) (playlist int64, version int, ok bool) {
	id, number, ofVersion := strings.Cut(ref, "@")
	playlist, err := strconv.ParseInt(id, 10, 64)
	if err == nil && ofVersion {
		version, err = strconv.Atoi(number)
	}
	return playlist, version, err == nil
}

// playlist returns what a delivery writes: a playlist as it is now, or a version of it. A version that goes to another
// connection than its playlist's has its date in its name.
func (d *playlistDeliverer) playlist(ctx context.Context, a *attempt, to library.Connection) (
	list library.StoredPlaylist, tracks []library.Track, err error) {
	id, number, ok := readRef(a.Ref)
	if !ok {
		return list, nil, refuse(words.New("delivery.playlist.unknown", "Ref", a.Ref))
	}
	var v library.PlaylistVersion
	if number == 0 {
		list, tracks, err = d.store.Playlist(ctx, a.User, id)
	} else if list, err = d.store.PlaylistOnly(ctx, a.User, id); err == nil {
		v, tracks, err = d.store.Version(ctx, a.User, id, number)
		if list.Name = v.Name; list.Connection != to.ID {
			list.Name += v.Until.UTC().Format(" (2006-01-02)")
		}
	}
	if errors.Is(err, library.ErrNotFound) {
		err = refuse(words.New("delivery.playlist.gone"))
	}
	return list, tracks, err
}

// ofVersion reports whether a copy is of an earlier version.
func (c *Copy) ofVersion() bool {
	_, version, _ := readRef(c.Ref)
	return version != 0
}

// restores prepares a copy for what a delivery writes, and reports whether that is a version that goes back to where
// its playlist comes from. A restored playlist is its owner's: what has become of it there is no drift.
func (c *Copy) restores(list library.StoredPlaylist) bool {
	if !c.ofVersion() {
		return false
	}
	c.Choice = Rewrite
	back := list.Connection == c.Connection
	if back && c.RemoteID == "" {
		c.RemoteID = list.SourceID
	}
	return back
}

// look reads the playlist that is replaced, and stores it first: it may have changed there since the last sync.
// The songs in it are those whose ids are certain; the others are searched for, because ids change.
func (w *playlistWriter) look(ctx context.Context) error {
	w.own = map[string]bool{}
	_, tracks, err := w.reread(ctx)
	for i := range tracks {
		w.own[tracks[i].SourceID] = true
	}
	delete(w.own, "")
	return err
}
