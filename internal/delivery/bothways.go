package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/match"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/versions"
	"reprise/internal/words"
)

// A copy with the choice Both is kept equal with its playlist in both directions. Its delivery reads the copy, merges
// what has changed on both sides since they were last alike, and writes the copy. What is to change in the playlist is
// a delivery of its own, to the connection that the playlist comes from, with a ref that ends with back: another server
// may make the calls there. Each delivery reads its side first and merges again, so it can stop at any point.

// back ends the ref of a delivery that brings changes of copies back to their playlist.
const back = "@0"

// mostTracks is how many tracks of a playlist are read at most, as at a sync.
const mostTracks = 20_000

// BackRef returns the Ref of the delivery that brings the changes of a playlist's copies back to it.
func BackRef(playlist int64) string { return strconv.FormatInt(playlist, 10) + back }

// bringsBack reports whether a delivery brings changes back to the playlist.
func (c *Copy) bringsBack() bool { return strings.HasSuffix(c.Ref, back) }

// reread reads the playlist that the writer writes, and stores it if it is another than at the latest sync. now is nil
// if it is gone.
func (w *playlistWriter) reread(ctx context.Context) (now *library.Playlist, tracks []library.Track, err error) {
	if now, err = w.find(ctx); now == nil || err != nil {
		return now, nil, err
	}
	stored, err := storedAs(ctx, w.store, w.copy.User, w.copy.Connection, now.SourceID)
	if err != nil {
		return nil, nil, err
	}
	if tracks, err = w.all(ctx, now); err == nil && len(tracks)*2 < stored.TrackCount {
		seen := len(tracks) // believed if it is read again
		if tracks, err = w.all(ctx, now); err == nil && len(tracks) != seen {
			err = &resilience.ContractError{Endpoint: library.Playlists, What: "a playlist of another length each time"}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	clean := *now
	clean.Clean()
	if stored.ID != 0 {
		_, was, err := w.store.Playlist(ctx, w.copy.User, stored.ID)
		if err != nil || stored.Name == clean.Name && stored.Blank == now.Blank && versions.Same(was, tracks) {
			return now, tracks, err
		}
	}
	err = w.store.SavePlaylist(context.WithoutCancel(ctx), w.copy.User, w.copy.Connection, clean, stored.Position,
		tracks)
	return now, tracks, err
}

// all reads the tracks of a playlist, and sets how many places are blank.
func (w *playlistWriter) all(ctx context.Context, p *library.Playlist) (tracks []library.Track, err error) {
	p.Blank = 0
	blank := func(t providers.LeftOut) {
		if t.Blank {
			p.Blank++
		}
	}
	for page, err := range w.there.Tracks(ctx, *p, blank) {
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			t.Clean()
			tracks = append(tracks, t)
		}
		if len(tracks) > mostTracks {
			return nil, &resilience.ContractError{Endpoint: library.Playlists,
				What: fmt.Sprintf("a playlist of more than %d tracks", mostTracks)}
		}
	}
	return tracks, nil
}

// storedAs returns the stored playlist that has an id at a connection; the zero value if it was never read.
func storedAs(ctx context.Context, s copyStore, user int64, conn library.ConnectionID, id string) (
	library.StoredPlaylist, error) {
	all, err := s.ConnectionPlaylists(ctx, user, conn)
	i := slices.IndexFunc(all, func(p library.StoredPlaylist) bool { return p.SourceID == id })
	if i < 0 || err != nil {
		return library.StoredPlaylist{}, err
	}
	return all[i], nil
}

// resume ends a write in several calls that broke off: what it has left is nothing that a person did.
func (w *playlistWriter) resume(ctx context.Context) error {
	if w.copy.Marks != anything || w.copy.Pending == "" {
		return nil
	}
	var ids []string
	if err := json.Unmarshal([]byte(w.copy.Pending), &ids); err != nil {
		return err // ours
	}
	now, err := w.find(ctx)
	if now == nil || err != nil {
		return err
	}
	has, err := tracksOf(ctx, w.there, *now)
	if err == nil && !slices.Equal(has, ids[:min(len(has), len(ids))]) { // a person has changed it since
		_, _, err = w.reread(ctx) // which keeps it as a version
	}
	if err != nil {
		return err
	}
	w.begun = true
	_, _, err = w.update(ctx, ids)
	w.begun = false
	return err
}

// prepare reads a copy that is kept equal both ways, so that the writer writes what both sides become.
func (w *playlistWriter) prepare(ctx context.Context, list library.StoredPlaylist, here []library.Track) error {
	if err := w.resume(ctx); err != nil {
		return err
	}
	now, there, err := w.reread(ctx)
	if err != nil {
		return err
	}
	marks := markOf(sourceIDs(there))
	b, searched, err := planOf(ctx, w.store, w.copy, list, here, there)
	if err != nil {
		return err
	}
	decided := w.copy.Decided
	if b.checkDecision(); w.copy.Decided != decided {
		if err := w.store.Decide(context.WithoutCancel(ctx), *w.copy); err != nil {
			return err
		}
	}
	never := w.copy.Written == 0 && w.copy.Marks == "" && w.copy.Agreed == ""
	b.fresh = now == nil || never || strings.HasSuffix(now.Name, w.mark())
	b.untouched = w.copy.marked(marks)
	b.searched, b.marks = searched, marks
	if now != nil {
		b.blankThere = now.Blank
	}
	w.both = b
	return nil
}

// wanted returns the songs that the copy is to have, by what was found there of those of the playlist.
func (w *playlistWriter) wanted(matches []songFound) []string {
	if w.both == nil {
		return found(matches)
	}
	for i, m := range matches {
		w.both.found[i] = m.Found.SourceID
	}
	if !w.both.merge() {
		w.drift = Conflict
		return nil
	}
	if !w.both.fresh {
		w.copy.Marks = w.both.marks // what comes after that is noticed
	}
	return w.both.ids(There)
}

// agree ends a delivery that has written a copy which is kept equal both ways: both sides are alike, or the rest is
// brought back to the playlist.
func (d *playlistDeliverer) agree(ctx context.Context, a *attempt, list library.StoredPlaylist, kept Copy, b *both,
	report Report) error {
	settle := kept.Drift != ""
	_, err := d.store.Connection(ctx, a.User, list.Connection)
	gone := errors.Is(err, library.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	if b.owes() && !gone {
		draft := Draft{User: a.User, Connection: list.Connection, Kind: a.Kind, Ref: BackRef(list.ID)}
		if err := d.store.CopyAgain(context.WithoutCancel(ctx), draft); err != nil {
			return err
		}
	} else if !gone {
		kept.Agreed, kept.Decided = b.agreed(b.now), ""
	}
	if settle {
		if err := settled(context.WithoutCancel(ctx), d.teller, kept); err != nil {
			return err
		}
	}
	return d.finish(ctx, a, kept, report)
}

// owes reports whether something is to be written to the playlist, or to be looked for there.
func (b *both) owes() bool {
	if !slices.Equal(b.ids(Here), songIDs(b.here)) {
		return true
	}
	open := map[int]bool{}
	for i, n := range b.onlyThere {
		open[n] = !b.searched[i]
	}
	return slices.ContainsFunc(b.merged, func(n int) bool { return b.songs[n].here == "" && open[n] })
}

// bringBack makes a playlist what its copies that are kept equal both ways and itself become together.
func (d *playlistDeliverer) bringBack(ctx context.Context, c library.Connection, a *attempt, kept Copy) error {
	id, _, _ := readRef(a.Ref)
	list, err := d.store.PlaylistOnly(ctx, a.User, id)
	if errors.Is(err, library.ErrNotFound) {
		return d.leave(ctx, a, kept)
	}
	if err != nil {
		return err
	}
	all, err := d.store.Copies(ctx, a.User, WritePlaylist)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c Copy) bool { return c.playlist() != id || c.Choice != Both })
	if len(all) == 0 || list.Locked || slices.ContainsFunc(all, func(c Copy) bool { return c.Marks == anything }) {
		return d.leave(ctx, a, kept) // a copy that is being written asks for it again
	}
	kept.RemoteID = list.SourceID
	var wrote, again bool
	var own string // the marks of what was last written
	var refused error
	read := func(do func(context.Context, *playlistWriter) error) error {
		return d.guard.Do(ctx, a.subject(c), func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
			there, ok := p.(providers.PlaylistWriter)
			if !ok {
				return providers.ErrNotOffered
			}
			return do(ctx, &playlistWriter{store: d.store, there: there, copy: &kept, name: list.Name,
				keeps: true, piecewise: d.registry.Get(c.Provider()).Takes.Piecewise})
		})
	}
	err = read(func(ctx context.Context, w *playlistWriter) error {
		if err := w.resume(ctx); err != nil {
			return err
		}
		now, here, err := w.reread(ctx)
		if now == nil || err != nil {
			return err
		}
		own = kept.Marks
		w.name, kept.Marks, list.Blank = now.Name, markOf(sourceIDs(here)), now.Blank
		for _, copied := range all {
			b, err := w.back(ctx, copied, list, here)
			if err != nil {
				return err
			}
			if b == nil || slices.Equal(b.ids(Here), songIDs(here)) {
				continue
			}
			if refused = w.losing(now, sourceIDs(here), b.ids(Here)); refused != nil {
				return nil
			}
			wrote = true
			ids := b.ids(Here)
			_, has, err := w.update(ctx, ids)
			if again = w.drift != ""; again || err != nil {
				return err
			}
			return w.notThere(ctx, b, missing(ids, has))
		}
		return nil
	})
	if resilience.IsItem(err) { // its service doesn't let it be changed
		refused, err = err, nil
	}
	if errors.Is(err, providers.ErrNotOffered) {
		return d.leave(ctx, a, kept)
	}
	if again && err == nil {
		err = errAgain
	}
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	if !wrote {
		kept.Marks = own
	}
	if err := d.finish(ctx, a, kept, Report{}); err != nil || !wrote {
		return err
	}
	// What was written is read at once, so that both sides agree; else the next reading does it.
	_ = read(func(ctx context.Context, w *playlistWriter) error {
		_, _, err := w.reread(ctx)
		return err
	})
	return nil
}

