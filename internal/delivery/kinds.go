package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// The kinds of deliveries.
const (
	SubmitListens = "submit_listens"
	Scrobble      = "scrobble"
	WritePlaylist = "write_playlist"
	Archive       = "archive"
	DeleteListens = "delete_listens" // Ref is the correction that has deleted them here
	Notify        = "notify"         // the messages of a channel outside the browser; Ref is its id
)

// Kinds are all kinds, in the order in which people see them.
var Kinds = []string{SubmitListens, Scrobble, DeleteListens, WritePlaylist, Archive, Notify}

// Copies reports whether deliveries of a kind write a copy, which is written again whenever ours changes. A listen is
// delivered once.
func Copies(kind string) bool { return kind == WritePlaylist || kind == Archive }

// again reports whether deliveries of a kind may come again when they are done: copies, and a channel's messages.
func again(kind string) bool { return Copies(kind) || kind == Notify }

// payloadSchema is the version of the payload that this version writes and understands.
const payloadSchema = 1

// Payload is what the queue holds of a delivery. The listens of a delivery are rows of the database, so that they can
// be divided among deliveries.
type Payload struct {
	Schema     int                  `json:"schema_version"`
	User       int64                `json:"user_id"`
	Connection library.ConnectionID `json:"provider"`
	Ref        string               `json:"ref,omitempty"` // see Delivery.Ref
	Key        string               `json:"idempotency_key"`
}

func payloadOf(args []byte) (p Payload, err error) {
	return p, json.Unmarshal(args, &p)
}

// args is a payload as River takes it. River gives it back without its kind.
type args struct {
	kind string
	Payload
}

// Kind implements river.JobArgs.
func (a args) Kind() string { return a.kind }

// Draft is a delivery that is not in the queue yet.
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

// key returns the idempotency key, which is the same for all drafts of the same delivery.
func (d Draft) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%s\n%s\n", d.Connection, d.User, d.Kind, d.Ref)
	for _, id := range d.Listens {
		fmt.Fprintf(h, "%d\n", id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	priorityNew     = 1
	priorityHistory = 3
)

// Job returns the draft as River takes it, with a limit of attempts.
func (d Draft) Job(attempts int) (river.JobArgs, *river.InsertOpts) {
	if !slices.Contains(Kinds, d.Kind) {
		panic("delivery: no such kind: " + d.Kind)
	}
	states := []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
		rivertype.JobStateScheduled, rivertype.JobStateRetryable, rivertype.JobStateCancelled,
		rivertype.JobStateDiscarded}
	if !again(d.Kind) {
		states = append(states, rivertype.JobStateCompleted)
	}
	opts := &river.InsertOpts{MaxAttempts: attempts, Priority: priorityNew, Queue: QueueOf(d.Connection, d.User),
		ScheduledAt: d.Due, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: states}}
	if d.History {
		opts.Priority = priorityHistory
	}
	p := Payload{Schema: payloadSchema, User: d.User, Connection: d.Connection, Ref: d.Ref, Key: d.key()}
	return args{kind: d.Kind, Payload: p}, opts
}

// QueueOf returns the name of the queue for deliveries to one person's connection, or to a channel. The deliveries in a
// queue are made in order, and wait for no others. [queue.Queue.Work] names the queues of earlier versions likewise.
func QueueOf(conn library.ConnectionID, user int64) string {
	return fmt.Sprintf("%s_%d", strings.ReplaceAll(string(conn), ".", "_"), user)
}
