package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// personStore is what the acts of people need of the store.
type personStore interface {
	StartForwarding(ctx context.Context, r Rule, earlier bool) (int, error)
	StopForwarding(ctx context.Context, user int64, conn library.ConnectionID) error
	// CountUnforwarded returns how many listens since a time StartForwarding would enqueue.
	CountUnforwarded(ctx context.Context, user int64, conn library.ConnectionID, from time.Time) (int, error)
	ChooseForCopy(context.Context, Copy, Choice) error
	Decide(context.Context, Copy) error
	DropCopy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) error
	Redrive(ctx context.Context, f Filter, dry bool) (int, error)
	// Revive makes due all that waits to be sent to a connection, whether it is parked or waits for its next attempt,
	// and what has died, except of what it delivers.
	Revive(context.Context, Send) error
	// Backlog returns how many deliveries of all people wait or run.
	Backlog(context.Context) (int, error)
	Discard(ctx context.Context, user, id int64) error
	// DiscardDead removes the dead letters that a filter selects, and returns how many; dry only counts them.
	DiscardDead(ctx context.Context, f Filter, dry bool) (int, error)
	answerStore
	Note(context.Context, activity.Entry) error
}

// did notes what a person did. If it cannot be noted, the act goes on.
func (d *Deliveries) did(ctx context.Context, e activity.Entry) {
	if _, channel := ChannelNumber(e.Connection); channel {
		e.Connection = ""
	}
	if err := d.Store.Note(ctx, e); err != nil {
		d.Log.Error("activity cannot be noted", "err", err)
	}
}

// Leave cuts off the attempts at deliveries of a person whose account is being removed, and returns when they have
// ended. It may be called again.
func (d *Deliveries) Leave(_ context.Context, user int64) error {
	d.runner.worker.cutOff(user)
	return nil
}

// ErrNotAllowed reports that a person has not yet allowed Reprise to make a change at a service.
var ErrNotAllowed = errors.New("the person has not allowed that there")

// ErrUnderWay reports that an earlier copy of a playlist is still being written at a service.
var ErrUnderWay = errors.New("an earlier copy is still being written there")

// ErrNotTaken reports that a provider does not take what it should be sent.
var ErrNotTaken = errors.New("the service takes nothing of this kind")

// BacklogError reports that too many deliveries wait for more to be added.
type BacklogError struct{ Waiting, Limit int }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("%d deliveries wait, the limit is %d", e.Waiting, e.Limit)
}

// room returns a *BacklogError when the backlog is full.
func (d *Deliveries) room(ctx context.Context) error {
	n, err := d.Store.Backlog(ctx)
	if most := d.opt.get().BacklogLimit; err == nil && n >= most {
		err = &BacklogError{n, most}
	}
	return err
}

// WritePlaylist has a provider hold a copy of a playlist from now on.
func (d *Deliveries) WritePlaylist(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
	list, err := d.Store.PlaylistOnly(ctx, user, playlist)
	if err == nil && list.Connection == conn {
		err = ErrNotTaken
	}
	if err != nil {
		return err
	}
	return d.write(ctx, user, RefOf(playlist, 0), conn, "")
}

// MayBecomeCopy reports whether a playlist can become a copy of another one: it isn't a copy, and none of its person's
// copies is of it, so that nothing is written in a circle.
func MayBecomeCopy(p library.StoredPlaylist, copies []Copy) bool {
	return p.Active && p.CopyOf == 0 &&
		!slices.ContainsFunc(copies, func(c Copy) bool { return c.playlist() == p.ID })
}

// WriteInto is WritePlaylist, but into a playlist that the provider has already, which loses its tracks. It returns
// ErrNotTaken if that one can't become a copy, or a copy is there already, and ErrUnderWay while one is being written.
func (d *Deliveries) WriteInto(ctx context.Context, user, playlist, into int64) error {
	list, err := d.Store.PlaylistOnly(ctx, user, playlist)
	if err != nil {
		return err
	}
	there, err := d.Store.PlaylistOnly(ctx, user, into)
	if err != nil {
		return err
	}
	all, err := d.Store.Copies(ctx, user, WritePlaylist)
	already := slices.ContainsFunc(all, func(c Copy) bool {
		return c.playlist() == playlist && c.Connection == there.Connection
	})
	if err == nil && (already || !MayBecomeCopy(there, all) || there.Connection == list.Connection) {
		err = ErrNotTaken
	}
	if err != nil {
		return err
	}
	return d.write(ctx, user, RefOf(playlist, 0), there.Connection, there.SourceID)
}

// Restore has a provider hold what a playlist was like earlier: the one that the playlist comes from has it as it was,
// and another one as a playlist of its own.
func (d *Deliveries) Restore(ctx context.Context, user, playlist int64, version int, to library.ConnectionID) error {
	if _, _, err := d.Store.Version(ctx, user, playlist, version); err != nil {
		return err
	}
	return d.write(ctx, user, RefOf(playlist, version), to, "")
}

