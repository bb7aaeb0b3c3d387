// Package alerts acts on changes of a connection's state: it stores what must survive a restart, opens and resolves
// notifications, and writes the activity log.
//
// Package resilience decides each change once. Package alerts makes no calls itself.
//
// # Order
//
// Opening and closing exclude each other, so a success of one connection cannot close the alert that a failure of
// another one with the same app opens at that moment. Outcomes arrive in any order; a success that is older than a
// failure disproves nothing.
//
// A notification is opened before the stop that it is about is stored: a process killed in between finds the stop again
// and opens nothing twice. Work that fails to be stored is kept, and done again by [Alerts.Finish].
//
// Everything here is safe for concurrent use.
package alerts
