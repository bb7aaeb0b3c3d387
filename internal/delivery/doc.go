// Package delivery carries what is owed to providers: listens, playlists, the archive.
//
// A delivery is written down in the transaction of the data it stems from, before anything is attempted, and survives
// whatever happens to the process. River is the queue; this package says what is carried, what an outcome leads to, and
// what a person can do about it.
//
// # Promises
//
// At least once: a delivery is done when its provider has taken it, and a process that dies before that takes it
// again. Where a provider keeps what is sent twice as two, it is asked what it has before anything is sent again.
// What is asked for twice is one delivery (an idempotency key over provider, person, kind and payload).
//
// In order: the deliveries to one person's account at a provider go out one after the other, the oldest first; history
// after what is new.
//
// Every call goes through the guard that also stands before reading. A wait that the guard names postpones a delivery
// and uses none of its attempts up; so does parking, which waits for a person. One bad item is put aside, and the
// rest goes on.
//
// # States
//
// The states and what leads from one to another are the table in state.go, drawn in docs/deliveries.md.
package delivery
