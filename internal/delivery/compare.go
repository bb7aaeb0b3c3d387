package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Drift is how a playlist's copy differs from what was written. Empty: not at all, as far as is known.
type Drift string

// The drifts.
const (
	Gone   Drift = "gone"   // it was deleted there
	Edited Drift = "edited" // its name or its tracks were changed there
	// Conflict is a copy that is kept equal both ways, where the changes of both sides can't be merged.
	Conflict Drift = "conflict"
)

// Choice is what a person wants done about a copy that drifts. Empty: they are asked.
type Choice string

// The choices.
const (
	Rewrite Choice = "write" // it is written again
	Leave   Choice = "leave" // it stays as it is there, and is not written any more
	Both    Choice = "both"  // what was changed there is brought back to the playlist
)

// Teller tells people of their copies.
type Teller interface {
	// CopyChanged asks a person what to do about a copy, once, until CopySettled.
	CopyChanged(context.Context, library.CopyChange) error
	// CopySettled withdraws the question.
	CopySettled(ctx context.Context, user int64, conn library.ConnectionID, playlist int64) error
}

// compareStore is what comparing copies needs of the store.
type compareStore interface {
	// CopiesToCompare returns copies of playlists that were neither written nor compared since a time, by connection.
	CopiesToCompare(ctx context.Context, since time.Time) ([]Copy, error)
	// SaveCompared stores what a comparison found, and reports whether it did: not if the copy changed meanwhile.
	SaveCompared(context.Context, Copy) (bool, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
	// WantCopy adds a copy and makes writing it due now, even if it was deleted or changed there. remoteID names the
	// playlist there that becomes the copy; empty for a new one.
	WantCopy(ctx context.Context, d Draft, remoteID string) error
	CopyAgain(context.Context, Draft) error
}

const (
	compareFirst = time.Minute    // from the start to the first time
	compareEvery = time.Hour      // how often it is asked which copies are due
	compareAfter = 24 * time.Hour // how long after it was written or compared a copy is due
)

// comparer compares the copies of playlists with their targets once a day.
type comparer struct {
	guard    Guard
	store    compareStore
	registry *providers.Registry
	teller   Teller
	log      *slog.Logger
	slots    *options // of the worker
}

// run compares what is due until ctx ends.
func (m *comparer) run(ctx context.Context) {
	timer := time.NewTimer(compareFirst)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(compareEvery)
		if err := m.compareDue(ctx); err != nil && ctx.Err() == nil {
			m.log.Error("copies of playlists cannot be compared", "err", err)
		}
	}
}

func (m *comparer) compareDue(ctx context.Context) error {
	due, err := m.store.CopiesToCompare(ctx, time.Now().Add(-compareAfter))
	due = slices.DeleteFunc(due, func(c Copy) bool { // delivering it compares it
		if c.Choice == Both {
			err = errors.Join(err, m.store.CopyAgain(ctx, c.draft()))
		}
		return c.Choice == Both
	})
	for len(due) > 0 && err == nil {
		n := 1
		for n < len(due) && due[n].User == due[0].User && due[n].Connection == due[0].Connection {
			n++
		}
		err = m.compareAt(ctx, due[:n])
		due = due[n:]
	}
	return err
}

// compareAt compares the copies at one connection: one call for the list, and one for each copy that has changed.
// Trouble with the provider puts them off; the guard has drawn its consequences.
func (m *comparer) compareAt(ctx context.Context, copies []Copy) error {
	c, err := m.store.Connection(ctx, copies[0].User, copies[0].Connection)
	if errors.Is(err, library.ErrNotFound) || err == nil && (c.Paused || m.registry.Get(c.Provider()) == nil) {
		return nil
	}
	if err != nil {
		return err
	}
	if !m.guard.Holds(c.ID, c.App) {
		return nil
	}
	free, ok := m.slots.slot(ctx)
	if !ok {
		return nil
	}
	defer free()
	names := make([]string, len(copies))
	for i, one := range copies {
		list, err := m.store.PlaylistOnly(ctx, one.User, one.playlist())
		if err != nil && !errors.Is(err, library.ErrNotFound) {
			return err
		}
		names[i] = list.Name
	}
	found := copies[:0:0]
	subject := providers.OfConnection(c, library.Deliveries)
	err = m.guard.Do(ctx, subject, func(ctx context.Context, _ resilience.Call, p providers.Adapter) error {
		there, ok := p.(providers.PlaylistWriter)
		if !ok {
			return fmt.Errorf("%s: adapter writes no playlists", c.ID)
		}
		lists := map[string]library.Playlist{}
		for page, err := range there.Playlists(ctx) {
			if err != nil {
				return err
			}
			for _, p := range page {
				lists[p.SourceID] = p
			}
		}
		for i, one := range copies {
			if err := one.compare(ctx, there, lists, names[i]); err != nil && !ofOneCopy(ctx, err) {
				return err
			}
			found = append(found, one)
		}
		return nil
	})
	if err != nil {
		m.log.Debug("copies of playlists are compared later", "provider", c.ID, "user_id", c.User, "err", err)
	}
	for _, one := range found {
		if err := m.settle(context.WithoutCancel(ctx), c, one); err != nil {
			return err
		}
	}
	return nil
}

// ofOneCopy reports whether a failure may be about one copy alone. It keeps what is known of that copy, which is
// compared again in a day.
func ofOneCopy(ctx context.Context, err error) bool {
	v := resilience.VerdictOf(err)
	_, refused := errors.AsType[*backoff.NotBeforeError](err)
	return !refused && ctx.Err() == nil && v.NotBefore.IsZero() &&
		(v.Category == resilience.Contract || v.Category == resilience.Upstream)
}

