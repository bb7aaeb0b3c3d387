// Package cluster has several servers share one Postgres database.
//
// # One leads, all answer
//
// The calls to services are shared out by package leases. One server leads as well: it does what isn't shared out,
// exactly as a single server does, and a new leader begins as that does after a restart: with what is in the database.
// Every server answers by itself what it can from the database: pages, the API's reading calls, websockets, what
// players send, and what people change that asks no service. What needs another one is passed on to it.
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
// Servers need no way to each other but the database. [Notes] tell the others what happens on one of them. A request
// that another server has to answer is left on a [Desk], sealed, and the answer beside it. What a browser said of
// itself, and where it came from, reaches that server unchanged.
package cluster
