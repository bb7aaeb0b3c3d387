package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// MostChannels is how many channels a person may have. Each phone and each browser is one.
const MostChannels = 20

// ErrCrowded says that a person has as many channels as there can be.
var ErrCrowded = errors.New("there are too many channels already")

// Channel is a way to reach a person outside the browser.
type Channel struct {
	ID           int64
	User         int64
	Kind         string
	Name         string
	URL          resilience.Secret // all that it takes to reach it
	FromSettings bool              // it belongs to the installation, and goes with its setting
	Wishes
	Version int64 // grows with every change by a person

	StoppedAt    time.Time  // zero while it may be tried
	Category     string     // of the latest failure
	Reason       words.Text // of it
	Failures     int        // in a row
	FailingSince time.Time
	LastSentAt   time.Time
	CreatedAt    time.Time
	Waiting      int // messages
	// Reported is the Monday, as a date in UTC, of the latest week whose report was due; zero if the channel gets none.
	Reported time.Time
}

// Wishes are what a person wants to receive by a channel, and when.
type Wishes struct {
	Least         Severity
	QuietFrom     int // minutes of the day; -1 for no quiet hours
	QuietTo       int
	Zone          string // IANA name, for the quiet hours; empty: that of the server
	ErrorsAtNight bool   // errors are sent in the quiet hours too
}

// DefaultWishes returns the wishes of a person who has not said any.
func DefaultWishes() Wishes { return Wishes{Least: Warning, QuietFrom: -1, QuietTo: -1} }

// severities are all severities, from the least urgent to the most.
var severities = []Severity{Info, Success, Warning, Error}

// AtLeast reports whether s is as urgent as the other, or more so.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(severities, s) >= slices.Index(severities, other)
}

// zone is that of the quiet hours.
func (w Wishes) zone() *time.Location {
	zone, err := time.LoadLocation(w.Zone)
	if w.Zone == "" || err != nil {
		return time.Local
	}
	return zone
}

// ZoneFor returns the time zone for what a channel sends: that of the reader in ctx, or else the channel's own.
func (w Wishes) ZoneFor(ctx context.Context) *time.Location {
	if zone := words.Zone(ctx); zone != nil {
		return zone
	}
	return w.zone()
}

// quietUntil returns the end of the quiet hours that include now; zero if none do.
func (w Wishes) quietUntil(now time.Time) time.Time {
	if w.QuietFrom < 0 || w.QuietTo < 0 || w.QuietFrom == w.QuietTo {
		return time.Time{}
	}
	zone := w.zone()
	at := now.In(zone)
	minute := at.Hour()*60 + at.Minute()
	overMidnight := w.QuietFrom > w.QuietTo
	inside := minute >= w.QuietFrom && minute < w.QuietTo
	if overMidnight {
		inside = minute >= w.QuietFrom || minute < w.QuietTo
	}
	if !inside {
		return time.Time{}
	}
	day := at.Day()
	if overMidnight && minute >= w.QuietFrom {
		day++
	}
	return time.Date(at.Year(), at.Month(), day, w.QuietTo/60, w.QuietTo%60, 0, 0, zone)
}

// Event is what a message is about.
type Event string

// The events.
const (
	Opened   Event = "opened"
	Resolved Event = "resolved"
	Digest   Event = "digest" // several things at once
	Report   Event = "report" // the weekly report
	Test     Event = "test"
)

// Message is what a channel sends.
type Message struct {
	ID         string // the same whenever the same is sent again
	Event      Event
	Severity   Severity
	Title      string
	Text       string
	Connection library.ConnectionID // empty for those about no service
	Category   string
	URL        string // of the page that shows it, in full; empty for a report, which has it in its text
	CreatedAt  time.Time
	ResolvedAt time.Time
	Items      []Item // of a digest
	HTML       string // Text as HTML, for mail programs; empty for none
	Pictures   []Picture
	StopURL    string // of the page that ends such messages, in full; empty if there is nothing to end
}

// Item is one of the entries of a digest.
type Item struct {
	Event      Event
	Severity   Severity
	Title      string
	Text       string
	Connection library.ConnectionID
	Category   string
	CreatedAt  time.Time
	ResolvedAt time.Time
}

// Waiting is a message that waits for its channel.
type Waiting struct {
	ID           int64
	Notification int64
	Event        Event
	Severity     Severity
	Connection   library.ConnectionID
	Name         string // that its person gave the connection; empty without
	Cause        string
	Category     string
	Title        words.Text
	Message      words.Text
	ActionURL    string
	OpenedAt     time.Time // of a report, the Monday of its week, as a date in UTC
	ResolvedAt   time.Time
	CreatedAt    time.Time
	CaughtUp     int        // listens that were read since it was resolved
	Sent         words.Text // what had waited for the end of the trouble, and was sent; empty for nothing
	ToSend       words.Text // the rest of that, which goes out now
}
