package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// The kinds of deliveries.
const (
	SubmitListens = "submit_listens"
	Scrobble      = "scrobble"
	WritePlaylist = "write_playlist"
	Archive       = "archive"
	Notify        = "notify" // what a channel outside the browser is to tell; Ref is its number
)

// Schema is the version of the payload that this version writes and understands.
const Schema = 1

// Payload is what the queue holds of a delivery. Which listens it carries stands in the database, so that they can be
// divided among deliveries.
type Payload struct {
	Schema   int    `json:"schema_version"`
	User     int64  `json:"user_id"`
	Provider string `json:"provider"`
	Ref      string `json:"ref,omitempty"` // a playlist's number, or a month such as 2026-11
	Key      string `json:"idempotency_key"`
}

func (p Payload) payload() Payload { return p }

// Each kind is a type of its own, as River wants it.
type (
	submitListens struct{ Payload }
	scrobble      struct{ Payload }
	writePlaylist struct{ Payload }
	archive       struct{ Payload }
	messages      struct{ Payload }
)

func (submitListens) Kind() string { return SubmitListens }
func (scrobble) Kind() string      { return Scrobble }
func (writePlaylist) Kind() string { return WritePlaylist }
func (archive) Kind() string       { return Archive }
func (messages) Kind() string      { return Notify }

// Draft is something to be carried, on its way into the queue.
type Draft struct {
	User     int64
	Provider string
	Kind     string
	Ref      string
	Listens  []int64 // their numbers, the oldest play first
	History  bool    // goes out after everything that is new
	Due      time.Time
}

// Items is how many listens or copies the order is about.
func (o Draft) Items() int { return max(len(o.Listens), 1) }

// Copies says whether deliveries of a kind make a copy that is written again whenever ours changes. Then a delivery that
// is done stands in nobody's way, while a play is carried once.
func Copies(kind string) bool { return kind == WritePlaylist || kind == Archive }

// again says whether deliveries of a kind may come again when they are done: copies do, and what tells a channel of all
// that waits for it.
func again(kind string) bool { return Copies(kind) || kind == Notify }

// Key is the idempotency key: the same for everything that is the same delivery.
func (o Draft) Key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%s\n%s\n", o.Provider, o.User, o.Kind, o.Ref)
	for _, id := range o.Listens {
		fmt.Fprintf(h, "%d\n", id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	priorityNew     = 1
	priorityHistory = 3
)

// Job is the order as River takes it. attempts is how often it may be attempted.
func (o Draft) Job(attempts int) (river.JobArgs, *river.InsertOpts) {
	p := Payload{Schema: Schema, User: o.User, Provider: o.Provider, Ref: o.Ref, Key: o.Key()}
	states := []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateScheduled,
		rivertype.JobStateRetryable, rivertype.JobStateCancelled, rivertype.JobStateDiscarded}
	if !again(o.Kind) {
		states = append(states, rivertype.JobStateCompleted)
	}
	opts := &river.InsertOpts{MaxAttempts: attempts, Priority: priorityNew, Queue: QueueOf(o.Provider, o.User), ScheduledAt: o.Due,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: states}}
	if o.History {
		opts.Priority = priorityHistory
	}
	switch o.Kind {
	case SubmitListens:
		return submitListens{p}, opts
	case Scrobble:
		return scrobble{p}, opts
	case WritePlaylist:
		return writePlaylist{p}, opts
	case Archive:
		return archive{p}, opts
	case Notify:
		return messages{p}, opts
	}
	panic("delivery: no such kind: " + o.Kind)
}

// lanes bounds how many queues one provider's deliveries have, and those of all channels, on an installation with many
// people: each is looked at every second.
const lanes = 16

// QueueOf is the queue of what is owed to one person's account at a provider, or to a channel. It has one worker: that
// goes out in order, and waits neither for another provider's deliveries nor, in a household, for another person's or
// another channel's.
func QueueOf(provider string, user int64) string {
	if channel, ok := ChannelNumber(provider); ok {
		return fmt.Sprintf("channel_%d", channel%lanes)
	}
	return fmt.Sprintf("%s_%d", strings.ReplaceAll(provider, ".", "_"), user%lanes)
}