// write has a provider hold a copy of what a reference names. into is the id of the playlist there to write it into;
// empty for a new one.
func (d *Deliveries) write(ctx context.Context, user int64, ref string, conn library.ConnectionID,
	into string) error {
	p := d.Registry.Get(conn.Provider())
	if p == nil || !p.Takes.Playlists {
		return ErrNotTaken
	}
	c, err := d.Store.Connection(ctx, user, conn)
	switch {
	case err != nil:
	case !p.TakesPlaylists(c.Credentials):
		err = ErrNotTaken
	case !p.May(providers.WritePlaylists, c.Credentials):
		err = ErrNotAllowed
	}
	if err != nil {
		return err
	}
	if err := d.room(ctx); err != nil {
		return err
	}
	// A track that was not there may be by now.
	if err := d.Store.ForgetMatches(ctx, user, conn, []string{""}); err != nil {
		return err
	}
	draft := Draft{User: user, Connection: conn, Kind: WritePlaylist, Ref: ref}
	defer d.publish(user, conn)
	kept, err := d.Store.Copy(ctx, user, conn, WritePlaylist, ref)
	if err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	if kept.Choice == Both && kept.Drift != Gone { // it is merged, and a conflict stays until it is decided
		return d.Store.CopyAgain(ctx, draft)
	}
	return errors.Join(d.Store.WantCopy(ctx, draft, into),
		settled(ctx, d.Teller, Copy{User: user, Connection: conn, Ref: draft.Ref}))
}

// StopWriting ends what WritePlaylist began. The provider keeps its copy.
func (d *Deliveries) StopWriting(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
	defer d.publish(user, conn)
	ref := strconv.FormatInt(playlist, 10)
	return errors.Join(d.Store.DropCopy(ctx, user, conn, WritePlaylist, ref),
		settled(ctx, d.Teller, Copy{User: user, Connection: conn, Ref: ref}))
}

// Redrive makes deliveries due that are dead or wait for their next attempt, and returns how many; dry only counts
// them.
func (d *Deliveries) Redrive(ctx context.Context, f Filter, dry bool) (int, error) {
	if dry {
		return d.Store.Redrive(ctx, f, true)
	}
	if err := d.room(ctx); err != nil {
		d.opt.get().Metrics.Redriven("refused", 1)
		return 0, err
	}
	if err := d.Store.ForgetMisses(ctx, f.User, f.Connection); err != nil { // what was not there may be by now
		return 0, err
	}
	n, err := d.Store.Redrive(ctx, f, false)
	if n == 0 {
		d.opt.get().Metrics.Redriven("nothing", 1)
		return 0, err
	}
	d.opt.get().Metrics.Redriven("due", n)
	d.did(ctx, activity.Entry{User: f.User, Action: activity.Redriven, Connection: f.Connection,
		Subject: strconv.Itoa(n)})
	d.publish(f.User, f.Connection)
	return n, err
}

// Discard removes a delivery that is not running.
func (d *Deliveries) Discard(ctx context.Context, user, id int64) error {
	defer d.publish(user, "")
	err := d.Store.Discard(ctx, user, id)
	if err == nil {
		d.did(ctx, activity.Entry{User: user, Action: activity.Discarded})
	}
	return err
}

// DiscardDead removes the dead letters that a filter selects, and returns how many; dry only counts them.
func (d *Deliveries) DiscardDead(ctx context.Context, f Filter, dry bool) (int, error) {
	n, err := d.Store.DiscardDead(ctx, f, dry)
	if !dry && n > 0 {
		d.did(ctx, activity.Entry{User: f.User, Action: activity.Discarded, Connection: f.Connection,
			Subject: strconv.Itoa(n)})
		d.publish(f.User, f.Connection)
	}
	return n, err
}

// Connected releases what waited for a connection that has just been made. One from which nothing is read was made to
// send there: its forwarding starts here, for an archive with everything. What it forwards, or not, stays when it is
// connected again.
func (d *Deliveries) Connected(ctx context.Context, c library.Connection, again bool) error {
	err := d.Release(ctx, c.User, c.ID)
	p := d.Registry.Get(c.Provider())
	if p != nil && len(p.Streams) == 0 && (!again || p.Takes.Archive) {
		r, e := d.rule(c.User, c.ID, p.Takes.Archive)
		if e == nil {
			_, e = d.Store.StartForwarding(ctx, r, p.Takes.Archive)
		}
		err = errors.Join(err, e)
		if p.Takes.Loves {
			err = errors.Join(err, d.KeepLoves(ctx, c.User, c.ID))
		}
		d.publish(c.User, c.ID)
	}
	return err
}

// Resume makes deliveries to connections due that another server has left as running.
func (d *Deliveries) Resume(ctx context.Context, all []library.Outline) error {
	these := map[Send]bool{}
	for _, c := range all {
		these[Send{User: c.User, Connection: c.ID}] = true
	}
	return d.Store.Resume(ctx, func(due Due) bool { return these[due.Send] })
}

// Release makes due all that waits to be sent to a connection: what was parked, what has its next attempt later, and
// what has died of the connection's trouble. The person has done what was needed, or asks for it.
func (d *Deliveries) Release(ctx context.Context, user int64, conn library.ConnectionID) error {
	defer d.publish(user, conn)
	return d.Store.Revive(ctx, Send{User: user, Connection: conn})
}