// compare notes in a copy, of a playlist with that name, how it differs from what was written. A copy from before
// anything was noted about it is taken as it is.
func (c *Copy) compare(ctx context.Context, there providers.PlaylistWriter, lists map[string]library.Playlist,
	name string) error {
	list, listed := lists[c.RemoteID]
	if listed && c.Drift == "" && c.Snapshot != "" && c.Snapshot == list.Snapshot {
		return nil
	}
	list.SourceID = c.RemoteID
	ids, err := tracksOf(ctx, there, list)
	switch {
	case resilience.IsItem(err): // it is not only left out of the list
		c.Drift = Gone
		return nil
	case err != nil:
		return err
	case !listed: // a list with a hole
		return nil
	}
	mark := markOf(ids)
	switch {
	case c.Marks == "" || c.marked(mark) && sameName(list.Name, name):
		c.Drift, c.Marks, c.Snapshot = "", mark, list.Snapshot
	default:
		c.Drift = Edited
	}
	return nil
}

// settle stores what a comparison found, and does what follows from it.
func (m *comparer) settle(ctx context.Context, to library.Connection, c Copy) error {
	saved, err := m.store.SaveCompared(ctx, c)
	if err != nil || !saved {
		return err
	}
	switch {
	case c.Drift != "" && c.Choice == Rewrite:
		return m.store.WantCopy(ctx, c.draft(), "")
	case c.Drift != "" && c.Choice == "":
		return tellDrift(ctx, m.teller, m.store, m.registry, to, c)
	case c.Drift == "":
		return settled(ctx, m.teller, c)
	}
	return nil
}

// draft returns the delivery that writes a copy.
func (c *Copy) draft() Draft {
	return Draft{User: c.User, Connection: c.Connection, Kind: c.Kind, Ref: c.Ref}
}

// playlist returns the id of the playlist that was copied; 0 for a version, about which nobody is asked.
func (c Copy) playlist() int64 {
	id, _ := strconv.ParseInt(c.Ref, 10, 64)
	return id
}

// tellDrift asks a person what to do about a copy.
func tellDrift(ctx context.Context, t Teller, store interface {
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
}, registry *providers.Registry, to library.Connection, c Copy) error {
	if t == nil {
		return nil
	}
	list, err := store.PlaylistOnly(ctx, c.User, c.playlist())
	if errors.Is(err, library.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.CopyChanged(ctx, library.CopyChange{User: c.User, Connection: c.Connection,
		Label: to.Label(registry.Get(to.Provider()).DisplayName), Playlist: list.ID, Name: list.Name,
		Gone: c.Drift == Gone, Conflict: c.Drift == Conflict})
}

// settled withdraws the question about a copy.
func settled(ctx context.Context, t Teller, c Copy) error {
	if t == nil {
		return nil
	}
	return t.CopySettled(ctx, c.User, c.Connection, c.playlist())
}

// sameName reports whether a playlist is called there as it is here, but for what servers do to names: they trim and
// shorten them, and replace letters.
func sameName(there, here string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	there, here = plain(there), plain(here)
	return there == here || there != "" && strings.HasPrefix(here, there)
}

// anything marks a copy that is being replaced in several calls: it may hold any tracks until the last one.
const anything = "*"

// marked reports whether a mark is, or may be, that of the tracks that were written to the copy.
func (c *Copy) marked(mark string) bool {
	return c.Marks == anything || strings.Contains(c.Marks, mark)
}

// markOf returns a short mark of a playlist's tracks.
func markOf(ids []string) string {
	h := sha256.New()
	for _, id := range ids {
		fmt.Fprintf(h, "%q\n", id)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// tracksOf returns the SourceIDs of a playlist's tracks.
func tracksOf(ctx context.Context, there providers.PlaylistSource, p library.Playlist) (ids []string, err error) {
	for page, err := range there.Tracks(ctx, p, nil) {
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			ids = append(ids, t.SourceID)
		}
	}
	return ids, nil
}

// ChooseForCopy notes what a person wants done about a copy that was deleted or changed at its provider, now and from
// now on; an empty choice means to be asked. It returns library.ErrNotFound if there is no such copy, and ErrOneWay or
// ErrNotAllowed if its playlist can't be changed where it comes from.
func (d *Deliveries) ChooseForCopy(
	ctx context.Context, user, playlist int64, conn library.ConnectionID, choice Choice,
) error {
	kept, err := d.Store.Copy(ctx, user, conn, WritePlaylist, RefOf(playlist, 0))
	if err == nil && choice == Both {
		if kept.Choice == Both {
			return nil
		}
		var why OneWay
		if why, err = d.OneWay(ctx, user, playlist); err == nil && why == NoConsent {
			err = ErrNotAllowed
		} else if err == nil && why != "" {
			err = ErrOneWay
		}
	}
	if err == nil {
		err = d.Store.ChooseForCopy(ctx, kept, choice)
	}
	if err != nil {
		return err
	}
	if choice != "" || kept.Drift == Conflict {
		err = settled(ctx, d.Teller, kept)
	}
	switch {
	case choice == Both && kept.Drift != Gone:
		err = errors.Join(err, d.Store.CopyAgain(ctx, kept.draft()))
	case (choice == Both || choice == Rewrite) && kept.Drift != "":
		err = errors.Join(err, d.Store.WantCopy(ctx, kept.draft(), ""))
	}
	d.publish(user, conn)
	return err
}
