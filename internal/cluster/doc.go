// Package cluster has several servers share one Postgres database.
//
// # One leads
//
// One server leads: it alone writes, runs the loops and calls upstream services, exactly as a single server does. The
// others stand in front: they take requests, from a load balancer or directly, and pass them to the leader. So a wait
// that an upstream dictates, the pace of a host, a refreshed token and what was told once are each known in one place,
// and a new leader begins as a single server does after a restart: with what is in the database.
//
// # Who leads
//
// The right to write is a lock that the leader's writing connection holds in Postgres; without the connection there is
// no lock, and without the lock no write. Beside it the leader confirms a numbered lease every [ConfirmEvery]. It makes
// upstream calls only while its last confirmation is at most [LeaseFor] old, and a successor waits that long. So at no
// time do two servers call. A leader that has not confirmed for [DeposedAfter] loses its connection, and with it the
// lock, even if its network swallows packets or its process is stopped.
//
// # Between servers
//
// Servers talk over TLS with a key that both derive from the secret key; another key is refused. What a browser said of
// itself, and where it came from, reaches the leader unchanged.
package cluster
