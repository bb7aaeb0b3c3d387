// Package sync reads what a household's services hold into the store.
//
// # From tick to row
//
// A loop ticks ([Syncer.Run]), or a backoff ends, or a person asks: each puts a (user, connection, stream) into one
// queue. A run takes it from there: the guard asks the backoff for a permit, the adapter reads pages, each page is
// one transaction of rows and position, and the guard turns the outcome into a verdict. Package alerts acts
// on it.
//
// # Concurrency
//
// There is at most one run per connection and stream; further callers join it. The number of runs is bounded, and users
// take turns. A run has a deadline. A panic in an adapter is a failure of that run. Run returns only when all runs have
// ended; a run that is cut off leaves what it has stored, and the next one goes on from there.
//
// # Position
//
// A stream of listens is read newest first. Its position holds the newest play stored and the spans of time that have
// not been read yet: what an interrupted run left, and the history before the first sync.
package sync
