package core

import "reprise/internal/notify"

// Place is where pages show a notification.
type Place string

// The places. What is new is a toast first; a page without scripts shows it in the banner. What was dismissed is small
// on every page, until it is about another cause.
const (
	Nowhere Place = ""       // it is over: only the list of notifications has it
	Toast   Place = "toast"  // no tab of the person has shown it yet
	Banner  Place = "banner" // it needs the person
	Card    Place = "card"   // it does not: only the card of its connection has it, and the list
	Small   Place = "small"  // the person has dismissed it
)

// PlaceOf returns where pages show a notification now.
func PlaceOf(n notify.Notification) Place {
	switch {
	case !n.Open():
		return Nowhere
	case !n.AcknowledgedAt.IsZero():
		return Small
	case n.SeenAt.IsZero():
		return Toast
	case n.Severity == notify.Error:
		return Banner
	}
	return Card
}
