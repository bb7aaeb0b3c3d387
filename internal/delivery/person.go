package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
)

// PersonStore is what people see and change.
type PersonStore interface {
	StartForwarding(ctx context.Context, r Rule, earlier bool) (int, error)
	CountUnforwarded(ctx context.Context, user int64, provider string, from time.Time) (int, error)
	StopForwarding(ctx context.Context, user int64, provider string) error
	WantCopy(context.Context, Draft) error
	DropCopy(ctx context.Context, user int64, provider, kind, ref string) error
	Redrive(ctx context.Context, f Filter, dry bool) (int, error)
	Discard(ctx context.Context, user, id int64) error
	Note(context.Context, activity.Entry) error
}

// did notes what a person did. That it cannot be noted stops nothing.
func (d *Deliveries) did(ctx context.Context, user int64, provider string, what activity.Action, subject string) {
	if _, channel := ChannelNumber(provider); channel {
		provider = ""
	}
	if err := d.store.Note(ctx, activity.Entry{User: user, Action: what, Provider: provider, Subject: subject}); err != nil {
		d.log.Error("activity cannot be noted", "err", err)
	}
}

// ErrNotTaken says that a provider does not take what it should be sent.
var ErrNotTaken = errors.New("the service takes nothing of this kind")

// BacklogError says that too much waits already for more to be added.
type BacklogError struct{ Waiting, Limit int }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("%d deliveries wait, the limit is %d", e.Waiting, e.Limit)
}

// room is a *BacklogError when nobody may add to what waits.
func (d *Deliveries) room(ctx context.Context) error {
	n, err := d.queue.Backlog(ctx)
	if err == nil && n >= d.opt.BacklogLimit {
		err = &BacklogError{n, d.opt.BacklogLimit}
	}
	return err
}

// Forward has a person's listens carried to a provider from now on; with earlier, those stored before too, as far as the
// provider takes them and does not have them. It returns how many of those there are: listens, or months of an archive.
func (d *Deliveries) Forward(ctx context.Context, user int64, provider string, earlier bool) (n int, err error) {
	r, err := d.rule(user, provider, earlier)
	if err != nil {
		return 0, err
	}
	if _, err := d.store.Connection(ctx, user, provider); err != nil {
		return 0, err
	}
	if earlier {
		if err := d.room(ctx); err != nil {
			return 0, err
		}
	}
	if n, err = d.store.StartForwarding(ctx, r, earlier); err == nil {
		d.did(ctx, user, provider, activity.ForwardingOn, "")
	}
	return n, errors.Join(err, d.started(ctx, user, provider))
}

func (d *Deliveries) rule(user int64, provider string, earlier bool) (Rule, error) {
	now := time.Now()
	r := Rule{User: user, Provider: provider, Since: now, From: now, Batch: 1}
	p := d.registry.Get(provider)
	switch {
	case p != nil && p.Takes.Archive:
		r.Kind, r.From = Archive, time.Time{}
		return r, nil
	case p == nil || p.Takes.Listens == "":
		return r, ErrNotTaken
	}
	r.Kind, r.Batch, r.Oldest = p.Takes.Listens, p.Takes.Batch, p.Takes.Oldest
	if earlier {
		r.From = earliest(p.Takes)
	}
	return r, nil
}

// earliest is the instant from which on a provider takes listens; zero for any.
func earliest(t providers.Takes) time.Time {
	if t.Oldest == 0 {
		return time.Time{}
	}
	return time.Now().Add(-t.Oldest)
}

// Earlier is how many listens Forward would send at once.
func (d *Deliveries) Earlier(ctx context.Context, user int64, provider string) (int, error) {
	p := d.registry.Get(provider)
	if p == nil || p.Takes.Listens == "" {
		return 0, nil
	}
	return d.store.CountUnforwarded(ctx, user, provider, earliest(p.Takes))
}

