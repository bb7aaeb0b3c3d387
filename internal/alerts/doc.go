// Package alerts draws the consequences of a call's outcome: it stores what a restart must know, opens and resolves
// notifications, and notes in the activity log what people would ask about.
//
// It is given changes of state, each decided once by the backoff (see package resilience), and makes no calls itself.
//
// # Order
//
// Opening and closing exclude each other, so a success of one connection cannot close the alert that a failure of
// another one with the same app opens at that moment. Outcomes arrive in any order; a success that is older than a
// failure disproves nothing.
//
// A notification is opened before the stop that it is about is stored: a process killed in between finds the stop again
// and opens nothing twice. A consequence that cannot be stored is kept and drawn again by [Alerts.Finish].
//
// Everything here is safe for concurrent use.
package alerts
