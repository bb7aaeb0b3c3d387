package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
)

// The kinds of deliveries.
const (
	SubmitListens = "submit_listens"
	Scrobble      = "scrobble"
	WritePlaylist = "write_playlist"
	WriteLoves    = "write_loves" // Ref is LovesRef
	Archive       = "archive"
	DeleteListens = "delete_listens" // Ref is the correction that has deleted them here
	Notify        = "notify"         // the messages of a channel outside the browser; Ref is its id
)

// Kinds are all kinds, in the order in which people see them.
var Kinds = []string{SubmitListens, Scrobble, DeleteListens, WritePlaylist, WriteLoves, Archive, Notify}

// Copies reports whether deliveries of a kind write a copy, which is written again whenever ours changes. A listen is
// delivered once.
func Copies(kind string) bool { return kind == WritePlaylist || kind == WriteLoves || kind == Archive }

// LovesRef is the Ref of what a person loves: all of it is one copy.
const LovesRef = "loves"

// again reports whether deliveries of a kind may come again when they are done: copies, and a channel's messages. The
// index deliveries_key of the database knows them, too.
func again(kind string) bool { return Copies(kind) || kind == Notify }

// Schema is the version of what a stored delivery means that this program writes and understands.
const Schema = 1

// Draft is a delivery that is not stored yet.
type Draft struct {
	User       int64
	Connection library.ConnectionID
	Kind       string
	Ref        string
	Listens    []int64 // their ids, the oldest play first
	History    bool    // is delivered after everything that is new
	Due        time.Time
}

// Items returns how many listens or copies the draft is about.
func (d Draft) Items() int { return max(len(d.Listens), 1) }

// Key returns the idempotency key, which is the same for all drafts of the same delivery.
func (d Draft) Key() string {
	if !slices.Contains(Kinds, d.Kind) {
		panic("delivery: no such kind: " + d.Kind)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%s\n%s\n", d.Connection, d.User, d.Kind, d.Ref)
	for _, id := range d.Listens {
		fmt.Fprintf(h, "%d\n", id)
	}
	return hex.EncodeToString(h.Sum(nil))
}