// StopForwarding ends what Forward began. What waits already is still carried.
func (d *Deliveries) StopForwarding(ctx context.Context, user int64, provider string) error {
	defer d.publish(user, provider)
	err := d.store.StopForwarding(ctx, user, provider)
	if err == nil {
		d.did(ctx, user, provider, activity.ForwardingOff, "")
	}
	return err
}

// WritePlaylist has a provider hold a copy of a playlist from now on.
func (d *Deliveries) WritePlaylist(ctx context.Context, user, playlist int64, provider string) error {
	p := d.registry.Get(provider)
	list, _, err := d.store.Playlist(ctx, user, playlist)
	switch {
	case err != nil:
		return err
	case p == nil || !p.Takes.Playlists || list.Provider == provider:
		return ErrNotTaken
	}
	if _, err := d.store.Connection(ctx, user, provider); err != nil {
		return err
	}
	if err := d.room(ctx); err != nil {
		return err
	}
	if err := d.store.ForgetMatches(ctx, user, provider, []string{""}); err != nil { // what was not there may be by now
		return err
	}
	err = d.store.WantCopy(ctx, Draft{User: user, Provider: provider, Kind: WritePlaylist, Ref: strconv.FormatInt(playlist, 10)})
	return errors.Join(err, d.started(ctx, user, provider))
}

// StopWriting ends what WritePlaylist began. The copy stays as it is.
func (d *Deliveries) StopWriting(ctx context.Context, user, playlist int64, provider string) error {
	defer d.publish(user, provider)
	return d.store.DropCopy(ctx, user, provider, WritePlaylist, strconv.FormatInt(playlist, 10))
}

// Redrive makes deliveries due that are dead or wait for their next attempt, and returns how many; dry only counts them.
func (d *Deliveries) Redrive(ctx context.Context, f Filter, dry bool) (int, error) {
	if dry {
		return d.store.Redrive(ctx, f, true)
	}
	if err := d.room(ctx); err != nil {
		d.opt.Metrics.Redriven("refused", 1)
		return 0, err
	}
	n, err := d.store.Redrive(ctx, f, false)
	if n == 0 {
		d.opt.Metrics.Redriven("nothing", 1)
		return 0, err
	}
	d.opt.Metrics.Redriven("due", n)
	d.did(ctx, f.User, f.Provider, activity.Redriven, strconv.Itoa(n))
	return n, errors.Join(err, d.started(ctx, f.User, f.Provider))
}

// Discard removes a delivery that is not running.
func (d *Deliveries) Discard(ctx context.Context, user, id int64) error {
	defer d.publish(user, "")
	err := d.store.Discard(ctx, user, id)
	if err == nil {
		d.did(ctx, user, "", activity.Discarded, "")
	}
	return err
}

// Connected lets go out what waited for a connection. To be connected is all that an archive asks for.
func (d *Deliveries) Connected(ctx context.Context, c library.Connection) error {
	err := d.Release(ctx, c.User, c.Provider)
	if p := d.registry.Get(c.Provider); p != nil && p.Takes.Archive {
		r, e := d.rule(c.User, c.Provider, true)
		if e == nil {
			_, e = d.store.StartForwarding(ctx, r, true)
		}
		err = errors.Join(err, e, d.started(ctx, c.User, c.Provider))
	}
	return err
}

// Release makes due what was parked for a connection, because the person has done what was asked of them, and what has
// died of its connection's trouble.
func (d *Deliveries) Release(ctx context.Context, user int64, provider string) error {
	return errors.Join(d.queue.Release(ctx, queue.Of(user, provider)), d.store.Revive(ctx, user, provider), d.started(ctx, user, provider))
}

// ReportOf reads the report of a playlist's copy.
func ReportOf(c Copy) (r Report) {
	_ = json.Unmarshal([]byte(c.Report), &r) // ours, or empty before the first writing
	return r
}

// ArchivedOf reads the report of a month of the archive.
func ArchivedOf(c Copy) (a Archived) {
	_ = json.Unmarshal([]byte(c.Report), &a)
	return a
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own plain types come here
	}
	return string(b)
}