// unreadable returns how many entries of a playlist, whose tracks have these ids, can't be written again.
func unreadable(p *library.Playlist, ids []string) int {
	n := max(p.TrackCount, len(ids)+p.Blank)
	for _, id := range ids {
		if writable(id) {
			n--
		}
	}
	return n
}

// writable reports whether a track can be written by its id. It can't if it has none, where its names stand for it, and
// if it is a person's own file at Spotify.
func writable(id string) bool {
	return id != "" && !strings.HasPrefix(id, "\x00") && !strings.HasPrefix(id, "spotify:local:")
}

// losing returns why a playlist that is kept equal both ways isn't written; nil if every song stays that should.
func (w *playlistWriter) losing(p *library.Playlist, now, wanted []string) error {
	unread := unreadable(p, now)
	for _, id := range wanted {
		if !writable(id) && !slices.Contains(now, id) {
			unread++
		}
	}
	if !w.keeps || unread <= 0 {
		return nil
	}
	return refuse(words.New("delivery.playlist.unread", "Count", unread, "Playlist", p.Name))
}

// back merges the playlist that the writer writes with a copy; nil if nothing is to be done now.
func (w *playlistWriter) back(ctx context.Context, copied Copy, list library.StoredPlaylist, here []library.Track) (
	*both, error) {
	stored, err := storedAs(ctx, w.store, copied.User, copied.Connection, copied.RemoteID)
	if stored.ID == 0 || err != nil {
		return nil, err
	}
	_, there, err := w.store.Playlist(ctx, copied.User, stored.ID)
	if err != nil {
		return nil, err
	}
	b, _, err := planOf(ctx, w.store, &copied, list, here, there)
	if err != nil {
		return nil, err
	}
	if b.blankThere = stored.Blank; !b.merge() {
		return nil, nil
	}
	var wanted []library.Track
	var at []int
	stays := setOf(b.merged)
	for i, n := range b.onlyThere {
		if b.songs[n].here == "" && stays[n] {
			wanted, at = append(wanted, there[i]), append(at, i)
		}
	}
	matches, err := w.matches(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i, m := range matches {
		b.told[at[i]] = m.Found.SourceID
	}
	if !b.merge() {
		return nil, nil
	}
	return b, nil
}

// notThere notes songs as not found that were written, and that the playlist then didn't have.
func (w *playlistWriter) notThere(ctx context.Context, b *both, lost []string) error {
	none := map[string]match.Result{}
	for i, id := range b.told {
		if slices.Contains(lost, id) {
			none[trackKey(b.there[i])] = match.Result{}
		}
	}
	return w.store.SaveMatches(context.WithoutCancel(ctx), w.copy.User, w.copy.Connection, none)
}

// busy reports whether what a copy is made of is being written, or such a write broke off.
func (d *playlistDeliverer) busy(ctx context.Context, user int64, list library.StoredPlaylist) (bool, error) {
	c, err := d.store.Copy(ctx, user, list.Connection, WritePlaylist, BackRef(list.ID))
	if errors.Is(err, library.ErrNotFound) {
		return false, nil
	}
	return c.Marks == anything, err
}
