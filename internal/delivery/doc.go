// Package delivery delivers listens, playlists, months of the archive and messages to providers and channels.
//
// A delivery is enqueued in the transaction of the data that it comes from, before any attempt, and survives the death
// of the process. River is the queue; this package says what is delivered, what follows from an outcome, and what a
// person can do about it.
//
// # Promises
//
// At least once: a delivery is done when its provider has taken it, and is attempted again when the process dies before
// that. A provider that would count a listen twice is asked what it has before a second attempt. What is asked for
// twice is one delivery: its idempotency key is a hash of connection, person, kind and payload.
//
// In order: the deliveries to one connection are made one after the other, the oldest first, and history after what is
// new.
//
// Every call goes through the guard that all calls go through. A wait that the guard asks for postpones a delivery and
// uses up no attempt, and so does parking, which waits for a person. A bad item is put aside, and the others go on.
//
// # States
//
// The states and transitions are the table in state.go, drawn in docs/deliveries.md.
//
// # Parts
//
// [Routes] decide who gets which play. [Deliveries] is what the rest of the program uses. It has a runner, which opens
// queues and takes care of old deliveries, and a worker, which makes attempts. The worker has a deliverer for each
// kind.
package delivery
