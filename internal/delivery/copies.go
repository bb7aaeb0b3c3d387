package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"reprise/internal/library"
)

// Copy is a playlist of ours, or a month of our listens, that a provider holds a copy of.
type Copy struct {
	User       int64
	Connection library.ConnectionID
	Kind       string
	Ref        string // a playlist's id, with @ and a number that of its version, or a month
	Wanted     int64  // grows with every change of ours
	Written    int64  // what Wanted was when the copy was written; 0 for never
	RemoteID   string // the playlist's id there, or the object's ETag
	Report     string // JSON; see Report and Archived
	WrittenAt  time.Time

	// The following is known of playlists only.
	Marks    string // what it is like there as it was written, or is about to be; see markOf
	Snapshot string // the provider's own, when the copy was compared last
	Drift    Drift  // how it differs from what was written
	Choice   Choice // what is done about that

	// The following is known of those that are kept equal both ways only.
	Agreed  string // JSON: the songs when both sides were alike last; empty if they never were
	Decided Side   // what its person keeps where changes can't be merged
	Seen    string // what both sides were like then; see seenOf
	Pending string // JSON: what is being written in several calls
}

// copyStore is what the delivery of copies needs of the store.
type copyStore interface {
	endStore
	songStore
	monthStore
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	// Copy returns a copy, or library.ErrNotFound when none is wanted.
	Copy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) (Copy, error)
	// DropCopy ends a copy, and its deliveries that have not gone out.
	DropCopy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) error
	// SaveRemote stores the copy's RemoteID, Report, Marks and Pending.
	SaveRemote(context.Context, Copy) error
	Copies(ctx context.Context, user int64, kind string) ([]Copy, error)
	CopyAgain(context.Context, Draft) error
	// Decide stores the copy's Decided and Seen, and makes writing it due now.
	Decide(context.Context, Copy) error
	ConnectionPlaylists(ctx context.Context, user int64, conn library.ConnectionID) ([]library.StoredPlaylist, error)
	Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error)
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
	SavePlaylist(ctx context.Context, user int64, conn library.ConnectionID, p library.Playlist, position int,
		tracks []library.Track) error
	// Version returns what a user's playlist was like earlier, or library.ErrNotFound.
	Version(ctx context.Context, user, playlist int64, number int) (library.PlaylistVersion, []library.Track, error)
}

// copyWriter is what the delivery of playlists and months has in common.
type copyWriter struct {
	guard    Guard
	store    copyStore
	browsers *browsers
}

// copy returns what identifies the attempt's copy, as it was read.
func (a *attempt) copy() Copy {
	return Copy{User: a.User, Connection: a.Connection, Kind: a.Kind, Ref: a.Ref, Wanted: a.seen}
}

// read returns the attempt's copy. wanted is false when the copy is no longer wanted, which ends the delivery.
func (w *copyWriter) read(ctx context.Context, a *attempt) (c Copy, wanted bool, err error) {
	c, err = w.store.Copy(ctx, a.User, a.Connection, a.Kind, a.Ref)
	if a.seen = c.Wanted; !errors.Is(err, library.ErrNotFound) {
		return c, true, err
	}
	ended, err := w.store.EndCopy(context.WithoutCancel(ctx), a.ID, a.copy(), true)
	if err == nil && !ended { // it is wanted again
		err = errAgain
	}
	return c, false, err
}

// leave ends the delivery of a copy that stays as it is there.
func (w *copyWriter) leave(ctx context.Context, a *attempt, c Copy) error {
	ended, err := w.store.EndCopy(context.WithoutCancel(ctx), a.ID, c, true)
	if err == nil && !ended {
		return errAgain
	}
	if err == nil {
		w.browsers.publish(a.User, a.Connection)
	}
	return err
}

// finish stores that a copy has been written, and goes on when ours has changed meanwhile.
func (w *copyWriter) finish(ctx context.Context, a *attempt, c Copy, report any) error {
	if r, ok := report.(Report); ok {
		report = r.kept()
	}
	c.Report, c.Drift = jsonOf(report), ""
	ended, err := w.store.EndCopy(context.WithoutCancel(ctx), a.ID, c, true)
	if err == nil && !ended {
		return errAgain
	}
	if err == nil {
		w.browsers.publish(a.User, a.Connection)
	}
	return err
}

// ReportOf reads the report of a playlist's copy.
func ReportOf(c Copy) (r Report) {
	_ = json.Unmarshal([]byte(c.Report), &r) // ours, or empty before the copy is written for the first time
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
