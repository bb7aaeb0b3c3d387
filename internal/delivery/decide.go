package delivery

import (
	"context"
	"errors"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/versions"
)

var (
	// ErrOneWay reports that a playlist can't be kept equal both ways: it can't be changed where it comes from.
	ErrOneWay = errors.New("the playlist can't be changed where it comes from")
	// ErrNotAsked reports that there is no conflict to decide.
	ErrNotAsked = errors.New("nothing is to be decided about the copy")
)

// OneWay is why a playlist can't be changed where it comes from. Empty: it can.
type OneWay string

// The reasons.
const (
	OfRecipe   OneWay = "recipe"  // Reprise makes it from a recipe
	OfService  OneWay = "service" // Reprise can't write playlists there
	Locked     OneWay = "locked"  // it is another account's, or the service makes it
	NoConsent  OneWay = "consent" // its person hasn't allowed it yet
	NoPlaylist OneWay = "gone"    // it, or the connection, is gone
)

// OneWay returns why a playlist can't be kept equal with a copy both ways.
func (d *Deliveries) OneWay(ctx context.Context, user, playlist int64) (OneWay, error) {
	list, err := d.Store.PlaylistOnly(ctx, user, playlist)
	if err != nil {
		return "", err
	}
	if list.Connection == library.Recipes {
		return OfRecipe, nil
	}
	c, err := d.Store.Connection(ctx, user, list.Connection)
	if errors.Is(err, library.ErrNotFound) || err == nil && !list.Active {
		return NoPlaylist, nil
	}
	if err != nil {
		return "", err
	}
	p := d.Registry.Get(list.Connection.Provider())
	switch {
	case p == nil || !p.TakesPlaylists(c.Credentials):
		return OfService, nil
	case list.Locked:
		return Locked, nil
	case !p.May(providers.WritePlaylists, c.Credentials):
		return NoConsent, nil
	}
	return "", nil
}

// WriteAgain has a copy that was deleted or changed at its provider written again. One that is kept equal both ways
// stays so.
func (d *Deliveries) WriteAgain(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
	kept, err := d.Store.Copy(ctx, user, conn, WritePlaylist, RefOf(playlist, 0))
	if err != nil {
		return err
	}
	if kept.Choice != Both || kept.Drift != Gone {
		return d.ChooseForCopy(ctx, user, playlist, conn, Rewrite)
	}
	defer d.publish(user, conn)
	return errors.Join(d.Store.WantCopy(ctx, kept.draft(), ""), settled(ctx, d.Teller, kept))
}

// Decide ends a conflict between a playlist and its copy: both become like one of the sides, or take what either has.
// It returns ErrNotAsked if there is none, and library.ErrNotFound if there is no such copy.
func (d *Deliveries) Decide(ctx context.Context, user, playlist int64, conn library.ConnectionID, side Side) error {
	kept, err := d.Store.Copy(ctx, user, conn, WritePlaylist, RefOf(playlist, 0))
	if err == nil && kept.Drift != Conflict {
		err = ErrNotAsked
	}
	if err != nil {
		return err
	}
	_, here, _, there, err := d.sides(ctx, kept)
	if err != nil {
		return err
	}
	defer d.publish(user, conn)
	kept.Decided, kept.Seen = side, seenOf(here, there)
	return errors.Join(d.Store.Decide(ctx, kept), settled(ctx, d.Teller, kept))
}

// sides returns a playlist and its copy, as they were read last.
func (d *Deliveries) sides(ctx context.Context, c Copy) (list library.StoredPlaylist, here []library.Track,
	copied library.StoredPlaylist, there []library.Track, err error) {
	if list, here, err = d.Store.Playlist(ctx, c.User, c.playlist()); err != nil {
		return list, nil, copied, nil, err
	}
	if copied, err = storedAs(ctx, d.Store, c.User, c.Connection, c.RemoteID); err == nil {
		_, there, err = d.Store.Playlist(ctx, c.User, copied.ID)
	}
	return list, here, copied, there, err
}

// Sided is a song of one side of a conflict. Only says that the other side doesn't have it.
type Sided struct {
	library.Track
	Only bool
}

// Dispute is what a person decides about: both sides of a playlist, and why they can't be merged.
type Dispute struct {
	Why         versions.Conflict
	Here, There []Sided
}

// Dispute returns the conflict between a playlist and its copy, or ErrNotAsked.
func (d *Deliveries) Dispute(ctx context.Context, user, playlist int64, conn library.ConnectionID) (
	v Dispute, err error) {
	kept, err := d.Store.Copy(ctx, user, conn, WritePlaylist, RefOf(playlist, 0))
	if err == nil && (kept.Drift != Conflict || kept.Decided != "") {
		err = ErrNotAsked
	}
	if err != nil {
		return v, err
	}
	list, here, stored, there, err := d.sides(ctx, kept)
	if err != nil {
		return v, err
	}
	b, _, err := planOf(ctx, d.Store, &kept, list, here, there)
	if err != nil {
		return v, err
	}
	b.blankThere = stored.Blank
	b.merge()
	v.Why, v.Here, v.There = b.why, sided(here, b.onlyHere, b.onlyThere), sided(there, b.onlyThere, b.onlyHere)
	return v, nil
}

// sided returns the tracks of one side, by the numbers of their songs and of those of the other side.
func sided(tracks []library.Track, numbers, other []int) []Sided {
	all, has := make([]Sided, len(tracks)), setOf(other)
	for i := range tracks {
		all[i] = Sided{tracks[i], !has[numbers[i]]}
	}
	return all
}
