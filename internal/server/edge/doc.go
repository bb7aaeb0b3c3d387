// Package edge is where connections come in. It bounds how many there are and how long one may be idle, so that
// nobody who opens many, or who reads no answers, keeps other people out.
//
// # Room
//
// A Listener holds at most Total connections, and at most PerAddress from one network address. When a new one finds
// no room, it takes the place of another: of one that waits for its next request, of one whose client has not taken
// anything for a second, or of one from the address that holds the most. When there is none of these, the new
// connection is answered with 503 and closed.
//
// # Deadlines
//
// Each write of 32 KiB has to be taken within 20 seconds. An answer may take as long as it wants as long as it makes
// that progress, so that a large download over a slow line works and no handler has to extend anything. A deadline
// that a handler sets itself also holds.
//
// A Listener and its connections are safe for concurrent use.
package edge
