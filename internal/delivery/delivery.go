package delivery

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/match"
)

// Failure is why an attempt failed, as it is kept with the delivery.
type Failure struct {
	Category string
	Reason   string // in words, for a person
	Answer   string // what the upstream said
}

// Refused is a listen that a provider refused for good.
type Refused struct {
	Listen int64
	Failure
}

// Waiting is what waits to be carried to one provider.
type Waiting struct {
	Listens   int
	Playlists int
	Months    int // of the archive
	Parked    int // of all these: wait for a person
}

// String says it in words, such as "37 listens and 1 playlist"; empty when nothing waits.
func (o Waiting) String() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{{o.Listens, "listen", "listens"}, {o.Playlists, "playlist", "playlists"}, {o.Months, "month of the archive", "months of the archive"}} {
		switch part.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.many))
		}
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// Copy is something of ours that a provider holds a copy of.
type Copy struct {
	User      int64
	Provider  string
	Kind      string
	Ref       string // a playlist's number, or a month
	Wanted    int64  // grows with every change of ours
	Written   int64  // what Wanted was when the copy was written; 0 for never
	RemoteID  string // the playlist's number there, or the object's ETag
	Report    string // JSON; see Report and Archived
	WrittenAt time.Time
}

// Work is what the store keeps for those who carry.
type Work interface {
	Connection(ctx context.Context, user int64, provider string) (library.Connection, error)
	ListensOf(ctx context.Context, id int64) ([]library.StoredListen, error)
	Split(ctx context.Context, from Draft, id int64, more [][]int64, dead []Refused) error
	NoteFailure(ctx context.Context, id int64, f Failure, dead bool) error
	Queues(context.Context) ([]string, error)
	Parked(context.Context) ([]library.Connection, error)
	Revive(ctx context.Context, user int64, provider string) error
	CopyStore
	MessageStore
}

// CopyStore keeps what copies are made of.
type CopyStore interface {
	Copy(ctx context.Context, user int64, provider, kind, ref string) (Copy, error)
	SaveRemote(context.Context, Copy) error
	EndCopy(ctx context.Context, id int64, c Copy, done bool) (ended bool, err error)
	Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error)
	Matches(ctx context.Context, user int64, provider string, tracks []string) (map[string]match.Result, error)
	SaveMatches(ctx context.Context, user int64, provider string, found map[string]match.Result) error
	ForgetMatches(ctx context.Context, user int64, provider string, sourceIDs []string) error
	Month(ctx context.Context, user int64, from, to time.Time) iter.Seq2[library.StoredListen, error]
}

// Delivery is one thing to be carried, as it stands.
type Delivery struct {
	ID          int64
	User        int64
	Provider    string
	Kind        string
	Ref         string
	Items       int
	State       State
	Attempts    int // used up
	MaxAttempts int
	Due         time.Time // of the next attempt, while it is scheduled or retrying
	EndedAt     time.Time // when it became done or dead; zero before
	CreatedAt   time.Time
	Failure               // of the latest attempt that failed
	DeadSince   time.Time // when it became dead for the first time
}

// Filter picks deliveries of one person. Empty fields pick all.
type Filter struct {
	User     int64
	ID       int64
	State    State
	Provider string // or the kind of a channel
	Kind     string
	Category string
}

// Rule is a person's wish to have their listens carried to a provider.
type Rule struct {
	User     int64
	Provider string
	Kind     string
	Batch    int
	From     time.Time     // listens that were played earlier are not carried
	Oldest   time.Duration // nor are those that are older than this; 0 for any age
	Since    time.Time     // when the wish was made
}

// ForwardingCounts counts the outcomes of forwarding a person's listens to a provider.
type ForwardingCounts struct {
	Sent    int
	Waiting int
	Parked  int
	Refused int // could not be sent
	There   int // were there already
	Next    time.Time
}

// ForwardedListen is a listen with the outcome of forwarding it to a provider.
type ForwardedListen struct {
	ID            int64
	Title, Artist string
	PlayedAt      time.Time
	Outcome       string // a State, or "there": it was there already
	Due           time.Time
	EndedAt       time.Time
	ThereSince    time.Time // when the provider told of it; zero when that is not known
	Reason        string
	Delivery      int64 // 0 when it is forgotten
}

// MonthOf names the month, in UTC, whose part of the archive a play belongs to.
func MonthOf(at time.Time) string { return at.UTC().Format(monthForm) }

const monthForm = "2006-01"
