// Package weekly looks back on a person's week, without a language model: how much they heard, compared with the week
// before, which artists, albums and tracks, what was new and what came back. It puts that into words for a page, a card
// and a mail, and has the mail sent on Monday morning to everybody who wants it.
//
// A week begins on Monday at midnight in the person's time zone, so it is an hour shorter or longer when the clocks
// change. It is named by the date of its Monday. A report is due once per week and channel. That is noted in the
// transaction that enqueues the report, so it stays once even after a restart, with a second server, or if the mail
// server is down. The report is written when it is sent. Everything here is safe for concurrent use.
package weekly

import (
	"context"
	"io/fs"
	"time"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/notify"
	"reprise/internal/review"
)

// Store is what this package reads and keeps.
type Store interface {
	review.Store
	// Loves returns a page of what a filter selects, the latest first, and the total number.
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) ([]library.Love, int, error)
	// Links returns the pictures of tracks.
	Links(ctx context.Context, tracks []library.Track) ([]enrich.Links, error)
	// ChosenPicture returns a picture that an administrator has chosen, or library.ErrNotFound.
	ChosenPicture(ctx context.Context, name string) ([]byte, error)
	mailStore
}

// mailStore stores which channels get the report.
type mailStore interface {
	// Channel returns a channel of a person, or library.ErrNotFound.
	Channel(ctx context.Context, user, id int64) (notify.Channel, error)
	// ReportsWanted returns the channels, of all people, that get the report.
	ReportsWanted(context.Context) ([]notify.Subscription, error)
	// EnqueueReport notes that the report of to.Week was due, and enqueues it if anything was heard between from and
	// until. It does nothing if that was noted before, or if the report was switched off.
	EnqueueReport(ctx context.Context, to notify.Subscription, from, until time.Time) error
	// SwitchReport has a channel send the reports of the weeks after reported, the date of a Monday. The zero time
	// switches the report off and drops those that wait. It returns library.ErrNotFound if the person has no such
	// channel.
	SwitchReport(ctx context.Context, user, channel int64, reported time.Time) error
}

// Pictures reads cached pictures. It is implemented by art.Cache.
type Pictures interface {
	// Read returns a picture and its media type, or fs.ErrNotExist.
	Read(name string) (picture []byte, kind string, err error)
}

// noPictures is a Pictures without any.
type noPictures struct{}

func (noPictures) Read(string) ([]byte, string, error) { return nil, "", fs.ErrNotExist }

// Week is what a person heard in a week, counted.
type Week struct {
	review.Review
	Loved []library.Love // what they began to love in it, the latest first
	Loves int            // how many those are in all; Loved has only the first
}

// Of counts the week that contains at, for a person. A week that is under way is counted up to now. The days are those
// of the zone of now.
func Of(ctx context.Context, s Store, user int64, at, now time.Time) (w Week, err error) {
	span, err := listening.NewSpan(listening.Week, at.In(now.Location()))
	if err != nil {
		return w, err
	}
	if w.Review, err = review.Count(ctx, s, user, span, now, false); err != nil {
		return w, err
	}
	w.Loved, w.Loves, err = s.Loves(ctx, library.LoveFilter{User: user, Score: library.Loved, Since: span.From,
		Until: span.To}, 0, review.Most)
	return w, err
}

// Monday returns the Monday of the week that a time is in, by the clock of its zone, as a date in UTC.
func Monday(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d-(int(at.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
}

// Latest returns the Monday of the latest full week in which a person heard something, or else that of the week of now.
// It returns false if they heard nothing in that week either.
func Latest(ctx context.Context, s review.Store, user int64, now time.Time) (time.Time, bool, error) {
	all, err := s.Columns(ctx, user)
	if err != nil {
		return time.Time{}, false, err
	}
	begin := notify.DateIn(Monday(now), now.Location())
	if last, ok := listening.LastBefore(all, begin); ok {
		return Monday(last.In(now.Location())), true, nil
	}
	_, ok := listening.LastBefore(all, begin.AddDate(0, 0, 7))
	return Monday(now), ok, nil
}
