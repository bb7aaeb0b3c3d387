// Package cluster has several servers share one Postgres database.
//
// # One leads, all answer
//
// The calls to services are shared out by package leases. One server leads as well: it does what isn't shared out,
// exactly as a single server does, and a new leader begins as that does after a restart: with what is in the database.
// Every server answers by itself what it can from the database: pages, the API's reading calls, websockets, what
// players send, and what people change that asks no service. What needs the leader is passed on to it.
//
// # Who leads
//
// The leader confirms a numbered lease every [ConfirmEvery]. It calls services for what isn't shared out only while its
// last confirmation is at most [LeaseFor] old, and another server takes the lease [VacantAfter] that. So at no time do
// two servers make these calls.
// Who takes it ends the database connections of the leader before, which can make no others: what that server had not
// committed is undone, and it writes nothing more, even if its process was stopped and wakes up.
//
// # Between servers
//
// [Notes] go through the database, so that what happens on one server is seen on the others. Requests for the leader go
// over TLS with a key that the servers derive from the secret key; another key is refused. What a browser said of
// itself, and where it came from, reaches the leader unchanged.
package cluster
